//! The pace of updates of whole sessions (rules 6.12): which sessions leave after a micro-batch, and
//! what a sink has of the others.

use super::clock::ShardClock;
use super::session_changes::SessionChanges;
use crate::batch::session_groups::SessionColumns;
use crate::core::aggregate::slot::Slot;
use crate::core::operator::pace::{Emission, NEVER};
use crate::core::window::Window;

/// Finds the sessions that leave: new ones, changed ones that were not emitted lately, and those that
/// close while a change of them waits. `stored` has the sessions before the micro-batch: the session
/// to which each belongs now, its window and its last emission. Marks sessions that leave as changed.
/// Returns their changes, and the last emission of each session.
pub(super) fn leaving(
    clock: &ShardClock,
    sessions: &SessionColumns,
    is_changed: &mut [bool],
    stored: impl Iterator<Item = (Slot, Window, Emission)>,
) -> (SessionChanges, Vec<Emission>) {
    let mut emissions: Vec<Option<Emission>> = vec![None; sessions.extents.len()];
    for (slot, window, emission) in stored {
        let place = slot.0 as usize;
        let emission = match is_changed.get(place) {
            Some(true) => emission.changed(window),
            _ => emission,
        };
        if let Some(whole) = emissions.get_mut(place) {
            *whole = Some(match whole.take() {
                Some(part) => part.merged(emission),
                None => emission,
            });
        }
    }
    let (now, due) = (clock.time(), clock.last_due());
    let (mut gone, mut changed) = (Vec::new(), Vec::new());
    let each = sessions.extents.iter().zip(&mut *is_changed);
    let each = (0..).map(Slot).zip(emissions).zip(each);
    let emissions = each.map(|((slot, emission), (extent, is_changed))| {
        let leaves = match emission.as_ref().map(Emission::waiting) {
            Some(Some(time)) => due.is_some_and(|due| time <= due) || clock.closes(extent),
            Some(None) => false,
            None => *is_changed,
        };
        if !leaves {
            return emission.unwrap_or_else(|| NEVER.clone());
        }
        *is_changed = true;
        changed.push(slot);
        let replaced = emission
            .and_then(|emission| emission.replaced)
            .unwrap_or_default();
        let others = replaced.without(extent.window());
        gone.extend(others.as_slice().iter().map(|&window| (slot, window)));
        Emission::at(now)
    });
    let emissions = emissions.collect();
    let changes = SessionChanges::of(sessions, gone, changed.into_iter());
    (changes, emissions)
}
