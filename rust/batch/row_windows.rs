//! In this process: the windows of a query, and the window of each row.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat;

use super::positions::{positions, rows_after};
use super::returned_rows::rows_of;
use super::session_numbers::SessionNumbers;
use super::window_batches::WindowBatches;
use super::window_columns::{batches, batches_of_rows};
use crate::array::hidden_nulls;
use crate::core::error::{Error, PANICKED, Result};
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::plan::query::Query;
use crate::plan::rows_with_windows::numbered;

/// Batches of windows are joined if there are at least this many rows per window. Taking from one
/// array is faster than from several, and copying few windows is cheap.
const ROWS_OF_JOINED: usize = 4;

/// Windows, and the position of each input row's window among them.
pub struct RowWindows {
    /// The windows: keys, `window`, aggregates.
    pub windows: Vec<RecordBatch>,
    /// Null for an excluded row.
    pub of_row: Int64Array,
    /// For each row, how many rows of its window come after it; empty if the query has no
    /// positions.
    pub after: Vec<i64>,
    /// The counters of the run.
    pub counters: Counters,
}

/// The columns of windows, repeated for rows and split into batches. Each row gets the values of
/// its window. All columns are nullable.
pub(crate) struct RowColumns {
    schema: SchemaRef,
    windows: WindowBatches,
    /// The position of each row's window, or null if it has none.
    of_row: Int64Array,
    /// The columns that hold positions of rows.
    positions: Vec<usize>,
    /// For each row, how many rows of its window come after it, if there are such columns.
    after: Vec<i64>,
    /// The rows of each batch.
    batches: Vec<Range<usize>>,
}

impl RowColumns {
    /// Creates the columns. The first column of `of_row` has the positions of windows, the second
    /// one the rows after each row, if there are columns of `positions`. `threads` threads join the
    /// columns of windows.
    pub(crate) fn new(
        windows: &[RecordBatch],
        of_row: &RecordBatch,
        positions: &[String],
        memory: Option<usize>,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let after = of_row.columns().get(1);
        let after = after.and_then(|column| column.as_primitive_opt::<Int64Type>());
        let of_row = of_row.columns().first();
        let of_row = of_row.and_then(|column| column.as_primitive_opt::<Int64Type>());
        let (Some(first), Some(of_row)) = (windows.first(), of_row) else {
            return Err(Error::Internal("windows or rows are missing"));
        };
        let names = positions
            .iter()
            .map(|name| first.schema_ref().index_of(name));
        let positions = names.collect::<std::result::Result<Vec<_>, _>>()?;
        let fields = first.schema_ref().fields().iter();
        let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let numbers: Vec<usize> = (0..first.num_columns()).collect();
        let all: usize = windows.iter().map(RecordBatch::num_rows).sum();
        let columns = on_threads(threads, &numbers, interrupt, |&number| {
            let parts = windows
                .iter()
                .filter_map(|batch| batch.columns().get(number));
            if windows.len() == 1 || all > of_row.len() / ROWS_OF_JOINED {
                return Ok(parts.cloned().collect());
            }
            Ok(vec![concat(&parts.map(AsRef::as_ref).collect::<Vec<_>>())?])
        })?;
        let windows = WindowBatches::new(columns);
        Ok(Self {
            schema,
            batches: ranges(&windows, of_row, memory)?,
            windows,
            of_row: of_row.clone(),
            positions,
            after: after.map_or_else(Vec::new, |after| after.values().to_vec()),
        })
    }

    /// The batch with this number, or `None` beyond the last one.
    pub(crate) fn batch(&self, number: usize) -> Result<Option<RecordBatch>> {
        let rows = self.batches.get(number);
        rows.map(|rows| self.of(rows)).transpose()
    }

    /// Computes all batches on `threads` threads.
    pub(crate) fn all(&self, threads: usize, interrupt: &Interrupt) -> Result<Vec<RecordBatch>> {
        on_threads(threads, &self.batches, interrupt, |rows| self.of(rows))
    }

