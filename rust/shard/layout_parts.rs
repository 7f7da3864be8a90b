//! Sessions stored in parts: which pages a micro-batch reads, how it joins parts, and what it
//! appends.

use std::collections::{BTreeMap, BTreeSet};

use super::incoming::Incoming;
use super::lateness::{Spans, carry};
use super::shard_state::ShardState;
use super::sorted_sessions::sorted;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::error::Result;
use crate::core::time::Time;
use crate::state::page::PageName;
use crate::state::segment_table::SegmentTable;
use crate::state::stored_run::{ChangedPages, StoredRun};
use crate::state::stored_windows::StoredWindows;

/// What a micro-batch reads, if sessions are stored in parts.
pub(super) struct PartsRead {
    /// The last segment that the close time has entered.
    last: i64,
    /// Segments with too many runs. The place is the first of the runs to compact.
    compacted: Vec<(i64, usize)>,
    /// Whether to look for later parts that continue a session.
    looks: bool,
}

impl Default for PartsRead {
    /// Reads nothing.
    fn default() -> Self {
        Self {
            last: i64::MIN,
            compacted: Vec::new(),
            looks: false,
        }
    }
}

impl PartsRead {
    /// Plans the reads of a micro-batch that moves the close time from `closed` to `close`. Also
    /// returns the names of the pages to read.
    pub(super) fn new(
        shard: &ShardState,
        incoming: &Incoming,
        closed: Time,
        close: Time,
    ) -> (Self, BTreeSet<PageName>) {
        let (grid, table) = (shard.grid, &shard.snapshot.table);
        let opened = grid.of(closed);
        let last = grid.of(close).max(opened);
        let least = incoming.least;
        let looks = last > opened
            || incoming.behind.is_some()
            || least.is_some_and(|least| grid.of(least) <= last);
        let compacted = to_compact(table, last, shard.limits.segment_runs);
        let opened = table.runs().filter(|(segment, _)| *segment <= last);
        let mut names: BTreeSet<PageName> = opened
            .flat_map(|(segment, run)| run.names(segment))
            .collect();
        for &(segment, from) in &compacted {
            let runs = table.segment(segment).iter().skip(from);
            names.extend(runs.flat_map(|run| run.names(segment)));
        }
        if looks {
            let until = grid.end(last).0;
            let reached = table
                .runs()
                .filter(|(segment, run)| *segment > last && run.windows.first <= until);
            names.extend(reached.flat_map(|(segment, run)| run.index_names(segment)));
        }
        let read = Self {
            last,
            compacted,
            looks,
        };
        (read, names)
    }

    /// Whether a segment is opened.
    pub(super) fn has_opened(&self, segment: i64) -> bool {
        segment <= self.last
    }

    /// Joins the micro-batch with the parts of opened segments. Returns the sessions, the segment
    /// of each, and the number of late records.
    pub(super) fn join(
        &self,
        shard: &ShardState,
        incoming: &mut Incoming,
        close: Time,
        pages: &[StoredWindows],
    ) -> Result<(SessionColumns, Vec<i64>, u64)> {
        let interrupt = &shard.interrupt;
        let (mut opened, mut later) = (Vec::new(), Vec::new());
        for page in pages {
            let segment = page.name.id.segment;
            let is_opened = segment <= self.last;
            if if is_opened {
                incoming.behind.is_some()
            } else {
                self.looks
            } {
                let spans = Spans {
                    keys: incoming.sessions.intern(page.keys())?,
                    extents: page.extents()?,
                };
                if is_opened {
                    opened.push(spans);
                } else {
                    later.push((segment, spans));
                }
            }
        }
        let stored: Vec<&Spans> = opened
            .iter()
            .chain(later.iter().map(|(_, spans)| spans))
            .collect();
        let (_, late) = incoming.judge(&stored, close, interrupt)?;
        for page in pages
            .iter()
            .filter(|page| page.name.id.segment <= self.last)
        {
            interrupt.check()?;
            incoming.sessions.add_partials(&page.partials()?)?;
        }
        let mut whole = incoming.sessions.coalesce(interrupt)?;
        let mut segments = shard.segments_of(&whole);
        if !later.is_empty() {
            let spans = Spans {
                keys: std::mem::take(&mut whole.keys),
                extents: std::mem::take(&mut whole.extents),
            };
            carry(&spans, self.last, &later, &mut segments, interrupt)?;
            (whole.keys, whole.extents) = (spans.keys, spans.extents);
        }
        Ok((whole, segments, late))
    }

