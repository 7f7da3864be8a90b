//! The blocks of a micro-batch: partial sessions with the number of their records.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;

use super::late_candidates::LateCandidates;
use crate::array::named::unnamed;
use crate::batch::operator::BatchOperator;
use crate::batch::sessions::SessionTable;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::session::windows::Gap;
use crate::core::sort::pick;
use crate::core::time::Time;
use crate::format::block::{self, BlockKind};
use crate::format::packed::PackedRow;
use crate::format::partial_sessions::PartialSessions;
use crate::plan::query::Query;

/// The sessions of a micro-batch.
pub(super) struct Incoming {
    pub gap: Gap,
    /// Those that are in time.
    pub sessions: SessionTable,
    /// Those that may be late.
    pub candidates: Option<LateCandidates>,
    /// The least reach of those that are in time, or less.
    pub least: Option<Time>,
    /// Records, late ones too.
    pub records: u64,
}

impl Incoming {
    /// Adds blocks without a record that is behind.
    pub fn add(
        &mut self,
        rows: &[PackedRow<'_>],
        query: &Query,
        interrupt: &Interrupt,
    ) -> Result<()> {
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
                    let extents = PartialSessions::read(query, self.gap, &block)?.extents;
                    extents.iter().map(|extent| extent.reach).min()
                }
            };
            self.least = [self.least, reach].into_iter().flatten().min();
            self.sessions.add_block(kind, &block)?;
            self.records += records;
        }
        Ok(())
    }

    /// Adds blocks of which some records are behind `close`: the records of a key are judged together.
    /// `counted` is the query with the number of records as its last aggregate.
    pub fn add_behind(
        &mut self,
        rows: &[PackedRow<'_>],
        query: &Query,
        counted: &Arc<Query>,
        close: Time,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let mut sessions = SessionTable::new(Arc::clone(counted), self.gap)?;
        for row in rows {
            interrupt.check()?;
            let (kind, block) = block::decode(row.block)?;
            sessions.add_block(kind, &block)?;
        }
        let (partials, records) = split_records(&sessions.partials(interrupt)?)?;
        let extents = PartialSessions::read(query, self.gap, &partials)?.extents;
        self.records += records.iter().sum::<u64>();
        let is_late = |row: &u32| {
            extents
                .get(*row as usize)
                .is_some_and(|own| own.is_late(close))
        };
        let (late, in_time): (Vec<u32>, Vec<u32>) = (0..extents.len() as u32).partition(is_late);
        let reaches = pick(&extents, &in_time)?;
        self.least = reaches.iter().map(|extent| extent.reach).min();
        let candidates = LateCandidates {
            extents: pick(&extents, &late)?,
            records: pick(&records, &late)?,
            rows: take_record_batch(&partials, &UInt32Array::from(late))?,
        };
        self.candidates = (!candidates.extents.is_empty()).then_some(candidates);
        let in_time = take_record_batch(&partials, &UInt32Array::from(in_time))?;
        self.sessions.add_block(BlockKind::Sessions, &in_time)
    }
}

/// The partial sessions of a block, and the number of records of each: its last column.
fn split_records(block: &RecordBatch) -> Result<(RecordBatch, Vec<u64>)> {
    let wrong = || Error::Format {
        what: "micro-batch",
        reason: format!("unexpected columns {:?}", block.schema().fields()),
    };
    let (records, rest) = block.columns().split_last().ok_or_else(wrong)?;
    let records = records
        .as_primitive_opt::<Int64Type>()
        .ok_or_else(wrong)?
        .values()
        .iter()
        .map(|records| records.unsigned_abs())
        .collect();
    Ok((unnamed(rest.to_vec())?, records))
}
