//! Adds many records to the stored sessions at once. Merges once per partial session instead of
//! once per record.
//!
//! No record may be late: none is before the close time of its own input (rules 2.6).
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
use crate::core::operator::change::{Emit, Sink, WindowChange};
use crate::core::store::{SessionEntry, StoreKey};
use crate::core::window::{Extent, Window};

/// Changes of sessions whose states are not merged yet. If a later partial session of the same key
/// extends a session, only the last change remains.
#[derive(Debug, Default)]
pub struct PendingChanges(Vec<(StoreKey, WindowChange)>);

impl PendingChanges {
    /// Records that the sessions `before` of a key became one session in `slot`.
    fn push(
        &mut self,
        key: StoreKey,
        before: impl Iterator<Item = Window> + Clone,
        window: Window,
        slot: Slot,
    ) {
        let is_extended = |(of, last): &mut (StoreKey, WindowChange)| {
            let mut before = before.clone();
            *of == key && last.slot.is_some() && before.any(|before| before == last.window)
        };
        let last = self.0.pop_if(is_extended);
        // Whether the window was stored before the first of these changes.
        let was_stored = |window: Window| match &last {
            Some((_, last)) if last.window == window => last.was_stored,
            _ => before.clone().any(|before| before == window),
        };
        let gone = before.clone();
        let gone = gone.filter(|&gone| gone != window && was_stored(gone));
        self.0.extend(gone.map(|gone| (key, deleted(gone))));
        let upsert = WindowChange::upsert(window, window.end, slot, was_stored(window));
        self.0.push((key, upsert));
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
    pub fn join<S: States>(
        &mut self,
        key: StoreKey,
        partial: Extent,
        states: &mut S,
        pending: &mut PendingChanges,
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
        if self.kind.emit == Emit::Update {
            pending.push(key, found.iter().map(SessionEntry::window), window, slot);
        }
        self.scratch = found;
        Ok(slot)
    }

    /// Emits the changes after the states are merged.
    pub fn emit_updates<S: States>(
        &mut self,
        pending: PendingChanges,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let mut changes = pending.0.into_iter();
        changes.try_for_each(|(key, change)| self.emit_update(key, change, states, out))
    }
}
