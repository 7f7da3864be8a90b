//! Many records into the stored sessions at once: one merge for each partial session, not one for each record.
//!
//! Only for records that are not behind when they arrive: not before the close time of their own input (rules 2.6).
//!
//! ```text
//!   time of the record >= close time of its input >= close time that closes
//! ```
//!
//! With what it joins, such a record reaches at least its own time: it is in time, and what it joins is open.
//! So no session that such records join closes before the last of them, none of them meets a closed
//! session, also not one that is kept visible, and their order does not matter.

use super::record::Sessions;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::Result;
use crate::operator::change::{Emit, Sink};
use crate::operator::world::Changed;
use crate::store::{Key, SessionEntry};
use crate::window::Extent;

/// A partial session: records of one key that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Partial {
    /// Its key.
    pub key: Key,
    /// Its bounds and its reach.
    pub extent: Extent,
}

/// What became of partial sessions.
#[derive(Debug, Default)]
pub struct Joined {
    /// The slot of the stored session that each of them is in. Their states are still to be merged into it.
    pub into: Vec<Slot>,
    changes: Vec<Changed>,
}

impl Sessions {
    /// Joins partial sessions with the stored ones. They are in the order of their starts for each key, no two of
    /// them join, and none of their records was behind.
    ///
    /// ```text
    ///   stored       ├─x──────x─┤····   ├x┤····
    ///   partial    ├xx┤····  ├x─x─┤····           two of them are in one session where a stored one joins both
    /// ```
    pub fn join<S: States>(&mut self, partials: &[Partial], states: &mut S) -> Result<Joined> {
        let mut joined = Joined { into: Vec::with_capacity(partials.len()), changes: Vec::new() };
        let longest = self.rule.gap.longest();
        let (mut found, mut more) = (std::mem::take(&mut self.scratch), Vec::new());
        let mut rest = partials.iter().peekable();
        while let Some(&Partial { key, extent }) = rest.next() {
            let merge = |extent: Extent, found: &[SessionEntry]| found.iter().fold(extent, |merged, session| merged.union(&session.extent));
            self.store.joining(key, extent, longest, &mut found);
            let mut merged = merge(extent, &found);
            let mut parts = 1;
            // Looked up by its own extent: the merged one may lie over a closed session that is kept visible.
            while let Some(next) = rest.next_if(|next| next.key == key && next.extent.joins(&merged)) {
                self.store.joining(key, next.extent, longest, &mut more);
                merged = merge(merged.union(&next.extent), &more);
                found.append(&mut more);
                parts += 1;
            }
            // The session between two partial ones was found twice.
            found.dedup();
            let slot = self.settle(key, merged, &found, states, &mut joined.changes)?;
            joined.into.extend(std::iter::repeat_n(slot, parts));
        }
        self.scratch = found;
        Ok(joined)
    }

    /// One session in the stead of the found ones.
    fn settle<S: States>(
        &mut self,
        key: Key,
        extent: Extent,
        found: &[SessionEntry],
        states: &mut S,
        changes: &mut Vec<Changed>,
    ) -> Result<Slot> {
        let window = extent.window();
        let slot = self.gather(key, found, window, states)?;
        self.put(key, found, SessionEntry { extent, slot }, states);
        if self.rule.emit == Emit::Update {
            let stood = found.iter().map(SessionEntry::window);
            let known = stood.clone().any(|stood| stood == window);
            let gone = stood.filter(|stood| *stood != window);
            changes.extend(gone.map(|window| Changed { key, window, time: window.end, slot: None, known: true }));
            changes.push(Changed { key, window, time: window.end, slot: Some(slot), known });
        }
        Ok(slot)
    }

    /// Emits what has changed, once the states are merged.
    pub fn tell<S: States>(&mut self, joined: Joined, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        joined.changes.into_iter().try_for_each(|changed| self.changed(changed, states, out))
    }
}
