//! An aggregate that takes the values of several columns as one value. It is null if any of them is.

use std::sync::Arc;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::list_values::ListValues;
use super::row_spans::RowSpans;
use super::scalar::Scalar;
use super::slot::Slot;
use super::{Aggregate, InputRows, downcast};
use crate::core::error::Result;

/// An aggregate of one column of bytes. It gets the values of all columns as bytes, which are equal
/// exactly if the values are. Their order has no meaning.
pub(crate) struct Composite(Box<dyn Aggregate>);

impl Composite {
    /// Over an aggregate of one column of bytes.
    pub(crate) fn new(of_bytes: impl Aggregate) -> Self {
        Self(Box::new(of_bytes))
    }
}

/// The values of each row, one after the other; null if any of them is.
fn composite(columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (mut values, mut value) = (LargeBinaryBuilder::with_capacity(rows, 0), Vec::new());
    for row in 0..rows {
        value.clear();
        for column in columns {
            push(&mut value, column, row)?;
        }
        let is_valid = columns.iter().all(|column| column.is_valid(row));
        values.append_option(is_valid.then_some(&value));
    }
    Ok(Arc::new(values.finish()))
}

/// Appends the value of a row, after its length if that is not fixed.
fn push(bytes: &mut Vec<u8>, column: &ArrayRef, row: usize) -> Result<()> {
    match column.data_type() {
        DataType::Int64 => bytes.extend(i64::at(i64::view(column)?, row).to_le_bytes()),
        DataType::Float64 => {
            let value = f64::at(f64::view(column)?, row);
            bytes.extend(f64::canonical(value).to_le_bytes());
        }
        DataType::Decimal128(..) => bytes.extend(i128::at(i128::view(column)?, row).to_le_bytes()),
        _ => {
            let value = Box::<[u8]>::at(Box::<[u8]>::view(column)?, row);
            bytes.extend((value.len() as u64).to_le_bytes());
            bytes.extend(value);
        }
    }
    Ok(())
}

/// Runs `work` over the rows as rows of one column.
fn with_one<T>(
    rows: InputRows<'_>,
    count: usize,
    work: impl FnOnce(InputRows<'_>) -> Result<T>,
) -> Result<T> {
    let column = composite(rows.inputs, count)?;
    work(InputRows {
        inputs: std::slice::from_ref(&column),
        ..rows
    })
}

/// The number of rows.
fn len(rows: InputRows<'_>) -> usize {
    rows.inputs.first().map_or(0, Array::len)
}

impl Aggregate for Composite {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self(self.0.fresh()))
    }

    fn longest_list(&self) -> Option<usize> {
        self.0.longest_list()
    }

    fn list_values(&self, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ListValues> {
        with_one(rows, len(rows), |rows| self.0.list_values(rows, spans))
    }

    fn resize(&mut self, slots: usize) {
        self.0.resize(slots);
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        with_one(rows, len(rows), |rows| self.0.update(slots, rows))
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        let own = rows.inputs.iter().map(|column| column.slice(row, 1));
        let own: Vec<ArrayRef> = own.collect();
        let rows = InputRows {
            times: rows.times.get(row..).unwrap_or_default(),
            seq_nos: rows.seq_nos.get(row..).unwrap_or_default(),
            inputs: &own,
        };
        with_one(rows, len(rows), |rows| self.0.lift(slot, 0, rows))
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = downcast(other)?;
        self.0.merge(into, other.0.as_ref(), from)
    }

    fn absorb(&mut self, into: Slot, from: Slot) {
        self.0.absorb(into, from);
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.0.copy(to, from);
    }

    fn clear(&mut self, slot: Slot) {
        self.0.clear(slot);
    }

    fn lower(&self, slots: &[Slot]) -> Result<ArrayRef> {
        self.0.lower(slots)
    }

    fn save(&self, slots: &[Slot]) -> Vec<ArrayRef> {
        self.0.save(slots)
    }

    fn load(&self, states: &[ArrayRef]) -> Result<Box<dyn Aggregate>> {
        Ok(Box::new(Self(self.0.load(states)?)))
    }

    fn sweep(&self, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        with_one(rows, len(rows), |rows| self.0.sweep(rows, spans))
    }
}
