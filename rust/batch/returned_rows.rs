//! A query that returns each row with its window.
//!
//! ```text
//!   whole rows ─┬▶ buffered by number ────────────────────────────────┐
//!               └▶ records ─▶ windows with the numbers of their rows ─┴▶ rows, `window`, aggregates
//! ```
//!
//! Before a shuffle, rows move as in a query for rows. After it, they wait until their window is
//! final.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array, new_null_array};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take;

use super::batch_operator::{BatchOperator, BatchSink, ShardRows};
use super::layout::whole_rows::WholeRows;
use super::positions;
use super::session_numbers::SessionNumbers;
use super::sort_rows::SortRows;
use super::window_columns::{batches, batches_of_rows, window_bytes};
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::format::block::BlockKind;
use crate::input::records::Records;
use crate::keys::KeyInterner;
use crate::plan::query::Query;
use crate::plan::rows_with_windows::{numbered, rows_schema};

/// The low bits of a row's number are its place in its batch. The higher bits number the batch.
const PLACE_BITS: u32 = 32;

/// The operator of a query over rows.
pub(super) struct ReturnedRows {
    query: Arc<Query>,
    windows: Arc<Query>,
    operator: Box<dyn BatchOperator>,
    /// Rows before a shuffle.
    before: SortRows,
    layout: WholeRows,
    held: Vec<HeldRows>,
    /// Numbers of excluded rows.
    left_out: Vec<i64>,
    session_numbers: SessionNumbers,
    /// The columns of positions among those of the windows.
    positions: Vec<usize>,
}

/// The rows of a block. Some of them wait for their window.
struct HeldRows {
    /// `None` when no row waits.
    rows: Option<RecordBatch>,
    waiting: usize,
}

impl ReturnedRows {
    /// Starts without rows.
    pub(super) fn new(query: Arc<Query>, windows: Arc<Query>) -> Result<Self> {
        Ok(Self {
            operator: windows.batch_operator()?,
            session_numbers: SessionNumbers::new(&windows)?,
            positions: windows.number_columns(|aggregate| aggregate.is_position),
            windows,
            before: SortRows::new(Arc::clone(&query))?,
            layout: WholeRows::new(&query),
            held: Vec::new(),
            left_out: Vec::new(),
            query,
        })
    }

    /// Buffers rows, and adds those with windows to the operator.
    fn hold(&mut self, whole: RecordBatch) -> Result<()> {
        let arrivals = self.layout.seq_nos(&whole)?;
        let first = (self.held.len() as i64) << PLACE_BITS;
        let rows = whole.num_rows();
        let numbers = Int64Array::from_iter_values((first..).take(rows));
        let own = whole.columns().iter().take(whole.num_columns() - 1);
        let columns = own.cloned().chain([Arc::new(numbers) as ArrayRef]);
        let schema = Arc::new(numbered(rows_schema(&self.query)));
        let batch = RecordBatch::try_new(schema, columns.collect())?;
        let (left_out, needs_seq_no) = (&mut self.left_out, self.windows.needs_seq_no);
        let number = |kept: &BooleanBuffer| {
            let unset = !kept;
            left_out.extend(unset.set_indices().map(|row| first + row as i64));
            let kept = kept.set_indices().filter(|_| needs_seq_no);
            let kept = kept.filter_map(|row| arrivals.get(row));
            kept.map(|arrival| arrival.cast_unsigned() as SeqNo)
                .collect()
        };
        let mut counted = Counters::default(); // the rows were counted before the shuffle
        let records = Records::read_numbered(&self.windows, &batch, number, &mut counted)?;
        self.held.push(HeldRows {
            rows: (rows > 0).then_some(whole),
            waiting: rows,
        });
        self.operator.add(records)
    }

