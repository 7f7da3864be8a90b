//! The runs of a sweep, which an interrupt ends early.

use std::ops::{Deref, Range};

use super::Run;
use crate::interrupt::Interrupt;

/// Runs between two checks: a sweep spends less than a millisecond on them, unless they are apart.
const STRETCH: usize = 1 << 12;

/// The runs of the windows that a sweep gives the results of, in their order.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    runs: &'a [Run],
    interrupt: &'a Interrupt,
}

impl<'a> Runs<'a> {
    /// Runs, of which both bounds never go back.
    pub fn new(runs: &'a [Run], interrupt: &'a Interrupt) -> Self {
        Self { runs, interrupt }
    }

    /// Other runs for the same sweep.
    pub fn with<'b>(self, runs: &'b [Run]) -> Runs<'b>
    where
        'a: 'b,
    {
        Runs { runs, ..self }
    }

    /// Whether the interrupt is stopped: for results that take long each, which nobody uses then.
    pub fn is_stopped(self) -> bool {
        self.interrupt.is_stopped()
    }

    /// The runs, some thousands at a time; none follow once the interrupt is stopped. The results
    /// are then too few: whoever asked for them checks the interrupt before it uses them.
    pub fn stretches(self) -> impl Iterator<Item = &'a [Run]> {
        self.runs
            .chunks(STRETCH)
            .take_while(move |_| !self.interrupt.is_stopped())
    }
}

/// The rows from the first run to the last one.
pub(super) fn spanned(runs: &[Run]) -> Range<usize> {
    let from = runs.first().map_or(0, |run| run.from as usize);
    from..runs.last().map_or(from, |run| run.to as usize)
}

impl Deref for Runs<'_> {
    type Target = [Run];

    fn deref(&self) -> &[Run] {
        self.runs
    }
}