    /// Removes the opened segments, compacts runs of other segments, and appends the remaining
    /// sessions to the segments of `rows`. `table` knows their keys.
    pub(super) fn write(
        &self,
        shard: &mut ShardState,
        table: &SessionTable,
        sessions: &SessionColumns,
        rows: BTreeMap<i64, Vec<u32>>,
        pages: &[StoredWindows],
    ) -> Result<ChangedPages> {
        let mut changed = ChangedPages::new();
        shard.snapshot.table.remove_to(self.last, &mut changed);
        for &(segment, from) in &self.compacted {
            let runs = shard.snapshot.table.segment(segment);
            let first = runs.get(from).map_or(u32::MAX, |run| run.number);
            let places = from..runs.len();
            let mut own = SessionTable::new(shard.query.clone(), shard.clock.windows.gap)?;
            for page in pages {
                let (name, is_index) = (page.name.id, page.name.is_index);
                if name.segment == segment && name.run >= first && !is_index {
                    shard.interrupt.check()?;
                    own.add_partials(&page.partials()?)?;
                }
            }
            let whole = own.coalesce(&shard.interrupt)?;
            let all: Vec<u32> = (0..whole.extents.len() as u32).collect();
            shard.snapshot.table.remove(segment, places, &mut changed);
            append(shard, segment, &own, &whole, &all, &mut changed)?;
        }
        for (segment, rows) in rows {
            append(shard, segment, table, sessions, &rows, &mut changed)?;
        }
        Ok(changed)
    }
}

/// Writes the visible ones of whole sessions, which were stored in another layout.
pub(super) fn write_all(
    shard: &mut ShardState,
    table: &SessionTable,
    sessions: &SessionColumns,
) -> Result<ChangedPages> {
    let (after, mut kept) = (shard.clock.horizon(), BTreeMap::<i64, Vec<u32>>::new());
    let each = sessions.extents.iter().zip(shard.segments_of(sessions));
    for (row, (extent, segment)) in (0..).zip(each) {
        if extent.is_visible(after) {
            kept.entry(segment).or_default().push(row);
        }
    }
    PartsRead::default().write(shard, table, sessions, kept, &[])
}

/// Appends a run of sessions to a segment. A short run has no index; its pages are read instead.
fn append(
    shard: &mut ShardState,
    segment: i64,
    table: &SessionTable,
    sessions: &SessionColumns,
    rows: &[u32],
    changed: &mut ChangedPages,
) -> Result<()> {
    shard.interrupt.check()?;
    let parts = sorted(&shard.sort_keys, table, sessions, &[], rows)?;
    let last = shard.snapshot.table.segment(segment).last();
    let run = StoredRun::new(last.map_or(0, |last| last.number + 1), Vec::new());
    let has_index = rows.len() >= shard.limits.index_rows;
    let writer = shard.writer(&shard.snapshot.fingerprint.hash);
    let run = writer.write(segment, run, &parts, has_index, changed)?;
    shard.snapshot.table.push(segment, run);
    Ok(())
}

/// Chooses the runs to compact, in each segment after `last` with more than `most` runs.
fn to_compact(table: &SegmentTable, last: i64, most: usize) -> Vec<(i64, usize)> {
    let later = table.segments().filter(|(segment, _)| *segment > last);
    let long = later.filter(|(_, runs)| runs.len() > most.max(1));
    long.map(|(segment, runs)| (segment, youngest(runs)))
        .collect()
}

/// The first run to compact. Compaction takes the two youngest runs, then each older run that is no
/// longer than all younger ones together.
fn youngest(runs: &[StoredRun]) -> usize {
    let mut from = runs.len().saturating_sub(1);
    let mut together = 0_u64;
    for (position, run) in runs.iter().enumerate().rev() {
        if position + 2 < runs.len() && run.windows.open > together {
            break;
        }
        from = position;
        together = together.saturating_add(run.windows.open);
    }
    from
}
