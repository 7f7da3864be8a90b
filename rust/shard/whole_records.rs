//! The records of a micro-batch that come themselves, if the query returns late records (rules 6.13).

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::incoming::{Incoming, MicroBatchRows, wrong};
use super::judged_records::JudgedRecords;
use super::shard_sessions::ShardSessions;
use crate::batch::batch_operator::BatchOperator;
use crate::batch::sessions::SessionTable;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::format::block;
use crate::format::packed::{self, PackedRow};
use crate::input::records::Records;
use crate::plan::query::Query;
use crate::record::left_out::LeftOut;
use crate::state::source_time::SourceTime;

impl ShardSessions {
    /// As [`Self::push`] for the records themselves, which have a key, a time, a tie and a valid gap.
    /// The late ones are then in [`Self::take_left_out`].
    pub fn push_records(
        &mut self,
        records: &RecordBatch,
        progress: &[SourceTime],
    ) -> Result<Vec<String>> {
        self.push_rows(&MicroBatchRows::Records(records), progress)
    }

    /// The same for blocks of records in any order, if none of them can be late. Returns `None`, and
    /// takes nothing, if one can be, or if a result depends on their order.
    pub fn push_records_in_time(
        &mut self,
        packed: &RecordBatch,
        progress: &[SourceTime],
    ) -> Result<Option<Vec<String>>> {
        let rows = packed::unpack(packed)?;
        self.state.clock.catch_up();
        let close = self.state.clock.horizon().close;
        if self.state.query.needs_seq_no || rows.iter().any(|row| row.first < close) {
            return Ok(None);
        }
        let columns = Arc::clone(&self.columns);
        let rows = MicroBatchRows::RecordsInTime(rows, &columns);
        self.push_rows(&rows, progress).map(Some)
    }

    /// The late records of the last micro-batch. `None` if no records came themselves.
    ///
    /// # Errors
    ///
    /// None of a micro-batch that is finished.
    pub fn take_left_out(&mut self) -> Result<Option<RecordBatch>> {
        self.left_out.take().map(LeftOut::into_batch).transpose()
    }
}

impl Incoming {
    /// Adds the records themselves.
    pub(super) fn add_records(
        &mut self,
        records: &RecordBatch,
        counted: &Arc<Query>,
        close: Time,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let own = read_records(&self.query, records)?;
        let before = own.times().iter().filter(|&&time| time < close).count();
        if before > 0 {
            self.before_close = before as u64;
            let table = &mut self.sessions;
            self.judged = Some(JudgedRecords::new(&own, self.gap, close, table)?);
            let mut sessions = SessionTable::new(Arc::clone(counted), self.gap)?;
            sessions.add(read_records(counted, records)?)?;
            return self.keep_behind(&mut sessions, close, interrupt);
        }
        self.add_in_time(own)
    }

    /// Adds blocks of records that have no record behind the close time.
    pub(super) fn add_records_in_time(
        &mut self,
        rows: &[PackedRow<'_>],
        columns: &SchemaRef,
        interrupt: &Interrupt,
    ) -> Result<()> {
        for row in rows {
            interrupt.check()?;
            let (_, block) = block::decode(row.block)?;
            let of_record = block.columns().iter().take(columns.fields().len());
            let records = RecordBatch::try_new(Arc::clone(columns), of_record.cloned().collect());
            let records =
                records.map_err(|error| wrong(format!("a block of other records: {error}")))?;
            self.add_in_time(read_records(&self.query, &records)?)?;
        }
        Ok(())
    }

    /// Adds records that are not behind the close time.
    fn add_in_time(&mut self, records: Records) -> Result<()> {
        self.judged.get_or_insert_default();
        self.records += records.rows() as u64;
        let reaches = records.extents(self.gap).map(|own| own.reach);
        self.least = reaches.chain(self.least).min();
        self.sessions.add(records)
    }
}

/// Reads records, all of which have a key, a time, a tie and a valid gap.
fn read_records(query: &Query, records: &RecordBatch) -> Result<Records> {
    let own = Records::read(query, records, 0, &mut Counters::default())?;
    if own.rows() < records.num_rows() {
        return Err(wrong("a record is in no window"));
    }
    Ok(own)
}
