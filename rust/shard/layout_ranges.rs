//! Whole sessions by ranges of keys: which pages a micro-batch reads, how it joins sessions, and
//! which runs it rewrites.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::incoming::Incoming;
use super::key_names::each_sort_key;
use super::lateness::Spans;
use super::shard_state::ShardState;
use super::sorted_sessions::sorted;
use super::touched_sessions::TouchedSessions;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::core::operator::pace::Emission;
use crate::core::operator::window_operator::Closing;
use crate::core::sort::pick;
use crate::core::window::{Extent, Horizon};
use crate::state::page::{PageId, PageName, broken};
use crate::state::segment_table::place;
use crate::state::sorted_windows::SortedWindows;
use crate::state::stored_run::{ChangedPages, StoredRun, WindowStatistics};
use crate::state::stored_windows::StoredWindows;
use crate::state::touched::Touched;

/// A session before the micro-batch.
pub(super) struct StoredSession {
    pub extent: Extent,
    /// `None` if the state had another layout.
    page: Option<PageId>,
    /// The session to which it belongs now.
    pub slot: Slot,
}

/// Sessions that close before the records of a micro-batch.
pub(super) struct HiddenSessions {
    pub sessions: SessionColumns,
    pub slots: Vec<Slot>,
    /// The last emission of each slot. Empty if updates have no pace.
    pub emissions: Vec<Emission>,
}

/// The stored sessions that were read, joined with the sessions of the micro-batch.
pub(super) struct JoinedSessions {
    pub sessions: SessionColumns,
    /// Whether the micro-batch adds to each session.
    pub is_changed: Vec<bool>,
    pub stored: Vec<StoredSession>,
    /// The last emission of each stored session, later of each session. Empty if updates have no
    /// pace.
    pub emissions: Vec<Emission>,
    /// The sessions that the micro-batch leaves as they are, by page.
    pub untouched: Vec<StoredWindows>,
    /// In a state of another layout, the sessions that a smaller grace closes. Nothing joins them.
    pub hidden: Option<HiddenSessions>,
    /// The number of late records.
    pub late: u64,
}

/// The pages that a micro-batch needs at this horizon: runs to which its keys belong, and runs in
/// which a session closes or leaves.
pub(super) fn needed(
    shard: &ShardState,
    incoming: &Incoming,
    after: Horizon,
) -> Result<BTreeSet<PageName>> {
    let keys: Vec<KeyId> = incoming.sessions.key_ids();
    let table = &shard.snapshot.table;
    let closing = Closing {
        due: after.close,
        kept: after.kept,
        emitted: shard.clock.last_due(),
    };
    let mut touched = Touched::new(table, closing);
    let mut add = |key: &[u8]| touched.add(key);
    each_sort_key(&shard.sort_keys, &incoming.sessions, &keys, &mut add)?;
    Ok(touched.names())
}

