//! In this process: the windows of a query, and the window of each row.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use super::over::rows_of;
use crate::arrow::plan::over::numbered;
use crate::arrow::plan::query::Query;
use crate::arrow::read::counters::ReadCounters;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

/// Windows, one after the other, and for each row of the input the position of its window.
pub struct RowWindows {
    /// The windows: keys, `window`, aggregates.
    pub windows: Vec<RecordBatch>,
    /// Null for a row that is left out.
    pub of_row: Int64Array,
    /// What was counted.
    pub counters: ReadCounters,
}

/// No window.
const NONE: i64 = -1;

impl Query {
    /// Runs a query [with rows](Query::with_rows) over batches, on `threads` threads.
    ///
    /// # Errors
    ///
    /// Those of [`Query::run_until`].
    pub fn run_over(
        self: &Arc<Self>,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<RowWindows> {
        let mut rows = 0;
        let batches = batches.map(|batch| {
            let batch = batch?;
            let schema = Arc::new(numbered(batch.schema_ref()));
            let from = rows as i64;
            rows += batch.num_rows();
            let numbers = Int64Array::from_iter_values((from..).take(batch.num_rows()));
            let columns = batch.columns().iter().cloned();
            let columns = columns.chain([Arc::new(numbers) as ArrayRef]).collect();
            Ok(RecordBatch::try_new(schema, columns)?)
        });
        let (results, counters) = self.run_until(batches, threads, interrupt)?;
        let mut of_row = vec![NONE; rows];
        let mut windows = Vec::with_capacity(results.len());
        let mut before = 0;
        for batch in results {
            interrupt.check()?;
            let (positions, numbers) = rows_of(&batch)?;
            for (&position, &number) in positions.iter().zip(&numbers) {
                let row = usize::try_from(number)
                    .ok()
                    .and_then(|row| of_row.get_mut(row));
                *row.ok_or(Error::Internal("a row has a number"))? = before + i64::from(position);
            }
            before += batch.num_rows() as i64;
            let columns: Vec<usize> = (0..batch.num_columns() - 1).collect();
            windows.push(batch.project(&columns)?);
        }
        let known = |&window: &i64| (window != NONE).then_some(window);
        Ok(RowWindows {
            windows,
            of_row: of_row.iter().map(known).collect(),
            counters,
        })
    }
}
