//! The partial sessions of a micro-batch.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;

use super::judged_records::JudgedRecords;
use super::lateness::{Spans, are_late};
use crate::array::named::unnamed;
use crate::batch::batch_operator::BatchOperator;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::session::session_windows::Gap;
use crate::core::time::Time;
use crate::format::block::{self, BlockKind};
use crate::format::packed::PackedRow;
use crate::format::partial_sessions::PartialSessions;
use crate::plan::query::Query;
use crate::record::left_out::LeftOut;

/// The sessions of a micro-batch.
pub(super) struct Incoming {
    pub query: Arc<Query>,
    pub gap: Gap,
    /// Sessions that are in time even without the stored ones. The table also knows the keys of the
    /// others.
    pub sessions: SessionTable,
    /// All sessions, if some may be late.
    pub behind: Option<Behind>,
    /// A lower bound of the reaches of sessions in time.
    pub least: Option<Time>,
    /// The number of records, including late ones.
    pub records: u64,
    /// The number of records before the close time, including late ones, if records have ends.
    pub before_close: u64,
    /// The records that may be late, if records come themselves.
    pub judged: Option<JudgedRecords>,
}

/// The rows of a micro-batch.
pub(super) enum MicroBatchRows<'a> {
    /// Blocks of partial sessions.
    Packed(Vec<PackedRow<'a>>),
    /// The records themselves, which have a key, a time, a tie and a valid gap.
    Records(&'a RecordBatch),
    /// Blocks of such records, none of which is behind the close time, and their columns.
    RecordsInTime(Vec<PackedRow<'a>>, &'a SchemaRef),
}

/// Partial sessions, some behind the close time. These are late unless a stored session continues
/// them past the close time (rules 1.2). No two partial sessions of a key join each other directly.
pub(super) struct Behind {
    /// The sessions in the columns of a block.
    rows: RecordBatch,
    spans: Spans,
    /// The number of records of each session.
    records: Vec<u64>,
}

impl Incoming {
    /// Reads rows. Some of their records may be behind `close`. `counted` is the query with the
    /// number of records as an additional last aggregate, like the blocks.
    pub(super) fn read(
        rows: &MicroBatchRows<'_>,
        query: &Arc<Query>,
        counted: &Arc<Query>,
        gap: Gap,
        close: Time,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let mut incoming = Self {
            query: Arc::clone(query),
            gap,
            sessions: SessionTable::new(Arc::clone(query), gap)?,
            behind: None,
            least: None,
            records: 0,
            before_close: 0,
            judged: None,
        };
        match rows {
            MicroBatchRows::Records(records) => {
                incoming.add_records(records, counted, close, interrupt)?
            }
            MicroBatchRows::RecordsInTime(rows, columns) => {
                incoming.add_records_in_time(rows, columns, interrupt)?
            }
            MicroBatchRows::Packed(rows) if rows.iter().any(|row| row.first < close) => {
                incoming.add_behind(rows, counted, close, interrupt)?;
            }
            MicroBatchRows::Packed(rows) => incoming.add(rows, interrupt)?,
        }
        incoming.sessions.buffer(0, interrupt)?; // numbers all keys
        Ok(incoming)
    }

    /// Adds blocks that have no record behind the close time.
    fn add(&mut self, rows: &[PackedRow<'_>], interrupt: &Interrupt) -> Result<()> {
        for row in rows {
            interrupt.check()?;
            let (kind, block) = block::decode(row.block)?;
            let (block, records) = match kind {
                BlockKind::Records => (block.clone(), block.num_rows() as u64),
                BlockKind::Sessions => {
                    let (block, records) = split_records(&block)?;
                    (block, records.iter().sum())
                }
            };
            let reach = match (self.gap, kind) {
                (Gap::Fixed(gap), _) => Some(row.first.saturating_add(gap)),
                (Gap::Dynamic { .. }, BlockKind::Records) => Some(row.first),
                (Gap::Dynamic { .. }, BlockKind::Sessions) => {
                    let extents = PartialSessions::read(&self.query, self.gap, &block)?.extents;
                    extents.iter().map(|extent| extent.reach).min()
                }
            };
            self.least = [self.least, reach].into_iter().flatten().min();
            self.sessions.add_block(kind, &block)?;
            self.records += records;
        }
        Ok(())
    }

    /// Adds blocks with records behind `close`. All records of a key are judged together.
    fn add_behind(
        &mut self,
        rows: &[PackedRow<'_>],
        counted: &Arc<Query>,
        close: Time,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut sessions = SessionTable::new(Arc::clone(counted), self.gap)?;
        for row in rows {
            interrupt.check()?;
            let (kind, block) = block::decode(row.block)?;
            self.count_before(kind, &block, close)?;
            sessions.add_block(kind, &block)?;
        }
        self.keep_behind(&mut sessions, close, interrupt)
    }

    /// Counts the records of a block that are before the close time, if records have ends. Such records
    /// come as they are.
    fn count_before(&mut self, kind: BlockKind, block: &RecordBatch, close: Time) -> Result<()> {
        if self.query.columns.end.is_none() {
            return Ok(());
        }
        let times = block.columns().get(self.query.keys.len());
        let times = times.and_then(|times| times.as_primitive_opt::<Int64Type>());
        let (Some(times), BlockKind::Records) = (times, kind) else {
            return Err(wrong("records with ends come as partial sessions"));
        };
        let times = Time::slice(times.values()).iter();
        self.before_close += times.filter(|&&time| time < close).count() as u64;
        Ok(())
    }

    /// Keeps sessions with their numbers of records until they are judged. Adds them if all are in
    /// time.
    pub(super) fn keep_behind(
        &mut self,
        sessions: &mut SessionTable,
        close: Time,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (rows, records) = split_records(&sessions.partials(interrupt)?)?;
        let partials = PartialSessions::read(&self.query, self.gap, &rows)?;
        self.records += records.iter().sum::<u64>();
        let in_time = partials.extents.iter().filter(|own| !own.is_late(close));
        self.least = in_time.clone().map(|own| own.reach).min();
        if in_time.count() == partials.extents.len() {
            return self.sessions.add_partials(&partials).map(drop);
        }
        let spans = Spans {
            keys: self.sessions.intern(&partials.keys)?,
            extents: partials.extents,
        };
        self.behind = Some(Behind {
            rows,
            spans,
            records,
        });
        Ok(())
    }

    /// Adds the sessions that are in time when joined with stored ones. Returns the slots into
    /// which they were merged, and the number of late records.
    pub(super) fn judge(
        &mut self,
        stored: &[&Spans],
        close: Time,
        interrupt: &Interrupt,
    ) -> Result<(Vec<Slot>, u64)> {
        let Some(behind) = self.behind.take() else {
            return Ok((Vec::new(), 0));
        };
        let is_late = are_late(&behind.spans, stored, close, interrupt)?;
        if let Some(judged) = &mut self.judged {
            judged.find_late(&behind.spans, &is_late);
        }
        let rows = (0..).zip(&is_late);
        let in_time = rows.filter_map(|(row, &is_late)| (!is_late).then_some(row));
        let in_time = UInt32Array::from_iter_values(in_time);
        let in_time = take_record_batch(&behind.rows, &in_time)?;
        let in_time = PartialSessions::read(&self.query, self.gap, &in_time)?;
        let slots = self.sessions.add_partials(&in_time)?;
        let late = behind.records.iter().zip(&is_late);
        let late = late.filter_map(|(&records, &is_late)| is_late.then_some(records));
        Ok((slots, late.sum()))
    }

    /// The late records, if the rows are records and not sessions. `now` are the times that judged
    /// them.
    pub(super) fn left_out(&self, now: StreamTimes) -> Option<LeftOut> {
        Some(self.judged.as_ref()?.left_out(now))
    }
}

/// The error for wrong input, or a call out of order.
pub(super) fn wrong(reason: impl Into<String>) -> Error {
    Error::Format {
        what: "micro-batch",
        reason: reason.into(),
    }
}

/// Splits the last column off a block: the number of records of each partial session.
fn split_records(block: &RecordBatch) -> Result<(RecordBatch, Vec<u64>)> {
    let columns = || wrong(format!("unexpected columns {:?}", block.schema().fields()));
    let (records, rest) = block.columns().split_last().ok_or_else(columns)?;
    let records = records
        .as_primitive_opt::<Int64Type>()
        .ok_or_else(columns)?
        .values()
        .iter()
        .map(|&count| {
            let own = u64::try_from(count);
            own.map_err(|_| wrong(format!("a session of {count} records")))
        })
        .collect::<Result<_>>()?;
    Ok((unnamed(rest.to_vec())?, records))
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn a_session_of_less_than_no_records_is_refused() {
        let counts: ArrayRef = Arc::new(Int64Array::from(vec![2, -1]));
        let error = split_records(&unnamed(vec![counts.clone(), counts]).unwrap()).unwrap_err();
        assert!(
            error.to_string().contains("a session of -1 records"),
            "{error}"
        );
    }
}