    /// Returns the rows with these numbers. They no longer wait.
    fn release(&mut self, numbers: &[i64]) -> Result<RecordBatch> {
        let mut positions = vec![usize::MAX; self.held.len()];
        let mut batches = Vec::new();
        let mut addresses = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let (batch, place) = ((number >> PLACE_BITS) as usize, number as u32 as usize);
            let held = self.held.get(batch).and_then(|held| held.rows.as_ref());
            let (Some(rows), Some(position)) = (held, positions.get_mut(batch)) else {
                return Err(Error::Internal("a row belongs to several windows"));
            };
            if *position == usize::MAX {
                *position = batches.len();
                batches.push(rows);
            }
            addresses.push((*position, place));
        }
        let rows = interleave_record_batch(&batches, &addresses)?;
        for &number in numbers {
            if let Some(held) = self.held.get_mut((number >> PLACE_BITS) as usize) {
                held.waiting -= 1;
                if held.waiting == 0 {
                    held.rows = None;
                }
            }
        }
        Ok(rows)
    }

    /// Emits rows in batches; `window_columns` computes the window columns of a batch.
    fn emit(
        &mut self,
        numbers: &[i64],
        batches: Vec<Range<usize>>,
        window_columns: impl Fn(Range<usize>) -> Result<Vec<ArrayRef>>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let columns = rows_schema(&self.query).fields().len();
        for range in batches {
            interrupt.check()?;
            let numbers = numbers.get(range.clone());
            let rows = self.release(numbers.ok_or(Error::Internal("a row has no number"))?)?;
            let own = rows.columns().iter().take(columns).cloned();
            let columns = own.chain(window_columns(range)?).collect();
            emit(RecordBatch::try_new(
                Arc::clone(&self.query.output),
                columns,
            )?);
        }
        Ok(())
    }

    /// Emits the rows of windows.
    fn emit_windows(
        &mut self,
        windows: &RecordBatch,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (of_row, numbers) = rows_of(windows)?;
        let keys = self.query.keys.len();
        let columns = windows.columns();
        let columns = columns.get(keys..columns.len() - 1).unwrap_or_default();
        let batches = match window_bytes(columns, windows.num_rows()) {
            Some(bytes) => {
                let bytes = |&window: &u32| bytes.get(window as usize).copied().unwrap_or_default();
                batches(of_row.iter().map(bytes))
            }
            None => batches_of_rows(of_row.len()),
        };
        let after = positions::rows_after(&of_row, &self.positions);
        let is_position = |column: usize| self.positions.contains(&column);
        let is_position: Vec<bool> = (keys..windows.num_columns()).map(is_position).collect();
        let of_row = UInt32Array::from(of_row);
        let taken = |range: Range<usize>| {
            let of_row = of_row.slice(range.start, range.len());
            let columns = columns.iter().zip(&is_position);
            let columns = columns.map(|(column, &is_position)| {
                let column = take(column, &of_row, None)?;
                if is_position {
                    return positions::positions(&column, after.get(range.clone()));
                }
                Ok(column)
            });
            columns.collect()
        };
        self.emit(&numbers, batches, taken, emit, interrupt)
    }

    /// Emits the excluded rows.
    fn emit_left_out(&mut self, emit: &mut BatchSink<'_>, interrupt: &Interrupt) -> Result<()> {
        let numbers = std::mem::take(&mut self.left_out);
        let fields: Vec<_> = self.query.output.fields().iter().cloned().collect();
        let own = rows_schema(&self.query).fields().len();
        let nulls = |range: Range<usize>| {
            let fields = fields.iter().skip(own);
            Ok(fields
                .map(|field| new_null_array(field.data_type(), range.len()))
                .collect())
        };
        let batches = batches_of_rows(numbers.len());
        self.emit(&numbers, batches, nulls, emit, interrupt)
    }
}

/// The rows of windows: the window position and the number of each row.
pub(super) fn rows_of(windows: &RecordBatch) -> Result<(Vec<u32>, ScalarBuffer<i64>)> {
    let lists = windows.columns().last();
    let lists = lists.and_then(|column| column.as_list_opt::<i32>());
    let lists = lists.ok_or(Error::Internal("the last column does not list rows"))?;
    let mut of_row = Vec::with_capacity(lists.values().len());
    for (window, (from, to)) in
        (0..).zip(lists.offsets().iter().zip(lists.offsets().iter().skip(1)))
    {
        of_row.extend((*from..*to).map(|_| window));
    }
    let first = lists.offsets().first().copied().unwrap_or_default() as usize;
    let numbers = lists.values().slice(first, of_row.len());
    let numbers = numbers.as_primitive_opt::<Int64Type>();
    let numbers = numbers.ok_or(Error::Internal("a row has no number"))?;
    Ok((of_row, numbers.values().clone()))
}

impl BatchOperator for ReturnedRows {
    fn add(&mut self, input: Records) -> Result<()> {
        self.before.add(input)
    }

    fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        self.before.process(most, interrupt)
    }

    fn add_block(&mut self, _kind: BlockKind, block: &RecordBatch) -> Result<()> {
        let whole = self.layout.read(block)?;
        self.hold(whole)?;
        let most = self.query.limits.pack_rows;
        self.operator.process(most, &Interrupt::never())
    }

    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>> {
        self.before.take(interrupt)
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.emit_left_out(emit, interrupt)?;
        let mut windows = Vec::new();
        self.operator
            .close(frontier, &mut |batch| windows.push(batch), interrupt)?;
        self.session_numbers.number(&mut windows, interrupt)?;
        if frontier.is_none() {
            self.session_numbers.clear();
        }
        for batch in &windows {
            self.emit_windows(batch, emit, interrupt)?;
        }
        if self.rows() == 0 {
            self.held.clear();
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.before.rows() + self.held.iter().map(|held| held.waiting).sum::<usize>()
    }

    fn keys(&mut self) -> Option<&mut KeyInterner> {
        self.before.keys()
    }
}
