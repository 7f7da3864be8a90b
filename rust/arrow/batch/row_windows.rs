//! In this process: the windows of a query, and the window of each row.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use arrow_select::take::take;

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

/// Rows in a batch of their windows.
const ROWS: usize = 1 << 16;

/// The columns of windows for rows, in batches of some rows: `of_row` has the position of each row's
/// window in its first column, null for none. All columns may be null.
///
/// # Errors
///
/// No windows, batches of different columns, and columns that do not fit one array.
pub fn spread(windows: &[RecordBatch], of_row: &RecordBatch) -> Result<Vec<RecordBatch>> {
    let (Some(first), Some(of_row)) = (windows.first(), of_row.columns().first()) else {
        return Err(Error::Internal("there are windows, and rows"));
    };
    let all = concat_batches(first.schema_ref(), windows)?;
    let fields = first.schema_ref().fields().iter();
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batches = (0..of_row.len()).step_by(ROWS).map(|from| {
        let of_row = of_row.slice(from, ROWS.min(of_row.len() - from));
        let columns = all
            .columns()
            .iter()
            .map(|column| take(column, &of_row, None));
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
    });
    batches.collect()
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
