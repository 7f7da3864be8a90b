//! The states of many spans of elements. As in a sweep, each element is lifted at most twice, no matter how
//! many spans hold it:
//!
//! ```text
//!        from        middle        to
//!   ······├─── front ──┼─── back ───┤······
//!          suffixes     prefixes
//! ```

use super::RowSpan;
use super::accumulators::Accumulators;
use super::slot::Slot;
use crate::core::error::Result;

/// Combines spans of `elements` elements into slots of `states`, in the order of elements. `spans`, in
/// ascending order, and `into` are parallel. `lift` combines an element into the slot of its number.
pub(crate) fn merge_spans(
    states: &mut Accumulators,
    elements: usize,
    spans: &[RowSpan],
    into: &[Slot],
    mut lift: impl FnMut(&mut Accumulators, u32) -> Result<()>,
) -> Result<()> {
    let (mut fronts, mut backs) = (states.fresh(), states.fresh());
    fronts.resize(elements);
    backs.resize(elements);
    let (mut into_fronts, mut into_backs) = (Vec::new(), Vec::new());
    let (mut front_slots, mut back_slots) = (Vec::new(), Vec::new());
    let (mut middle, mut right) = (0, 0);
    for (&RowSpan { from, to }, &slot) in spans
        .iter()
        .zip(into)
        .filter(|(span, _)| span.from < span.to)
    {
        if from >= middle {
            for element in (from..to).rev() {
                lift(&mut fronts, element)?;
                if element + 1 < to {
                    fronts.absorb(Slot(element), Slot(element + 1));
                }
            }
            (middle, right) = (to, to);
        }
        for element in right..to {
            if element > middle {
                backs.copy(Slot(element), Slot(element - 1));
            }
            lift(&mut backs, element)?;
        }
        right = right.max(to);
        into_fronts.push(slot);
        front_slots.push(Slot(from));
        if to > middle {
            into_backs.push(slot);
            back_slots.push(Slot(to - 1));
        }
    }
    states.merge(&into_fronts, &fronts, &front_slots)?;
    states.merge(&into_backs, &backs, &back_slots)
}
