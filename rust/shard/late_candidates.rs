//! Partial sessions that are late unless a stored session goes on from them (rules 1.2).

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;

use super::later_sessions::LaterSessions;
use super::run_page::RunPage;
use crate::batch::batch_operator::BatchOperator;
use crate::batch::sessions::SessionTable;
use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::core::window::Extent;
use crate::format::block::BlockKind;
use crate::plan::query::Query;

/// Partial sessions of a micro-batch that end behind the close time: those of a key next to each
/// other, by their starts, and no two of them join.
pub(super) struct LateCandidates {
    /// In the columns of a block.
    pub rows: RecordBatch,
    pub extents: Vec<Extent>,
    /// How many records each is of.
    pub records: Vec<u64>,
}

impl LateCandidates {
    /// The key columns; `keys` is how many there are.
    pub fn keys(&self, keys: usize) -> &[ArrayRef] {
        self.rows.columns().get(..keys).unwrap_or_default()
    }

    /// Adds those from which a stored session goes on, in `opened` pages or later ones, to `sessions`.
    /// Gives the number of records of the others: they are late.
    pub fn add_in_time(
        &self,
        query: &Query,
        opened: &[&RunPage],
        stored: &[LaterSessions],
        sessions: &mut SessionTable,
    ) -> Result<u64> {
        let keys = sessions.intern(self.keys(query.keys.len()))?;
        let by_key = key_ranges(&keys);
        let mut found = vec![false; self.extents.len()];
        for page in opened {
            let keys = sessions.intern(page.keys())?;
            self.find(&by_key, &keys, &page.spans()?, &mut found);
        }
        for later in stored {
            self.find(&by_key, &later.keys, &later.spans, &mut found);
        }
        let rows = (0..).zip(&found);
        let in_time = rows.filter_map(|(row, &found)| found.then_some(row));
        let in_time = take_record_batch(&self.rows, &UInt32Array::from_iter_values(in_time))?;
        sessions.add_block(BlockKind::Sessions, &in_time)?;
        let late = self.records.iter().zip(&found);
        Ok(late
            .filter_map(|(&records, &found)| (!found).then_some(records))
            .sum())
    }

    /// Finds those that join stored sessions: of each key some that follow each other.
    fn find(&self, by_key: &[Range<usize>], keys: &[KeyId], spans: &[Extent], found: &mut [bool]) {
        for (&key, span) in keys.iter().zip(spans) {
            let Some(rows) = by_key.get(key.0 as usize) else {
                continue;
            };
            let own = self.extents.get(rows.clone()).unwrap_or_default();
            let from = own.partition_point(|own| span.is_past(own));
            let to = own.partition_point(|own| !own.is_past(span));
            if let Some(found) = found.get_mut(rows.start + from..rows.start + to) {
                found.fill(true);
            }
        }
    }
}

/// The rows of each key, by its number; those of a key follow each other.
fn key_ranges(keys: &[KeyId]) -> Vec<Range<usize>> {
    let most = keys.iter().map(|key| key.0 as usize + 1).max();
    let mut ranges = vec![0..0; most.unwrap_or_default()];
    let mut from = 0;
    for rows in keys.chunk_by(|left, right| left == right) {
        let to = from + rows.len();
        let range = rows.first().and_then(|key| ranges.get_mut(key.0 as usize));
        if let Some(range) = range {
            *range = from..to;
        }
        from = to;
    }
    ranges
}