/// Joins the micro-batch with the stored pages. `before` is the horizon that its records see.
pub(super) fn join(
    shard: &ShardState,
    incoming: &mut Incoming,
    before: Horizon,
    pages: Vec<StoredWindows>,
) -> Result<JoinedSessions> {
    let interrupt = &shard.interrupt;
    let partials = incoming.sessions.coalesce(interrupt)?;
    let (mut stored, mut untouched, mut hidden) = (Vec::new(), Vec::new(), None);
    let mut spans = Spans::default();
    let is_foreign = !shard.snapshot.foreign.is_empty();
    // At a pace, sessions without new records can leave too.
    let touched = (!is_foreign && shard.clock.every.is_none())
        .then(|| TouchedSessions::new(&shard.query, incoming, shard.clock.horizon()))
        .transpose()?;
    let (mut emissions, mut foreign_slots) = (Vec::new(), Vec::new());
    for page in pages {
        interrupt.check()?;
        let page = match &touched {
            Some(touched) => {
                let [page, others] = touched.split(&page)?;
                untouched.push(others);
                page
            }
            None => page,
        };
        let slots = incoming.sessions.add_partials(&page.partials()?)?;
        if shard.clock.every.is_some() {
            emissions.extend(page.emissions()?);
        }
        if is_foreign {
            foreign_slots.extend(slots);
            continue;
        }
        let extents = page.extents()?;
        if incoming.behind.is_some() {
            spans.keys.extend(incoming.sessions.intern(page.keys())?);
            spans.extents.extend(&extents);
        }
        let own = extents.into_iter().zip(slots);
        stored.extend(own.map(|(extent, slot)| StoredSession {
            extent,
            page: Some(page.name.id),
            slot,
        }));
    }
    if is_foreign {
        let whole = incoming.sessions.coalesce(interrupt)?;
        let slots = Slot::below(whole.extents.len())?.into_iter();
        let extent = |slot: &Slot| whole.extents.get(slot.0 as usize).copied();
        let is_visible = |slot: &Slot| extent(slot).is_some_and(|own| own.is_visible(before));
        let (visible, others): (Vec<Slot>, Vec<Slot>) = slots.partition(is_visible);
        let of_slots = foreign_slots.into_iter().map(|slot| whole.slot(slot));
        let mut by_slot: BTreeMap<Slot, Emission> = of_slots.zip(emissions).collect();
        let mut own = |slots: &[Slot]| {
            let own = slots.iter().filter_map(|slot| by_slot.remove(slot));
            own.collect::<Vec<_>>()
        };
        emissions = own(&visible);
        let hidden_emissions = own(&others);
        spans = Spans {
            keys: pick(&whole.keys, Slot::numbers(&visible))?,
            extents: pick(&whole.extents, Slot::numbers(&visible))?,
        };
        let slots = incoming.sessions.add_sessions(&whole, &visible)?;
        let own = spans.extents.iter().zip(slots);
        stored.extend(own.map(|(&extent, slot)| StoredSession {
            extent,
            page: None,
            slot,
        }));
        hidden = Some(HiddenSessions {
            sessions: whole,
            slots: others,
            emissions: hidden_emissions,
        });
    }
    if shard.clock.every.is_some() && emissions.len() != stored.len() {
        return Err(broken("the emission of a session is missing"));
    }
    let (mut changed, late) = incoming.judge(&[&spans], before.close, interrupt)?;
    let all = Slot::below(partials.extents.len())?;
    changed.extend(incoming.sessions.add_sessions(&partials, &all)?);
    let joined = incoming.sessions.coalesce(interrupt)?;
    for session in &mut stored {
        session.slot = joined.slot(session.slot);
    }
    let mut is_changed = vec![false; joined.extents.len()];
    for slot in changed {
        if let Some(is_changed) = is_changed.get_mut(joined.slot(slot).0 as usize) {
            *is_changed = true;
        }
    }
    Ok(JoinedSessions {
        sessions: joined,
        is_changed,
        stored,
        emissions,
        untouched,
        hidden,
        late,
    })
}

/// The sessions of a segment, by run.
#[derive(Default)]
struct SegmentRows<'p> {
    /// The runs in which a session has changed or left.
    changed_runs: BTreeSet<u32>,
    /// The unchanged sessions of each run.
    stored: BTreeMap<u32, Vec<u32>>,
    /// The sessions of each run that the micro-batch leaves as they are.
    untouched: BTreeMap<u32, Vec<&'p StoredWindows>>,
    /// Sessions that are new in the segment or changed.
    changed: Vec<u32>,
}

/// Rewrites the runs in which a session has changed or left, after `shard` closes due sessions.
/// `table` knows the keys of sessions.
pub(super) fn write(
    shard: &mut ShardState,
    table: &SessionTable,
    joined: &JoinedSessions,
) -> Result<ChangedPages> {
    let after = shard.clock.horizon();
    let JoinedSessions {
        sessions,
        is_changed,
        stored,
        emissions,
        untouched,
        ..
    } = joined;
    let mut segments = BTreeMap::<i64, SegmentRows<'_>>::new();
    for page in untouched {
        let PageId { segment, run, .. } = page.name.id;
        let own = segments.entry(segment).or_default();
        own.untouched.entry(run).or_default().push(page);
    }
    let mut is_new: Vec<bool> = vec![true; sessions.extents.len()];
    for session in stored {
        let Some(page) = session.page else { continue };
        let row = session.slot.0;
        let own = segments.entry(page.segment).or_default();
        if is_changed.get(row as usize) == Some(&true) || !session.extent.is_visible(after) {
            own.changed_runs.insert(page.run);
        } else {
            own.stored.entry(page.run).or_default().push(row);
            if let Some(is_new) = is_new.get_mut(row as usize) {
                *is_new = false;
            }
        }
    }
    let each = sessions.extents.iter().zip(shard.segments_of(sessions));
    for ((row, (extent, segment)), is_new) in (0..).zip(each).zip(is_new) {
        if is_new && extent.is_visible(after) {
            segments.entry(segment).or_default().changed.push(row);
        }
    }
    let mut changed = ChangedPages::new();
    for (segment, rows) in segments {
        shard.interrupt.check()?;
        write_segment(
            shard,
            table,
            (sessions, emissions),
            segment,
            rows,
            &mut changed,
        )?;
    }
    Ok(changed)
}