    fn of(&self, rows: &Range<usize>) -> Result<RecordBatch> {
        let of_row = self.of_row.slice(rows.start, rows.len());
        let mut columns = self.windows.take(&of_row)?;
        for &column in &self.positions {
            if let Some(column) = columns.get_mut(column) {
                *column = positions(column, self.after.get(rows.clone()))?;
            }
        }
        if of_row.null_count() > 0 {
            for column in &mut columns {
                *column = hidden_nulls::without(column)?;
            }
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

/// Applies `work` to each item on `threads` threads, including this one. Each thread works on
/// adjacent items.
fn on_threads<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    interrupt: &Interrupt,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let of_thread = items.len().div_ceil(threads.max(1)).max(1);
    let work = |share: &[T], interrupt: &Interrupt| {
        let made = share.iter().map(|item| {
            interrupt.check()?;
            work(item)
        });
        made.collect::<Result<Vec<_>>>()
    };
    let (work, panicked) = (&work, |_| Err(PANICKED));
    thread::scope(|scope| {
        let mut shares = items.chunks(of_thread);
        let own = shares.next().unwrap_or_default();
        let workers: Vec<_> = shares
            .map(|share| {
                let interrupt = interrupt.for_worker();
                scope.spawn(move || work(share, &interrupt))
            })
            .collect();
        let mut made = work(own, interrupt)?;
        for worker in workers {
            made.extend(worker.join().unwrap_or_else(panicked)?);
        }
        Ok(made)
    })
}

/// The rows of each batch.
fn ranges(
    windows: &WindowBatches,
    of_row: &Int64Array,
    memory: Option<usize>,
) -> Result<Vec<Range<usize>>> {
    let Some(of_window) = windows.bytes() else {
        return Ok(batches_of_rows(of_row.len()));
    };
    let bytes = |window: Option<i64>| {
        let window = window.and_then(|window| usize::try_from(window).ok());
        let bytes = window.and_then(|window| of_window.get(window));
        bytes.copied().unwrap_or_default()
    };
    if let Some(most) = memory {
        let bytes = of_row.iter().map(bytes).fold(0, usize::saturating_add);
        check_room(bytes, windows.len(), of_row, most)?;
    }
    Ok(batches(of_row.iter().map(bytes)))
}

/// Checks the memory. A list or a text of a window repeats for each of its rows, so lists grow with
/// the square of the rows.
fn check_room(bytes: usize, windows: usize, of_row: &Int64Array, most: usize) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!(
            "what {windows} windows hold, once for each of {} rows, takes {} MiB, where {} MiB are \
             free; allowed: aggregates that keep no lists or texts, or agg, which gives each once",
            of_row.len() - of_row.null_count(),
            bytes >> 20,
            most >> 20,
        ),
    })
}

/// Marks a row without a window.
const NONE: i64 = -1;

impl Query {
    /// Runs a query [with rows](Query::with_rows) over batches on `threads` threads.
    pub fn run_with_rows(
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
        let (mut results, counters) = self.run(batches, threads, interrupt)?;
        SessionNumbers::new(self)?.number(&mut results, interrupt)?;
        let columns = self.number_columns(|aggregate| aggregate.is_position);
        let mut of_row = vec![NONE; rows];
        let mut after = vec![0; if columns.is_empty() { 0 } else { rows }];
        let mut windows = Vec::with_capacity(results.len());
        let mut before = 0;
        for batch in results {
            interrupt.check()?;
            let (positions, numbers) = rows_of(&batch)?;
            let missing = || Error::Internal("a row has no number");
            for (&position, &number) in positions.iter().zip(&numbers) {
                let row = usize::try_from(number)
                    .ok()
                    .and_then(|row| of_row.get_mut(row));
                *row.ok_or_else(missing)? = before + i64::from(position);
            }
            for (of_row, &number) in rows_after(&positions, &columns).iter().zip(&numbers) {
                *after.get_mut(number as usize).ok_or_else(missing)? = *of_row;
            }
            before += batch.num_rows() as i64;
            let columns: Vec<usize> = (0..batch.num_columns() - 1).collect();
            windows.push(batch.project(&columns)?);
        }
        let known = |row| of_row.get(row).is_some_and(|&window| window != NONE);
        let nulls = of_row
            .contains(&NONE)
            .then(|| NullBuffer::new(BooleanBuffer::collect_bool(rows, known)));
        Ok(RowWindows {
            windows,
            of_row: Int64Array::try_new(of_row.into(), nulls)?,
            after,
            counters,
        })
    }
}
