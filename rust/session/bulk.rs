//! Many records into the stored sessions at once: one merge for each partial session, not one for
//! each record.
//!
//! Only for records that are not behind when they arrive: not before the close time of their own
//! input (rules 2.6).
//!
//! ```text
//!   time of the record >= close time of its input >= close time that closes
//! ```
//!
//! With what it joins, such a record reaches at least its own time: it is in time, and what it
//! joins is open. So no session that such records join closes before the last of them, none of them
//! meets a closed session, also not one that is kept visible, and their order does not matter.

use super::record::SessionOperator;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::Result;
use crate::operator::change::{Emit, Sink};
use crate::operator::window_operator::Changed;
use crate::store::{SessionEntry, StoreKey};
use crate::window::Extent;

/// A partial session: records of one key that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Partial {
    /// Its key.
    pub key: StoreKey,
    /// Its bounds and its reach.
    pub extent: Extent,
}

/// What became of partial sessions.
#[derive(Debug, Default)]
pub struct Joined {
    /// The slot of the stored session that each of them is in. Their states are still to be merged
    /// into it.
    pub into: Vec<Slot>,
    changes: Vec<Changed>,
}

impl SessionOperator {
    /// Joins partial sessions with the stored ones. They are in the order of their starts for each
    /// key, no two of them join, and none of their records was behind.
    ///
    /// ```text
    ///   stored       ├─x──────x─┤····   ├x┤····
    ///   partial    ├xx┤····  ├x─x─┤····           the second joins what the first one has made: its slot stays
    /// ```
    pub fn join<S: States>(&mut self, partials: &[Partial], states: &mut S) -> Result<Joined> {
        let mut joined = Joined {
            into: Vec::with_capacity(partials.len()),
            changes: Vec::new(),
        };
        let mut found = std::mem::take(&mut self.scratch);
        for &Partial { key, extent } in partials {
            self.store
                .joining(key, extent, self.windows.gap.longest(), &mut found);
            let extent = found
                .iter()
                .fold(extent, |merged, session| merged.union(&session.extent));
            joined.into.push(self.replace_found(
                key,
                extent,
                &found,
                states,
                &mut joined.changes,
            )?);
        }
        self.scratch = found;
        Ok(joined)
    }

    /// One session in the stead of the found ones.
    fn replace_found<S: States>(
        &mut self,
        key: StoreKey,
        extent: Extent,
        found: &[SessionEntry],
        states: &mut S,
        changes: &mut Vec<Changed>,
    ) -> Result<Slot> {
        let window = extent.window();
        let slot = self.gather(key, found, window, states)?;
        self.put(key, found, SessionEntry { extent, slot }, states);
        if self.windows.emit == Emit::Update {
            let stood = found.iter().map(SessionEntry::window);
            let known = stood.clone().any(|stood| stood == window);
            let gone = stood.filter(|stood| *stood != window);
            changes.extend(gone.map(|window| Changed {
                key,
                window,
                time: window.end,
                slot: None,
                known: true,
            }));
            changes.push(Changed {
                key,
                window,
                time: window.end,
                slot: Some(slot),
                known,
            });
        }
        Ok(slot)
    }

    /// Emits what has changed, once the states are merged.
    pub fn tell<S: States>(
        &mut self,
        joined: Joined,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        joined
            .changes
            .into_iter()
            .try_for_each(|changed| self.changed(changed, states, out))
    }
}
