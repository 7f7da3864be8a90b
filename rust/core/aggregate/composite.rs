//! An aggregate that takes the values of several columns as one value. It is null if any of them is.

use super::bytes::Bytes;
use super::column::{Column, Values};
use super::list_values::ListValues;
use super::row_spans::RowSpans;
use super::scalar::Scalar;
use super::slot::Slot;
use super::validity::Validity;
use super::{Aggregate, InputRows, downcast};
use crate::core::error::{Error, Result};

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
fn composite(columns: &[Column<'_>], rows: usize) -> Result<Column<'static>> {
    let (mut offsets, mut data) = (Vec::with_capacity(rows + 1), Vec::new());
    let mut valid = Vec::with_capacity(rows);
    offsets.push(0);
    for row in 0..rows {
        for column in columns {
            push(&mut data, column, row)?;
        }
        offsets.push(data.len() as i64);
        valid.push(columns.iter().all(|column| column.is_valid(row)));
    }
    Ok(Column {
        values: Values::Bytes(Bytes {
            offsets: offsets.into(),
            data: data.into(),
        }),
        validity: Validity::of(&valid),
    })
}

/// Appends the value of a row, after its length if that is not fixed.
fn push(bytes: &mut Vec<u8>, column: &Column<'_>, row: usize) -> Result<()> {
    match &column.values {
        Values::Int(values) => bytes.extend(i64::at(values, row).to_le_bytes()),
        Values::Float(values) => {
            bytes.extend(f64::canonical(f64::at(values, row)).to_le_bytes());
        }
        Values::Wide(values) => bytes.extend(i128::at(values, row).to_le_bytes()),
        Values::Bytes(values) => {
            let value = values.get(row);
            bytes.extend((value.len() as u64).to_le_bytes());
            bytes.extend(value);
        }
        Values::List { .. } | Values::Struct(_) => {
            return Err(Error::Internal("a list or a struct has no value type"));
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
    rows.inputs.first().map_or(0, Column::len)
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
        let own: Vec<Column<'_>> = rows.inputs.iter().map(|column| column.row(row)).collect();
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

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        self.0.lower(slots)
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        self.0.save(slots)
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        Ok(Box::new(Self(self.0.load(states)?)))
    }

    fn sweep(&self, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<Column<'static>> {
        with_one(rows, len(rows), |rows| self.0.sweep(rows, spans))
    }
}
