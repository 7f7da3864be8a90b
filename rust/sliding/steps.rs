//! Decides what a record does to the windows around it. Nothing here has an effect.
//!
//! The order of the steps is Kafka's order of emission. Whether a window still takes the record is
//! judged when the step is applied, each window for itself (rules 4.3).

use super::plan::Sliding;
use crate::store::WindowEntry;
use crate::time::Time;
use crate::window::Window;

/// One thing that happens to one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The stored window takes the record.
    Update(Time),
    /// A new window takes the record, on top of what another window holds.
    Create {
        /// Its start.
        start: Time,
        /// The start of the other window; none: of nothing.
        base: Option<Time>,
    },
    /// A new window holds what another one held before this record.
    Copy {
        /// Its start.
        start: Time,
        /// The start of the other window.
        base: Time,
    },
}

/// The starts of windows that a record at `time`, floored, needs to see, both inclusive.
/// Windows on the other side of 1970 are none of its business (rules 4.2).
pub fn around(time: Time, sliding: Sliding) -> (Time, Time) {
    let (first, last) = (time.saturating_sub(sliding.difference.saturating_mul(2)), time.saturating_add(sliding.resolution));
    if time >= Time(0) { (first.max(Time(0)), last) } else { (first, last.min(Time(-1))) }
}

/// The steps of a record at `time`, floored. `found` are the windows of [`around`], latest first;
/// `own` is the window of the record alone.
pub fn decide(time: Time, own: Window, found: &[WindowEntry], sliding: Sliding, steps: &mut Vec<Step>) {
    steps.clear();
    if time >= Time(0) && own.start == Time(0) && own.end > time {
        early(time, found, sliding, steps)
    } else {
        main(time, own, found, sliding, steps)
    }
}

/// Whether `found`, latest first, has a window with this start.
fn has(found: &[WindowEntry], start: Time) -> bool {
    found.binary_search_by(|window| start.cmp(&window.start)).is_ok()
}

/// The largest record time of a window, floored.
fn largest(window: &WindowEntry, sliding: Sliding) -> Time {
    window.largest.floor(sliding.resolution).unwrap_or(Time::MIN)
}

/// The window that starts just after a record.
fn right_of(time: Time, sliding: Sliding) -> Option<Time> {
    time.checked_add(sliding.resolution)
}

/// ```text
///   left of `own`    own.start                time
///   ├────x─────p──────┤  ╎                     ╎
///                        ├─── own, left ───────t
///               ├ p's right ─────┤             ╎
///                           ├── covers it ─────────x──┤
///                                               ├── its right ───────┤
/// ```
fn main(time: Time, own: Window, found: &[WindowEntry], sliding: Sliding, steps: &mut Vec<Step>) {
    let (mut left, mut previous, mut covering) = (None, None, None);
    let (mut has_own, mut has_right) = (false, false);
    for window in found {
        if window.start > time {
            has_right = true;
        } else if window.start > own.start {
            covering = covering.or(Some(window));
            steps.push(Step::Update(window.start));
        } else if window.start == own.start {
            has_own = true;
            steps.push(Step::Update(window.start));
            let largest = largest(window, sliding);
            if largest >= time {
                return;
            }
            previous = Some(largest);
        } else {
            left = Some(window.start);
            previous = Some(largest(window, sliding));
            break;
        }
    }
    let after_previous = previous.and_then(|previous| right_of(previous, sliding));
    if let Some(start) = after_previous.filter(|&start| start >= own.start && !has(found, start)) {
        steps.push(Step::Create { start, base: None });
    }
    if !has_own {
        let base = left.filter(|_| previous.is_some_and(|previous| previous >= own.start));
        steps.push(Step::Create { start: own.start, base });
    }
    copy_right(time, has_right, covering, sliding, steps);
}

/// ```text
///   0          time       difference
///   ├───p────────t──────x─────┤ own: holds all early records
///        ├ p's right ─────────────┤
///                 ├── its right ───────────┤
/// ```
fn early(time: Time, found: &[WindowEntry], sliding: Sliding, steps: &mut Vec<Step>) {
    let own = found.last().filter(|window| window.start == Time(0));
    let has_right = found.first().is_some_and(|window| window.start > time);
    let covering = found.iter().find(|window| window.start <= time);
    let others = found.iter().rev().filter(|window| window.start > Time(0) && window.start <= time);
    steps.extend(others.map(|window| Step::Update(window.start)));
    copy_right(time, has_right, covering, sliding, steps);
    let previous = own.map(|own| largest(own, sliding)).filter(|&largest| largest < time);
    let after_previous = previous.and_then(|previous| right_of(previous, sliding));
    if let Some(start) = after_previous.filter(|&start| !has(found, start)) {
        steps.push(Step::Create { start, base: None });
    }
    steps.push(if own.is_some() { Step::Update(Time(0)) } else { Step::Create { start: Time(0), base: None } });
}

/// The record's own right window holds what the latest window around the record held after it.
fn copy_right(time: Time, has_right: bool, covering: Option<&WindowEntry>, sliding: Sliding, steps: &mut Vec<Step>) {
    let after = covering.filter(|window| !has_right && largest(window, sliding) > time);
    if let (Some(covering), Some(start)) = (after, right_of(time, sliding)) {
        steps.push(Step::Copy { start, base: covering.start });
    }
}