fn write_segment(
    shard: &mut ShardState,
    table: &SessionTable,
    (sessions, emissions): (&SessionColumns, &[Emission]),
    segment: i64,
    rows: SegmentRows<'_>,
    changed: &mut ChangedPages,
) -> Result<()> {
    let runs = shard.snapshot.table.segment(segment);
    let numbers: Vec<u32> = runs.iter().map(|run| run.number).collect();
    let has_changed = |number: &u32| rows.changed_runs.contains(number);
    let mut is_changed: Vec<bool> = numbers.iter().map(has_changed).collect();
    let mut places = Vec::with_capacity(rows.changed.len());
    let keys: Vec<KeyId> = pick(&sessions.keys, &rows.changed)?;
    each_sort_key(&shard.sort_keys, table, &keys, |key| {
        places.push(place(runs, key));
        ControlFlow::Continue(())
    })?;
    for &place in &places {
        if let Some(is_changed) = is_changed.get_mut(place) {
            *is_changed = true;
        }
    }
    shard.snapshot.check_read(segment, &is_changed)?;
    update_statistics(shard, sessions, segment, &rows, &is_changed)?;
    if rows.changed.is_empty() && !is_changed.contains(&true) {
        return Ok(());
    }
    let fingerprint = shard.snapshot.fingerprint.hash.clone();
    let (sort_keys, writer) = (&shard.sort_keys, shard.writer(&fingerprint));
    let runs = &mut shard.snapshot.table;
    runs.rewrite(segment, &is_changed, &writer, changed, |group, _| {
        let runs = numbers.get(group.clone()).unwrap_or_default().iter();
        let pages = runs.clone().filter_map(|number| rows.untouched.get(number));
        let own = runs.filter_map(|number| rows.stored.get(number)).flatten();
        let new = rows.changed.iter().zip(&places);
        // Without runs, all sessions go to the only place.
        let is_own = |place: &usize| group.contains(place) || numbers.is_empty();
        let new = new.filter(|(_, place)| is_own(place)).map(|(row, _)| row);
        let own: Vec<u32> = own.chain(new).copied().collect();
        let mut parts = sorted(sort_keys, table, sessions, emissions, &own)?;
        for page in pages.flatten().filter(|page| page.len() > 0) {
            parts.push(SortedWindows::of_page(sort_keys, page)?);
        }
        SortedWindows::merge(parts)
    })
}

/// Updates the statistics of runs in which a session has closed but is kept.
fn update_statistics(
    shard: &mut ShardState,
    sessions: &SessionColumns,
    segment: i64,
    rows: &SegmentRows<'_>,
    is_changed: &[bool],
) -> Result<()> {
    let after = shard.clock.horizon();
    let runs = shard.snapshot.table.segment(segment).iter().enumerate();
    let changes = |run: &StoredRun| run.windows.change_before(after.close, after.kept);
    let updated = runs.filter_map(|(place, run)| {
        let own = rows.stored.get(&run.number)?;
        let is_updated = changes(run) && is_changed.get(place) == Some(&false);
        is_updated.then(|| {
            let mut extents: Vec<Extent> = pick(&sessions.extents, own)?;
            for page in rows.untouched.get(&run.number).into_iter().flatten() {
                extents.extend(page.extents()?);
            }
            let statistics = WindowStatistics::of(&extents, after.close);
            Ok((place, statistics.waiting_like(&run.windows)))
        })
    });
    for (place, windows) in updated.collect::<Result<Vec<_>>>()? {
        shard.snapshot.table.set_statistics(segment, place, windows);
    }
    Ok(())
}
