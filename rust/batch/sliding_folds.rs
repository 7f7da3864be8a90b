//! User functions over sliding windows, from rows in time order.
//!
//! The windows are planned over all rows. A function receives each window as a span of rows in
//! order. Windows that begin at the same row are adjacent, so the fold of a longer window continues
//! that of a shorter one.
//!
//! ```text
//!   rows of a key     1   2   3   4   5
//!   spans             ├───────┤                 1 .. 3
//!                     ├───────────┤             1 .. 4: continues with 4
//!                         ├───────────┤         2 .. 5: starts over
//! ```

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};

use super::batch_operator::BatchOperator;
use super::row_buffer::RowBuffer;
use super::sliding::SlidingQuery;
use crate::core::aggregate::RowSpan;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::core::window::Window;
use crate::input::records::Records;
use crate::plan::function_failure::FunctionFailure;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::plan::window_lengths::WindowLengths;

/// Windows are closed only when at least this many rows wait, because closing sorts the rows.
const CLOSE_ROWS: usize = 1 << 17;

/// A failed function, and the row at which it failed.
pub(crate) struct RunFailure {
    /// The failure; `nth` is the index of the window.
    pub failure: FunctionFailure,
    /// The row that was being added, if any.
    pub row: Option<usize>,
}

/// The place of a row among all rows that were added.
pub(crate) type RowNumber = u64;

/// Computes one user function for windows. The arguments are the index of the function, the numbers
/// of the rows, and the span of rows of each window.
pub(crate) type RunFold<'a> =
    dyn FnMut(usize, &[RowNumber], &[RowSpan]) -> std::result::Result<ArrayRef, RunFailure> + 'a;

/// Rows in time order that are still in open windows.
pub(crate) struct SlidingFolds {
    query: Arc<Query>,
    /// How many aggregates are user functions.
    functions: usize,
    sliding: SlidingQuery,
    next_row: RowNumber,
    /// Approximate bytes of the buffered rows.
    bytes: usize,
    /// The rows and bytes that remained after windows were last closed.
    kept: (usize, usize),
    interrupt: Interrupt,
}

impl SlidingFolds {
    /// Starts without rows. `functions` are the result fields of the user functions, in order.
    pub(crate) fn new(spec: &Spec, input: &Schema, functions: &[Field]) -> Result<Self> {
        let query = Arc::new(Query::with_python(spec, input, functions)?);
        let WindowLengths::Sliding(sliding) = query.windows else {
            return Err(Error::Internal("the windows are not sliding windows"));
        };
        Ok(Self {
            sliding: SlidingQuery::new(Arc::clone(&query), sliding)?,
            functions: functions.len(),
            query,
            next_row: 0,
            bytes: 0,
            kept: (0, 0),
            interrupt: Interrupt::never(),
        })
    }

    /// Makes this stop when interrupted.
    pub(crate) fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// The schema of the windows.
    pub(crate) fn output(&self) -> SchemaRef {
        Arc::clone(&self.query.output)
    }

    /// How many results were null because they did not fit their type.
    pub(crate) fn overflows(&self) -> u64 {
        self.query.overflows()
    }

    /// Adds rows and returns the windows that are now final. The caller must add rows in time
    /// order.
    pub(crate) fn push(
        &mut self,
        batch: &RecordBatch,
        fold: &mut RunFold<'_>,
    ) -> Result<Vec<RecordBatch>> {
        self.interrupt.check()?;
        let from = self.next_row;
        self.next_row += batch.num_rows() as RowNumber;
        let numbers = |kept: &arrow_buffer::BooleanBuffer| {
            let rows = kept.set_indices();
            rows.map(|row| from + row as RowNumber).collect()
        };
        let mut counters = Counters::default();
        let records = Records::read_numbered(&self.query, batch, numbers, &mut counters)?;
        let last = records.times().last().copied();
        self.sliding.add(records)?;
        for column in batch.columns() {
            self.bytes += column.to_data().get_slice_memory_size()?;
        }
        if last.is_some() && self.is_full() {
            return self.close(last, fold);
        }
        Ok(Vec::new())
    }

    /// Whether enough rows wait to make sorting worthwhile: at least twice what stayed last time.
    fn is_full(&self) -> bool {
        let (rows, bytes) = self.kept;
        let most_bytes = self.query.limits.merge_bytes;
        self.sliding.rows() >= CLOSE_ROWS.max(2 * rows) || self.bytes >= most_bytes.max(2 * bytes)
    }

    /// Returns all remaining windows. Call this when the input has ended.
    pub(crate) fn finish(&mut self, fold: &mut RunFold<'_>) -> Result<Vec<RecordBatch>> {
        self.close(None, fold)
    }

    /// The number of the first row that a future window can contain.
    pub(crate) fn first_row(&self) -> RowNumber {
        let numbers = row_numbers(self.sliding.records()).iter();
        numbers.min().copied().unwrap_or(self.next_row)
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        fold: &mut RunFold<'_>,
    ) -> Result<Vec<RecordBatch>> {
        let (query, functions) = (Arc::clone(&self.query), self.functions);
        let mut values = |records: &RowBuffer, spans: &[RowSpan], windows: &[Window]| {
            let columns = (0..functions).map(|nth| {
                fold(nth, row_numbers(records), spans).map_err(|RunFailure { failure, row }| {
                    let record = row.and_then(|row| records.times().get(row)).copied();
                    let window = failure.nth.and_then(|nth| windows.get(nth));
                    query.failed(nth, failure, record, window)
                })
            });
            columns.collect()
        };
        let before = self.sliding.rows();
        let mut windows = Vec::new();
        let mut emit = |batch| windows.push(batch);
        self.sliding
            .close_with(frontier, &mut values, &mut emit, &self.interrupt)?;
        // This estimate assumes that the remaining rows have average width.
        let rows = self.sliding.rows();
        self.bytes = (self.bytes as u128 * rows as u128 / before.max(1) as u128) as usize;
        self.kept = (rows, self.bytes);
        Ok(windows)
    }
}

/// The numbers of these rows. Rows have no ties here, so these numbers order rows of one time.
fn row_numbers(rows: &RowBuffer) -> &[RowNumber] {
    rows.seq_nos()
}
