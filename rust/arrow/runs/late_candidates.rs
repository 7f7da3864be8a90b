//! Partial sessions that are late unless a stored session goes on from them (rules 1.2).

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;

use super::later_sessions::LaterSessions;
use super::rows_by_key::RowsByKey;
use super::run_page::RunPage;
use crate::arrow::batch::operator::BatchOperator;
use crate::arrow::batch::sessions::SessionQuery;
use crate::arrow::format::block::BlockKind;
use crate::arrow::plan::query::Query;
use crate::error::Result;
use crate::key::KeyId;
use crate::window::Extent;

/// Partial sessions of a micro-batch that end behind the close time.
pub(super) struct LateCandidates {
    /// In the columns of a block.
    pub rows: RecordBatch,
    pub extents: Vec<Extent>,
    /// How many records each is of.
    pub records: Vec<u64>,
}

impl LateCandidates {
    /// Adds those from which a stored session goes on, in `opened` pages or later ones, to `sessions`.
    /// Gives the number of records of the others: they are late.
    pub fn add_in_time(
        &self,
        query: &Query,
        opened: &[&RunPage],
        stored: &[LaterSessions],
        sessions: &mut SessionQuery,
    ) -> Result<u64> {
        let columns = self.rows.columns().get(..query.keys.len());
        let keys = sessions.intern(columns.unwrap_or_default())?;
        let by_key = RowsByKey::new(&keys, 0..self.extents.len() as u32);
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

    /// Finds those that join stored sessions.
    fn find(&self, by_key: &RowsByKey, keys: &[KeyId], spans: &[Extent], found: &mut [bool]) {
        for (&key, span) in keys.iter().zip(spans) {
            for row in by_key.of(key) {
                if let (Some(own), Some(found)) = (self.extents.get(row), found.get_mut(row)) {
                    *found |= own.joins(span);
                }
            }
        }
    }
}
