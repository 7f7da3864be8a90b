//! The two ways of a batch into sessions: the records of most keys together, those of the others one by one.
//!
//! ```text
//!   records ─▶ admitted, each ─┬▶ keys without a record behind ─▶ partial sessions ─▶ join ─┐
//!              judged by its   │                                                           ├▶ close
//!              own time        └▶ keys with a record behind ───▶ add, in their order ───────┘
//! ```
//!
//! A record is behind before the close time of its input: only then its order matters (`session/join.rs`).

use super::changes::Changes;
use super::feed::{Event, Feed, SOURCE};
use super::query::Query;
use super::worked::Worked;
use crate::aggregate::slot::Slot;
use crate::error::Result;
use crate::key::KeyId;
use crate::operator::world::Admitted;
use crate::session::batch;
use crate::session::join::Partial;
use crate::session::record::Sessions;
use crate::sort::Sorted;
use crate::time::{Span, Time};

/// A record that came in, and the number of its key.
type Numbered<'a> = (KeyId, Admitted<'a, u32>);

/// Takes the rows of a batch whose keys are numbered.
pub(super) fn take(sessions: &mut Sessions, feed: &Feed, query: &Query, states: &mut Worked<'_>, out: &mut Changes) -> Result<()> {
    let mut records: Vec<Numbered<'_>> = Vec::with_capacity(feed.rows());
    let mut behind = vec![false; feed.ids().len()];
    for (row, &key) in feed.ids().iter().enumerate() {
        match feed.event(row, query)? {
            Event::Tick { input, time } => sessions.hear(input, Some(SOURCE), time),
            Event::Record(record) => {
                if let Ok(record) = sessions.admit(record) {
                    if let (true, Some(behind)) = (record.is_behind(), behind.get_mut(key.0 as usize)) {
                        *behind = true;
                    }
                    records.push((key, record));
                }
            }
        }
    }
    let is_behind = |key: KeyId| behind.get(key.0 as usize).copied().unwrap_or_default();
    join(sessions, feed, records.iter().filter(|(key, _)| !is_behind(*key)), states, out)?;
    // What the joined records' sessions hold already does not matter: they close when they would have closed.
    for &(_, record) in records.iter().filter(|(key, _)| is_behind(*key)) {
        // The time of a record that is behind had come before it. Any other meets nothing that its own time closes.
        sessions.close(record.now, states, out)?;
        sessions.add(record, states, out)?;
    }
    sessions.close(sessions.time().slowest(), states, out)
}

/// Joins records, none of them behind, with the stored sessions.
fn join<'r, 'a: 'r>(
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
