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
//! With the sessions it joins, such a record reaches at least its own time: it is in time, and they
//! are open. So no session that such records join closes before the last of them, none of them
//! meets a closed session, also not one that is still visible, and their order does not matter.

use super::session_operator::{SessionOperator, deleted};
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::operator::change::{Emit, Sink, WindowUpdate};
use crate::core::store::{SessionEntry, StoreKey};
use crate::core::window::{Extent, Window};

/// Updates of sessions whose states are still to be merged. A session that a partial one has made,
/// and the next one of its key goes on with, leaves none.
#[derive(Debug, Default)]
pub struct PendingUpdates(Vec<WindowUpdate>);

impl PendingUpdates {
    /// The sessions `before` of a key have become one, in a slot.
    fn push(
        &mut self,
        key: StoreKey,
        before: impl Iterator<Item = Window> + Clone,
        window: Window,
        slot: Slot,
    ) {
        let goes_on = |last: &mut WindowUpdate| {
            let mut before = before.clone();
            last.key == key && last.slot.is_some() && before.any(|before| before == last.window)
        };
        let last = self.0.pop_if(goes_on);
        // Whether a window was stored before the first of these updates.
        let known = |window: Window| match &last {
            Some(last) if last.window == window => last.known,
            _ => before.clone().any(|before| before == window),
        };
        let gone = before.clone().filter(|&gone| gone != window && known(gone));
        self.0.extend(gone.map(|gone| deleted(key, gone)));
        self.0.push(WindowUpdate {
            key,
            window,
            time: window.end,
            slot: Some(slot),
            known: known(window),
        });
    }
}

impl SessionOperator {
    /// Joins a partial session with the stored ones: the slot into which its states are still to be
    /// merged. The partial sessions of a key come in the order of their starts, no two of them join,
    /// and none of their records was behind.
    ///
    /// ```text
    ///   stored       ├─x──────x─┤····   ├x┤····
    ///   partial    ├xx┤····  ├x─x─┤····           the second joins the result of the first: its slot stays
    /// ```
    ///
    /// # Errors
    ///
    /// What `states` returns.
    pub fn join<S: States>(
        &mut self,
        key: StoreKey,
        partial: Extent,
        states: &mut S,
        updates: &mut PendingUpdates,
        out: &mut impl Sink<S>,
    ) -> Result<Slot> {
        let mut found = std::mem::take(&mut self.scratch);
        self.store.joining(key, partial, &mut found);
        let extent = found
            .iter()
            .fold(partial, |merged, session| merged.union(&session.extent));
        let window = extent.window();
        let slot = self.merge_found(key, &found, window, states)?;
        self.replace_oldest(key, &found, SessionEntry { extent, slot }, states, out)?;
        if self.windows.emit == Emit::Update {
            updates.push(key, found.iter().map(SessionEntry::window), window, slot);
        }
        self.scratch = found;
        Ok(slot)
    }

    /// Emits the updates, once the states are merged.
    ///
    /// # Errors
    ///
    /// What `out` returns.
    pub fn emit_updates<S: States>(
        &mut self,
        updates: PendingUpdates,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        updates
            .0
            .into_iter()
            .try_for_each(|update| self.emit_update(update, states, out))
    }
}
