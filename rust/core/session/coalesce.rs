//! Joins the partial sessions of a key that touch each other, in one sweep over their starts.
//!
//! ```text
//!   partial sessions of a key, by start     ├──┤·····       ├─┤·····
//!                                              ├─┤·····           (· the reach of each)
//!   sessions                                ├────┤          ├─┤
//! ```

use crate::core::aggregate::slot::{PerSlot, Slot};
use crate::core::error::Result;
use crate::core::interrupt::{Interrupt, STRETCH};
use crate::core::key::KeyId;
use crate::core::sort::SortedRows;
use crate::core::time::Time;
use crate::core::window::Extent;

/// Sessions. No two sessions of a key join.
#[derive(Debug)]
pub struct CoalescedSessions {
    /// The new slot of each old slot. `None` if there was nothing to join.
    pub moves: Option<Vec<Slot>>,
    /// The key of each session.
    pub keys: Vec<KeyId>,
    /// The extent of each session.
    pub extents: Vec<Extent>,
}

impl CoalescedSessions {
    /// The extent of the session to which a partial session belongs, by its old slot.
    pub fn extent_of(&self, partial: Slot) -> Option<&Extent> {
        let session = match &self.moves {
            Some(moves) => *moves.get(partial.0 as usize)?,
            None => partial,
        };
        self.extents.get(session.0 as usize)
    }
}

/// Joins partial sessions that touch each other. Those of a clean key never do.
pub(super) fn coalesce(
    keys: Vec<KeyId>,
    mut extents: PerSlot<Extent>,
    is_dirty: impl Fn(&KeyId) -> bool,
    interrupt: &Interrupt,
) -> Result<CoalescedSessions> {
    let dirty: Vec<Slot> = keys
        .iter()
        .enumerate()
        .filter(|(_, key)| is_dirty(key))
        .map(|(slot, _)| Slot(slot as u32))
        .collect();
    let dirty_keys: Vec<KeyId> = keys.iter().copied().filter(is_dirty).collect();
    let starts: Vec<Time> = dirty.iter().map(|&slot| extents[slot].start).collect();

    // Each joined slot points to the first slot of its session, by start.
    let mut root = PerSlot((0..keys.len() as u32).map(Slot).collect::<Vec<_>>());
    let mut done = 0;
    for (_, rows) in SortedRows::new(&dirty_keys, &starts, interrupt)?.by_key() {
        let mut last: Option<Slot> = None;
        for rows in rows.chunks(STRETCH) {
            interrupt.check_rows(done..done + rows.len())?;
            done += rows.len();
            let slots = rows.iter().map(|&(_, row)| dirty.get(row as usize));
            for &slot in slots.flatten() {
                match last {
                    Some(into) if extents[into].joins(&extents[slot]) => {
                        extents[into] = extents[into].union(&extents[slot]);
                        root[slot] = into;
                    }
                    _ => last = Some(slot),
                }
            }
        }
    }
    let mut renumbered = PerSlot(vec![Slot(0); keys.len()]);
    let (mut new_keys, mut new_extents) = (Vec::new(), Vec::new());
    interrupt.check()?;
    for (slot, &key) in (0..).map(Slot).zip(&keys) {
        if root[slot] == slot {
            renumbered[slot] = Slot(new_keys.len() as u32);
            new_keys.push(key);
            new_extents.push(extents[slot]);
        }
    }
    let moves = root.0.iter().map(|&root| renumbered[root]).collect();
    Ok(CoalescedSessions {
        moves: Some(moves),
        keys: new_keys,
        extents: new_extents,
    })
}
