//! The two ways of a batch into windows: the records of most keys together, those of the others one by one.
//!
//! ```text
//!   records ─▶ admitted, each ─┬▶ keys without a record behind ─▶ sessions: partial ones, joined ──────────┐
//!              judged by its   │                                  sliding: each window's records, merged ─┼▶ close
//!              own time        └▶ keys with a record behind ───▶ add, in their order ─────────────────────┘
//! ```
//!
//! A record is behind before the close time of its input: only then its order matters (`session/join.rs`,
//! `sliding/join.rs`).

use super::changes::Changes;
use super::states::Worked;
use crate::aggregate::Run;
use crate::aggregate::slot::Slot;
use crate::arrow::plan::query::Query;
use crate::arrow::read::events::{Event, Feed, SOURCE};
use crate::error::Result;
use crate::key::KeyId;
use crate::operator::window_operator::{Admitted, Kind, World};
use crate::session::batch;
use crate::session::bulk::Partial;
use crate::session::record::Sessions;
use crate::session::windows::Rule as SessionRule;
use crate::sliding::record::Slides;
use crate::sliding::windows::Rule as SlidingRule;
use crate::sort::Sorted;
use crate::time::{Span, Time};

/// A record that came in, and the number of its key.
pub(crate) type Numbered<'a> = (KeyId, Admitted<'a, u32>);

/// Windows into which records may be joined many at once.
pub(crate) trait Joins: Kind {
    /// Joins the records of the keys that are not among `alone`, and adds to these the keys that have to go one by one.
    fn join(
        world: &mut World<Self>,
        feed: &Feed,
        records: &[Numbered<'_>],
        alone: &mut Alone,
        states: &mut Worked<'_>,
        out: &mut Changes,
    ) -> Result<()>;
}

/// The keys whose records go one by one.
pub(crate) struct Alone(Vec<bool>);

impl Alone {
    fn add(&mut self, key: KeyId) {
        if let Some(alone) = self.0.get_mut(key.0 as usize) {
            *alone = true;
        }
    }

    fn has(&self, key: KeyId) -> bool {
        self.0.get(key.0 as usize).copied().unwrap_or_default()
    }
}

/// Takes the rows of a batch whose keys are numbered.
pub(crate) fn take<K: Joins>(world: &mut World<K>, feed: &Feed, query: &Query, states: &mut Worked<'_>, out: &mut Changes) -> Result<()> {
    let mut records: Vec<Numbered<'_>> = Vec::with_capacity(feed.rows());
    let mut alone = Alone(vec![false; feed.ids().len()]);
    for (row, &key) in feed.ids().iter().enumerate() {
        match feed.event(row, query)? {
            Event::Tick { input, time } => world.hear(input, Some(SOURCE), time),
            Event::Record(record) => {
                if let Ok(record) = world.admit(record) {
                    if record.is_behind() {
                        alone.add(key);
                    }
                    records.push((key, record));
                }
            }
        }
    }
    K::join(world, feed, &records, &mut alone, states, out)?;
    // What the joined records' windows hold already does not matter: they close when they would have closed.
    for &(_, record) in records.iter().filter(|(key, _)| alone.has(*key)) {
        // The time of a record that is behind had come before it. Any other meets nothing that its own time closes.
        world.close(record.now, states, out)?;
        world.add(record, states, out)?;
    }
    world.close(world.time().slowest(), states, out)
}

impl Joins for SlidingRule {
    fn join(
        slides: &mut Slides,
        feed: &Feed,
        records: &[Numbered<'_>],
        alone: &mut Alone,
        states: &mut Worked<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        let joined = || records.iter().filter(|(key, _)| !alone.has(*key)).map(|&(key, record)| (key, record));
        let (keys, times): (Vec<KeyId>, Vec<Time>) = joined().map(|(key, record)| (key, record.time)).unzip();
        let numbers: Vec<u32> = joined().map(|(_, record)| record.row).collect();
        let (mut rows, mut taking) = (Vec::with_capacity(keys.len()), Vec::new());
        for (number, records) in Sorted::new(&keys, &times).by_key() {
            let key = slides.store_mut().intern(feed.name_of(number).unwrap_or_default())?;
            if slides.join(key, records, rows.len() as u32, states, &mut taking)? {
                rows.extend(records.iter().filter_map(|&(_, record)| numbers.get(record as usize).copied()));
            } else {
                alone.add(number);
            }
        }
        let into: Vec<Slot> = taking.iter().map(|taking| taking.into).collect();
        let runs: Vec<Run> = taking.iter().map(|taking| taking.run).collect();
        states.banked().merge_runs(&rows, &runs, &into)?;
        slides.tell(taking, states, out)
    }
}

impl Joins for SessionRule {
    fn join(
        sessions: &mut Sessions,
        feed: &Feed,
        records: &[Numbered<'_>],
        alone: &mut Alone,
        states: &mut Worked<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        join_sessions(sessions, feed, records.iter().filter(|(key, _)| !alone.has(*key)), states, out)
    }
}

/// Joins records, none of them behind, with the stored sessions.
fn join_sessions<'r, 'a: 'r>(
    sessions: &mut Sessions,
    feed: &Feed,
    records: impl Iterator<Item = &'r Numbered<'a>> + Clone,
    states: &mut Worked<'_>,
    out: &mut Changes,
) -> Result<()> {
    let keys: Vec<KeyId> = records.clone().map(|(key, _)| *key).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let mut groups = batch::Sessions::default();
    let (times, gaps): (Vec<Time>, Vec<Span>) = records.clone().map(|(_, record)| (record.time, record.gap)).unzip();
    let assigned = groups.assign_own(&keys, &times, &gaps);
    // Rows that are not of this way go into one more slot, which nobody reads.
    let count = groups.len();
    let mut slots = vec![Slot(count as u32); feed.rows()];
    for ((_, record), assigned) in records.clone().zip(assigned) {
        if let Some(slot) = slots.get_mut(record.row as usize) {
            *slot = assigned;
        }
    }
    let grouped = states.banked().group(&slots, count + 1)?;
    let coalesced = groups.coalesce();

    let starts: Vec<Time> = coalesced.extents.iter().map(|extent| extent.start).collect();
    let sorted = Sorted::new(&coalesced.keys, &starts);
    let mut partials = Vec::with_capacity(starts.len());
    for (key, rows) in sorted.by_key() {
        let key = sessions.store_mut().intern(feed.name_of(key).unwrap_or_default())?;
        let extents = rows.iter().filter_map(|&(_, row)| coalesced.extents.get(row as usize));
        partials.extend(extents.map(|&extent| Partial { key, extent }));
    }
    let joined = sessions.join(&partials, states)?;

    let mut into = vec![Slot(0); partials.len()];
    for (row, &slot) in sorted.rows().zip(&joined.into) {
        if let Some(into) = into.get_mut(row as usize) {
            *into = slot;
        }
    }
    let from: Vec<Slot> = (0..count as u32).map(Slot).collect();
    let moves = coalesced.moves.as_deref().unwrap_or(&from);
    let into: Vec<Slot> = moves.iter().filter_map(|moved| into.get(moved.0 as usize).copied()).collect();
    states.banked().merge_grouped(&into, &grouped, &from)?;
    sessions.tell(joined, states, out)
}
