//! The records of a batch that are in no window, and why (rules 6.13).

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use crate::core::error::Result;
use crate::core::operator::change::Late;
use crate::core::operator::record::RecordOutcome;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::time::{Span, Time};

/// The records of a batch that are in no window.
pub(crate) struct LeftOut {
    late: Late,
    /// The row of the batch with which the rows that are noted begin.
    first: usize,
    entries: Vec<Entry>,
}

/// A record that is in no window.
struct Entry {
    row: usize,
    reason: &'static str,
    /// The grace that it lacked.
    late_by: Option<Span>,
    /// The stream time that judged it.
    stream_time: Option<Time>,
}

impl LeftOut {
    /// No records yet. A late record that is emitted alone is not left out.
    pub(crate) fn new(late: Late) -> Self {
        Self {
            late,
            first: 0,
            entries: Vec::new(),
        }
    }

    /// The rows from now on are counted from this row of the batch.
    pub(super) fn begin(&mut self, first: usize) {
        self.first = first;
    }

    /// Keeps a record unless it is in a window. `now` are the times that judged it.
    pub(crate) fn note(&mut self, row: usize, outcome: RecordOutcome, now: StreamTimes) {
        let (reason, late_by) = match outcome {
            RecordOutcome::Accepted => return,
            RecordOutcome::Late(late_by) => ("late", late_by),
            RecordOutcome::Refused(late_by) => ("refused", late_by),
        };
        if self.late == Late::Drop {
            self.entries.push(Entry {
                row: self.first + row,
                reason,
                late_by: Some(late_by),
                stream_time: now.own,
            });
        }
    }

    /// Keeps a row that no time has judged.
    pub(super) fn keep(&mut self, row: usize, reason: &'static str) {
        self.entries.push(Entry {
            row: self.first + row,
            reason,
            late_by: None,
            stream_time: None,
        });
    }

    /// The columns `row`, `reason`, `late_by` and `stream_time`, the last two in ticks of the time
    /// column, in the order of rows.
    pub(crate) fn into_batch(mut self) -> Result<RecordBatch> {
        self.entries.sort_unstable_by_key(|entry| entry.row);
        let entries = self.entries.iter();
        let rows = entries.clone().map(|entry| entry.row as i64);
        let reasons = entries.clone().map(|entry| entry.reason);
        let ticks = |span: Span| i64::try_from(span.0).unwrap_or(i64::MAX);
        let late_by = entries.clone().map(|entry| entry.late_by.map(ticks));
        let times = entries.map(|entry| entry.stream_time.map(|time| time.0));
        let columns: [(&str, ArrayRef); 4] = [
            ("row", Arc::new(Int64Array::from_iter_values(rows))),
            ("reason", Arc::new(StringArray::from_iter_values(reasons))),
            ("late_by", Arc::new(late_by.collect::<Int64Array>())),
            ("stream_time", Arc::new(times.collect::<Int64Array>())),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    }
}
