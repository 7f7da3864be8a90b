//! A segment of which some runs are written anew: those of the keys whose sessions have changed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::key_names::each_sort_key;
use super::run_writer::RunWriter;
use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::core::sort::pick;
use crate::format::page::PageName;
use crate::format::range_table::{RangeTable, UNREAD, place};
use crate::format::stored_range::{ChangedPages, StoredRange, WrittenRanges};

/// A segment after a micro-batch.
pub(super) struct ChangedSegment {
    pub id: i64,
    /// Its sessions, but those of runs that were not read.
    pub rows: Vec<u32>,
    /// Of each of its runs whether a session in it has changed, or is there no more.
    pub is_changed: Vec<bool>,
}

impl ChangedSegment {
    /// Writes the runs in which a session has changed, as `is_changed` says of each session.
    ///
    /// # Errors
    ///
    /// Those of the writer; [`crate::core::error::Error::Internal`] for a change of what was not read.
    pub fn write(
        mut self,
        is_changed: &[bool],
        read: &BTreeSet<PageName>,
        table: &mut RangeTable,
        writer: &RunWriter<'_>,
        changed: &mut ChangedPages,
    ) -> Result<()> {
        let ranges = table.segment(self.id);
        let places = if self.is_changed.iter().all(|&changed| changed) {
            None
        } else {
            let places = self.places(ranges, writer)?;
            for (&place, &row) in places.iter().zip(&self.rows) {
                let changed = self.is_changed.get_mut(place);
                if let (Some(true), Some(changed)) = (is_changed.get(row as usize), changed) {
                    *changed = true;
                }
            }
            Some(places)
        };
        let mut each = ranges.iter().zip(&self.is_changed);
        let is_read = |stored: &StoredRange| {
            let mut names = stored.names(self.id);
            names.all(|name| read.contains(&name))
        };
        if each.any(|(stored, &changed)| changed && !is_read(stored)) {
            return Err(UNREAD);
        }
        table.rewrite(self.id, &self.is_changed, changed, |group, vacancy| {
            let rows: Vec<u32> = match &places {
                None => std::mem::take(&mut self.rows),
                Some(places) => {
                    let rows = places.iter().zip(&self.rows);
                    let own = rows.filter(|(place, _)| group.contains(place));
                    own.map(|(_, &row)| row).collect()
                }
            };
            if rows.is_empty() {
                return Ok(WrittenRanges::default());
            }
            writer.write_ranges(vacancy, &rows)
        })
    }

    /// The place of the run of each row.
    fn places(&self, ranges: &[StoredRange], writer: &RunWriter<'_>) -> Result<Vec<usize>> {
        let keys: Vec<KeyId> = pick(&writer.sessions.keys, &self.rows)?;
        let mut places = Vec::with_capacity(keys.len());
        each_sort_key(writer.sort_keys, writer.query, &keys, |key| {
            places.push(place(ranges, key));
            ControlFlow::Continue(())
        })?;
        Ok(places)
    }
}
