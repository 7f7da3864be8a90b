//! How far rows get through the steps of a funnel. A chain takes one row for each step, in the
//! order of time. Of the chains of one length, the one that began last has the most time left.
//!
//! ```text
//!   within 10      time    0     3     6     12    14
//!                  row     view  cart  view  cart  pay
//!   1 step  since          0     0     6     6     6
//!   2 steps since                0     0     6     6
//!   3 steps since                                  6       the chain of 0 has no time left at 12
//! ```

use std::ops::Range;

use crate::core::aggregate::SeqNo;
use crate::core::time::Time;

/// The largest number of steps.
pub(crate) const MOST_STEPS: usize = 32;

/// A row, and the steps that it fits: the lowest bit is the first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepRow {
    pub time: Time,
    pub tie: SeqNo,
    pub steps: u32,
}

impl StepRow {
    /// The order of rows: by time and tie; at one of these rows that fit no step, then by the first
    /// step that they fit.
    pub(crate) fn rank(&self) -> (Time, SeqNo, u32, u32) {
        let first = match self.steps {
            0 => 0,
            steps => steps.trailing_zeros() + 1,
        };
        (self.time, self.tie, first, self.steps)
    }
}

/// What a funnel asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunnelRules {
    /// How many steps there are.
    pub steps: usize,
    /// The longest time from the first step to the last one, in ticks.
    pub within: i64,
    /// Whether a row that cannot be a step ends the funnel once it has begun.
    pub strict: bool,
}

impl FunnelRules {
    /// How many steps the rows get through. They are in the order of their ranks.
    pub(crate) fn reached(&self, rows: &[StepRow]) -> usize {
        let mut chains = Chains::default();
        for at_once in rows.chunk_by(|left, right| (left.time, left.tie) == (right.time, right.tie))
        {
            let fits_several = |row: &StepRow| row.steps.count_ones() > 1;
            if !self.strict && at_once.len() > 1 && at_once.iter().any(fits_several) {
                chains.take_at_once(self, at_once);
            } else {
                for row in at_once {
                    if self.strict && chains.is_broken_by(row) {
                        return chains.longest;
                    }
                    chains.take(self, row);
                }
            }
            if chains.longest == self.steps {
                break;
            }
        }
        chains.longest
    }

    fn is_in_time(&self, start: Time, time: Time) -> bool {
        time.0.saturating_sub(start.0) <= self.within
    }
}

/// For each length the start of the chain that began last.
#[derive(Clone, Copy, Default)]
struct Chains {
    /// Of chains with one step, with two, and so on.
    starts: [Time; MOST_STEPS],
    /// The length of the longest chain; there are chains of all lengths up to it.
    longest: usize,
}

impl Chains {
    /// The start of the chains of this length.
    fn start(&self, length: usize) -> Option<Time> {
        let starts = self.starts.get(..self.longest)?;
        starts.get(length.checked_sub(1)?).copied()
    }

    fn set(&mut self, length: usize, start: Time) {
        if let Some(slot) = self.starts.get_mut(length - 1) {
            *slot = start;
            self.longest = self.longest.max(length);
        }
    }

    /// Whether a row fits no step that may come next or came already.
    fn is_broken_by(&self, row: &StepRow) -> bool {
        let possible = (2_u64 << self.longest) - 1;
        self.longest > 0 && u64::from(row.steps) & possible == 0
    }

    /// Adds a row to the chains. The longest first, so that a chain takes it once.
    fn take(&mut self, rules: &FunnelRules, row: &StepRow) {
        let mut steps = row.steps;
        while steps > 0 {
            let before = steps.ilog2();
            steps ^= 1 << before;
            let start = match before {
                0 => Some(row.time),
                length => self.start(length as usize),
            };
            if let Some(start) = start.filter(|&start| rules.is_in_time(start, row.time)) {
                self.set(before as usize + 1, start);
            }
        }
    }

    /// Adds rows of one time, in the order that is best for each chain.
    fn take_at_once(&mut self, rules: &FunnelRules, rows: &[StepRow]) {
        let Some(time) = rows.first().map(|row| row.time) else {
            return;
        };
        let before = *self;
        // More rows that fit the same steps than there are such steps change nothing.
        let alike = rows.chunk_by(|left, right| left.steps == right.steps);
        let few = |rows: &[StepRow]| {
            let steps = rows.first().map_or(0, |row| row.steps);
            vec![steps; rows.len().min(steps.count_ones() as usize)]
        };
        let rows: Vec<u32> = alike.flat_map(few).collect();
        for length in (0..=before.longest).rev() {
            let start = before.start(length).unwrap_or(time);
            if rules.is_in_time(start, time) {
                let more = matched(&rows, length..rules.steps);
                (1..=more).for_each(|more| self.set(length + more, start));
            }
        }
    }
}

/// How many of these steps, from the first one on, get a separate row.
fn matched(rows: &[u32], steps: Range<usize>) -> usize {
    let mut step_of_row = vec![None; rows.len()];
    let given = steps.take_while(|&step| {
        let mut tried = vec![false; rows.len()];
        give(step, rows, &mut step_of_row, &mut tried)
    });
    given.count()
}

/// Gives a row to a step. A step that had it takes another one.
fn give(step: usize, rows: &[u32], step_of_row: &mut [Option<usize>], tried: &mut [bool]) -> bool {
    for (row, &steps) in rows.iter().enumerate() {
        let is_new = steps >> step & 1 == 1 && tried.get(row) == Some(&false);
        if !is_new {
            continue;
        }
        tried
            .get_mut(row)
            .into_iter()
            .for_each(|tried| *tried = true);
        let holder = step_of_row.get(row).copied().flatten();
        if holder.is_none_or(|holder| give(holder, rows, step_of_row, tried)) {
            let slot = step_of_row.get_mut(row).into_iter();
            slot.for_each(|slot| *slot = Some(step));
            return true;
        }
    }
    false
}
