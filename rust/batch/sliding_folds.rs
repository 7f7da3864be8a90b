//! Rows in the order of time to sliding windows with functions of the user.
//!
//! The windows are those of the plan of all rows, so a function is handed each window as a span of
//! rows, in their order, and windows that begin at one row next to each other: the fold of a longer
//! one goes on from that of a shorter one.
//!
//! ```text
//!   rows of a key     1   2   3   4   5
//!   spans             ├───────┤                 1 .. 3
//!                     ├───────────┤             1 .. 4: goes on with 4
//!                         ├───────────┤         2 .. 5: from the first row on
//! ```

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};

use super::batch_operator::BatchOperator;
use super::sliding::SlidingQuery;
use crate::core::aggregate::{RowSpan, SeqNo};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::sliding::row_buffer::RowBuffer;
use crate::core::time::Time;
use crate::core::window::Window;
use crate::input::read_counters::ReadCounters;
use crate::input::records::Records;
use crate::plan::function_failure::FunctionFailure;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::plan::window_lengths::WindowLengths;

/// Rows that wait before windows are closed, at least: closing sorts them.
const CLOSE_ROWS: usize = 1 << 17;

/// A failure of a function, and at which of the rows.
pub struct RunFailure {
    /// What failed; `nth` is the window.
    pub failure: FunctionFailure,
    /// The row that was added, if one was.
    pub row: Option<usize>,
}

/// The values of one function of the user, by its place among them, in windows. Each is a span of rows,
/// which are told by the numbers in which they came.
pub type RunFold<'a> =
    dyn FnMut(usize, &[SeqNo], &[RowSpan]) -> std::result::Result<ArrayRef, RunFailure> + 'a;

/// Rows in the order of time, and the windows that they are still in.
pub struct SlidingFolds {
    query: Arc<Query>,
    /// How many of the aggregates are functions of the user.
    functions: usize,
    sliding: SlidingQuery,
    /// The number of the next row.
    next: SeqNo,
    /// Bytes of the rows that are held, about.
    bytes: usize,
    /// Rows and bytes that stayed when windows were closed last.
    kept: (usize, usize),
    interrupt: Interrupt,
}

impl SlidingFolds {
    /// No rows yet; `functions` are the fields of the results of the user's functions, in their order.
    ///
    /// # Errors
    ///
    /// What [`Query::with_python`] refuses, and other windows.
    pub fn new(spec: &Spec, input: &Schema, functions: &[Field]) -> Result<Self> {
        let query = Arc::new(Query::with_python(spec, input, functions)?);
        let WindowLengths::Sliding(sliding) = query.windows else {
            return Err(Error::Internal("windows slide"));
        };
        Ok(Self {
            sliding: SlidingQuery::new(Arc::clone(&query), sliding)?,
            functions: functions.len(),
            query,
            next: 0,
            bytes: 0,
            kept: (0, 0),
            interrupt: Interrupt::never(),
        })
    }

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// The schema of windows.
    pub fn output(&self) -> SchemaRef {
        Arc::clone(&self.query.output)
    }

    /// Adds rows, none of which is before one that came earlier; gives windows that are final.
    ///
    /// # Errors
    ///
    /// [`Error::Record`] for a row that the query refuses, [`Error::Overflow`] for a result or a bound
    /// that does not fit its type, [`Error::Function`] for a function that failed; those of the
    /// interrupt.
    pub fn push(
        &mut self,
        batch: &RecordBatch,
        fold: &mut RunFold<'_>,
    ) -> Result<Vec<RecordBatch>> {
        self.interrupt.check()?;
        let from = self.next;
        self.next += batch.num_rows() as SeqNo;
        let numbers = |kept: &arrow_buffer::BooleanBuffer| {
            let rows = kept.set_indices();
            rows.map(|row| from + row as SeqNo).collect()
        };
        let mut counters = ReadCounters::default();
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

    /// Whether so much is held that it pays to sort it: twice of what will stay, at least.
    fn is_full(&self) -> bool {
        let (rows, bytes) = self.kept;
        let most_bytes = self.query.limits.merge_bytes;
        self.sliding.rows() >= CLOSE_ROWS.max(2 * rows) || self.bytes >= most_bytes.max(2 * bytes)
    }

    /// All windows that remain: the input has ended.
    ///
    /// # Errors
    ///
    /// As [`Self::push`].
    pub fn finish(&mut self, fold: &mut RunFold<'_>) -> Result<Vec<RecordBatch>> {
        self.close(None, fold)
    }

    /// The number of the first row that windows to come may hold.
    pub fn first_row(&self) -> SeqNo {
        let numbers = self.sliding.records().seq_nos().iter();
        numbers.min().copied().unwrap_or(self.next)
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        fold: &mut RunFold<'_>,
    ) -> Result<Vec<RecordBatch>> {
        let (query, functions) = (Arc::clone(&self.query), self.functions);
        let mut values = |records: &RowBuffer, spans: &[RowSpan], windows: &[Window]| {
            let columns = (0..functions).map(|nth| {
                fold(nth, records.seq_nos(), spans).map_err(|RunFailure { failure, row }| {
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
        // The rows that stay are estimated to be as wide as all were.
        let rows = self.sliding.rows();
        self.bytes = (self.bytes as u128 * rows as u128 / before.max(1) as u128) as usize;
        self.kept = (rows, self.bytes);
        Ok(windows)
    }
}
