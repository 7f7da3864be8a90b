//! Adds many records to the stored sessions at once. Merges once per partial session instead of
//! once per record.
//!
//! All records must arrive in time: none is before the close time of its own input (rules 2.6).
//!
//! ```text
//!   time of the record >= close time of its input >= close time that closes
//! ```
//!
//! Merged with the sessions it joins, such a record reaches at least its own time. So the record is
//! not late, and the sessions are open. No session that such records join closes before the last of
//! them. None of the records meets a closed session, not even one that is still visible. So their
//! order does not matter.

use super::session_operator::{SessionOperator, deleted};
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::operator::change::{Emit, Sink, WindowUpdate};
use crate::core::store::{SessionEntry, StoreKey};
use crate::core::window::{Extent, Window};

/// Updates of sessions whose states are not merged yet. If a later partial session of the same key
/// extends a session, only the last update remains.
#[derive(Debug, Default)]
pub struct PendingUpdates(Vec<WindowUpdate>);

impl PendingUpdates {
    /// Records that the sessions `before` of a key became one session in `slot`.
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
        // Whether the window was stored before the first of these updates.
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
    /// Joins a partial session with the stored ones. Returns the slot into which the caller must
    /// merge its states. The partial sessions of a key come in order of their starts, no two of
    /// them join, and all their records arrived in time.
    ///
    /// ```text
    ///   stored       ├─x──────x─┤····   ├x┤····
    ///   partial    ├xx┤····  ├x─x─┤····      the second joins the first's result: same slot
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `states`.
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

    /// Emits the updates after the states are merged.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
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
