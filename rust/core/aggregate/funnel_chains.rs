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
    /// Whether no order of rows says which of both came first.
    fn is_at_once(&self, other: &Self) -> bool {
        (self.time, self.tie) == (other.time, other.tie)
    }

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
        let mut chains = Chains::<Time>::default();
        for at_once in rows.chunk_by(StepRow::is_at_once) {
            if !chains.take_all(self, at_once) || chains.longest == self.steps {
                break;
            }
        }
        chains.longest
    }

    /// The times of these steps: of the longest chains the one that ends first, of these the one that begins
    /// last, and of these the one with the earliest steps.
    pub(crate) fn times(&self, rows: &[StepRow]) -> Vec<Time> {
        let (mut chains, mut times) = (Chains::<Vec<Time>>::default(), Vec::new());
        for of_one_time in rows.chunk_by(|left, right| left.time == right.time) {
            let mut groups = of_one_time.chunk_by(StepRow::is_at_once);
            let goes_on = groups.all(|at_once| chains.take_all(self, at_once));
            if chains.longest > times.len() {
                times = chains.chain(chains.longest).cloned().unwrap_or_default();
            }
            if !goes_on || times.len() == self.steps {
                break;
            }
        }
        times
    }

    fn is_in_time(&self, start: Time, time: Time) -> bool {
        time.0.saturating_sub(start.0) <= self.within
    }
}

/// What is kept of a chain.
trait Chain: Clone + Default {
    /// When it begins.
    fn start(&self) -> Time;

    /// A chain with a step more, or a chain of the first step.
    fn with_step(chain: Option<&Self>, time: Time) -> Self;
}

/// When it begins.
impl Chain for Time {
    #[inline]
    fn start(&self) -> Time {
        *self
    }

    #[inline]
    fn with_step(chain: Option<&Self>, time: Time) -> Self {
        chain.copied().unwrap_or(time)
    }
}

/// The times of its steps.
impl Chain for Vec<Time> {
    fn start(&self) -> Time {
        self.first().copied().unwrap_or_default()
    }

    fn with_step(chain: Option<&Self>, time: Time) -> Self {
        let steps = chain.into_iter().flatten().copied();
        steps.chain([time]).collect()
    }
}

/// For each length the chain that begins last. Of chains that begin at one time the first to come stays: it
/// has the earliest steps.
#[derive(Clone, Default)]
struct Chains<C> {
    /// Of one step, of two, and so on.
    chains: [C; MOST_STEPS],
    /// The length of the longest chain; there are chains of all lengths up to it.
    longest: usize,
}

impl<C: Chain> Chains<C> {
    /// The chain of this length.
    fn chain(&self, length: usize) -> Option<&C> {
        let chains = self.chains.get(..self.longest)?;
        chains.get(length.checked_sub(1)?)
    }

    /// Whether no chain of this length begins at `start` or later.
    fn begin_before(&self, length: usize, start: Time) -> bool {
        self.chain(length).is_none_or(|chain| chain.start() < start)
    }

    fn set(&mut self, length: usize, chain: C) {
        if let Some(slot) = self.chains.get_mut(length - 1) {
            *slot = chain;
            self.longest = self.longest.max(length);
        }
    }

    /// Whether a row fits no step that may come next or came already.
    fn is_broken_by(&self, row: &StepRow) -> bool {
        let possible = (2_u64 << self.longest) - 1;
        self.longest > 0 && u64::from(row.steps) & possible == 0
    }

    /// Adds rows of one time and tie to the chains. False if one of them ends the funnel.
    fn take_all(&mut self, rules: &FunnelRules, rows: &[StepRow]) -> bool {
        let fits_several = |row: &StepRow| row.steps.count_ones() > 1;
        if !rules.strict && rows.len() > 1 && rows.iter().any(fits_several) {
            self.take_at_once(rules, rows);
            return true;
        }
        for row in rows {
            if rules.strict && self.is_broken_by(row) {
                return false;
            }
            self.take(rules, row);
        }
        true
    }

    /// Adds a row to the chains. The longest first, so that a chain takes it once.
    fn take(&mut self, rules: &FunnelRules, row: &StepRow) {
        let mut steps = row.steps;
        while steps > 0 {
            let before = steps.ilog2() as usize;
            steps ^= 1 << before;
            let chain = self.chain(before);
            if chain.is_none() && before > 0 {
                continue;
            }
            let start = chain.map_or(row.time, C::start);
            if rules.is_in_time(start, row.time) && self.begin_before(before + 1, start) {
                let longer = C::with_step(chain, row.time);
                self.set(before + 1, longer);
            }
        }
    }

    /// Adds rows of one time, in the order that is best for each chain.
    fn take_at_once(&mut self, rules: &FunnelRules, rows: &[StepRow]) {
        let Some(time) = rows.first().map(|row| row.time) else {
            return;
        };
        let before = self.clone();
        // More rows that fit the same steps than there are such steps change nothing.
        let alike = rows.chunk_by(|left, right| left.steps == right.steps);
        let few = |rows: &[StepRow]| {
            let steps = rows.first().map_or(0, |row| row.steps);
            vec![steps; rows.len().min(steps.count_ones() as usize)]
        };
        let rows: Vec<u32> = alike.flat_map(few).collect();
        for length in (0..=before.longest).rev() {
            let mut chain = before.chain(length).cloned();
            let start = chain.as_ref().map_or(time, C::start);
            if rules.is_in_time(start, time) {
                let more = matched(&rows, length..rules.steps);
                for length in length + 1..=length + more {
                    let longer = C::with_step(chain.as_ref(), time);
                    if self.begin_before(length, start) {
                        self.set(length, longer.clone());
                    }
                    chain = Some(longer);
                }
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
