//! Stream time: how far each input has come, and what that closes (rules 1 and 5.1).

use crate::core::time::{Span, Time};
use crate::core::window::close_time;

/// A source partition, numbered by the caller. Without `source=` there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(pub u32);

/// What a record is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTimes {
    /// The smallest stream time over all inputs; none as long as one of them is unseen.
    pub time: Option<Time>,
    /// The close time that goes with it: for visibility and closing. The earliest time closes
    /// nothing.
    pub close: Time,
    /// The close time of the record's own input: for lateness.
    pub late: Time,
}

impl StreamTimes {
    /// Nothing is late, closed or hidden.
    pub const START: Self = Self {
        time: None,
        close: Time::MIN,
        late: Time::MIN,
    };
}

/// How far one input has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The largest time of each known source, in the order of their numbers.
    pub sources: Vec<(Source, Time)>,
    /// Stream time: the smallest of them. It never goes back, even where a new source starts
    /// behind.
    pub time: Option<Time>,
    /// Close time. It never goes back, even where a restart brings a larger grace.
    pub close: Time,
}

impl Progress {
    const UNSEEN: Self = Self {
        sources: Vec::new(),
        time: None,
        close: Time::MIN,
    };

    /// Raises the largest time of a source; whether it has.
    fn raise(&mut self, source: Source, time: Time) -> bool {
        let known = self
            .sources
            .binary_search_by_key(&source, |&(source, _)| source);
        match known {
            Ok(known) => match self.sources.get_mut(known) {
                Some((_, largest)) if *largest < time => *largest = time,
                _ => return false,
            },
            Err(position) => self.sources.insert(position, (source, time)),
        }
        true
    }

    /// Stream time follows the slowest source.
    fn follow_slowest(&mut self, unit: Span, grace: Option<Span>) {
        let slowest = self.sources.iter().map(|&(_, time)| time).min();
        let slowest = slowest.map(|time| time.floor(unit).unwrap_or(Time::MIN));
        self.time = self.time.max(slowest);
        self.close_by(grace);
    }

    /// The close time follows stream time.
    fn close_by(&mut self, grace: Option<Span>) {
        if let (Some(time), Some(grace)) = (self.time, grace) {
            self.close = close_time(time, grace, self.close);
        }
    }
}

/// Stream time of one source partition, or of all of them together ("slowest").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamTime {
    grace: Option<Span>,
    unit: Span,
    inputs: Vec<Progress>,
}

impl StreamTime {
    /// Stream time of `inputs` inputs, all unseen. It is floored to `unit`; without a grace nothing
    /// ever closes.
    pub fn new(inputs: usize, grace: Option<Span>, unit: Span) -> Self {
        Self {
            grace,
            unit,
            inputs: vec![Progress::UNSEEN; inputs.max(1)],
        }
    }

    /// Sets the progress of each input.
    pub fn resume(&mut self, progress: impl IntoIterator<Item = Progress>) {
        for (input, progress) in self.inputs.iter_mut().zip(progress) {
            *input = progress;
        }
    }

    /// The close times go with the grace, which may be smaller than that of the saved progress.
    pub fn catch_up(&mut self) {
        self.inputs
            .iter_mut()
            .for_each(|input| input.close_by(self.grace));
    }

    /// The progress of each input, to be saved.
    pub fn progress(&self) -> &[Progress] {
        &self.inputs
    }

    /// A record or a tick of a source moves its input's time. Times that are not the largest change
    /// nothing.
    pub fn observe(&mut self, input: usize, source: Source, time: Time) {
        if let Some(progress) = self.inputs.get_mut(input)
            && progress.raise(source, time)
        {
            progress.follow_slowest(self.unit, self.grace);
        }
    }

    /// What a micro-batch has seen of several sources moves time at once: the slowest of those that
    /// are new in it counts from the start.
    pub fn observe_together(&mut self, seen: impl Iterator<Item = (usize, Source, Time)>) {
        for (input, source, time) in seen {
            if let Some(progress) = self.inputs.get_mut(input) {
                progress.raise(source, time);
            }
        }
        for progress in &mut self.inputs {
            progress.follow_slowest(self.unit, self.grace);
        }
    }

    /// A tick for every known source of an input.
    pub fn observe_all(&mut self, input: usize, time: Time) {
        let known = self
            .inputs
            .get(input)
            .map(|progress| progress.sources.clone())
            .unwrap_or_default();
        for (source, _) in known {
            self.observe(input, source, time);
        }
    }

    /// What a record of `input` is judged by.
    pub fn now(&self, input: usize) -> StreamTimes {
        StreamTimes {
            late: self.inputs.get(input).map_or(Time::MIN, |own| own.close),
            ..self.slowest()
        }
    }

    /// The times that close windows: those of the slowest input. Before each input was seen, none does.
    pub fn slowest(&self) -> StreamTimes {
        let time = self.inputs.iter().map(|input| input.time).min().flatten();
        let close = self
            .inputs
            .iter()
            .map(|input| input.close)
            .min()
            .unwrap_or(Time::MIN);
        StreamTimes {
            time,
            close,
            late: close,
        }
    }
}
