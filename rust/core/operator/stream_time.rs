//! Stream time: how far each input is, and which windows it closes (rules 1 and 5.1).

use super::slowest_source::SlowestSource;
use crate::core::time::{Span, Time};
use crate::core::window::close_time;

/// A source partition, numbered by the caller. Without `source=` there is only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(pub u32);

/// The times that decide what happens to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTimes {
    /// The smallest stream time of all inputs. `None` until every input has one.
    pub time: Option<Time>,
    /// The close time for visibility and closing. It belongs to `time`. The earliest time closes
    /// nothing.
    pub close: Time,
    /// The close time of the record's own input. It decides whether the record is late.
    pub input_close: Time,
    /// The stream time of the record's own input.
    pub own: Option<Time>,
}

impl StreamTimes {
    /// Whether a record of this time is before the close time of its input. It may then be late or
    /// meet a closed window (rules 2.6).
    pub fn is_behind(&self, time: Time) -> bool {
        time < self.input_close
    }
}

/// How far one input is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The largest time of each source, sorted by source.
    pub sources: Vec<(Source, Time)>,
    /// Stream time: the smallest time in `sources`. It never goes back, even if a new source starts
    /// behind it.
    pub time: Option<Time>,
    /// Close time. It never goes back, even if the grace is larger after a restart.
    pub close: Time,
}

impl Progress {
    const UNSEEN: Self = Self {
        sources: Vec::new(),
        time: None,
        close: Time::MIN,
    };

    /// The position of a source in `sources`, or the place to insert it.
    fn position(&self, source: Source) -> Result<usize, usize> {
        self.sources
            .binary_search_by_key(&source, |&(source, _)| source)
    }

    /// The largest time of a source.
    fn time_of(&self, source: Source) -> Option<Time> {
        let (_, time) = self.sources.get(self.position(source).ok()?)?;
        Some(*time)
    }

    /// Moves the close time to match stream time.
    fn close_by(&mut self, grace: Option<Span>) {
        if let (Some(time), Some(grace)) = (self.time, grace) {
            self.close = close_time(time, grace, self.close);
        }
    }
}

/// Stream time of a query. With several sources, the slowest one decides.
#[derive(Clone, Debug)]
pub struct StreamTime {
    grace: Option<Span>,
    unit: Span,
    inputs: Vec<Progress>,
    /// The slowest source of each input.
    slowest: Vec<SlowestSource<Source>>,
}

impl StreamTime {
    /// Stream time of `inputs` inputs without records. It is floored to `unit`. Without a grace
    /// nothing ever closes.
    pub fn new(inputs: usize, grace: Option<Span>, unit: Span) -> Self {
        Self {
            grace,
            unit,
            inputs: vec![Progress::UNSEEN; inputs.max(1)],
            slowest: vec![SlowestSource::default(); inputs.max(1)],
        }
    }

    /// Sets the progress of each input.
    pub fn resume(&mut self, progress: impl IntoIterator<Item = Progress>) {
        let inputs = self.inputs.iter_mut().zip(&mut self.slowest);
        for ((input, slowest), progress) in inputs.zip(progress) {
            *slowest = SlowestSource::of(&progress.sources);
            *input = progress;
        }
    }

    /// Recomputes the close times. The grace may be smaller than in the saved progress.
    pub fn catch_up(&mut self) {
        self.inputs
            .iter_mut()
            .for_each(|input| input.close_by(self.grace));
    }

    /// The progress of each input, for saving.
    pub fn progress(&self) -> &[Progress] {
        &self.inputs
    }

    /// Moves the time of an input after a record or a tick of a source. Only the largest time of a
    /// source counts.
    pub fn observe(&mut self, input: usize, source: Source, time: Time) {
        if self.raise(input, source, time) {
            self.follow_slowest(input);
        }
    }

    /// Raises the largest time of a source. Returns false if it already has that time or a larger
    /// one.
    fn raise(&mut self, input: usize, source: Source, time: Time) -> bool {
        let inputs = self.inputs.get_mut(input).zip(self.slowest.get_mut(input));
        let Some((progress, slowest)) = inputs else {
            return false;
        };
        match progress.position(source) {
            Ok(position) => match progress.sources.get_mut(position) {
                Some((_, largest)) if *largest < time => *largest = time,
                _ => return false,
            },
            Err(position) => {
                progress.sources.insert(position, (source, time));
                slowest.insert(source, time);
            }
        }
        true
    }

    /// Moves the stream time of an input to its slowest source.
    fn follow_slowest(&mut self, input: usize) {
        let inputs = self.inputs.get_mut(input).zip(self.slowest.get_mut(input));
        if let Some((progress, slowest)) = inputs {
            let time = match progress.sources.as_slice() {
                // Most inputs have one source. Its heap may stay behind.
                &[(_, time)] => Some(time),
                _ => slowest.time(|source| progress.time_of(source)),
            };
            let time = time.map(|time| time.floor(self.unit).unwrap_or(Time::MIN));
            progress.time = progress.time.max(time);
            progress.close_by(self.grace);
        }
    }

    /// Moves time by everything a micro-batch saw, at once. New sources count from the start, so
    /// the slowest of them holds time back.
    pub fn observe_together(&mut self, seen: impl Iterator<Item = (usize, Source, Time)>) {
        for (input, source, time) in seen {
            self.raise(input, source, time);
        }
        for input in 0..self.inputs.len() {
            self.follow_slowest(input);
        }
    }

    /// Applies a tick to every known source of an input.
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

    /// The times that decide what happens to a record of `input`.
    pub fn now(&self, input: usize) -> StreamTimes {
        let own = self.inputs.get(input);
        StreamTimes {
            input_close: own.map_or(Time::MIN, |own| own.close),
            own: own.and_then(|own| own.time),
            ..self.slowest()
        }
    }

    /// The times that close windows, from the slowest input. Nothing closes until every input has a
    /// stream time.
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
            input_close: close,
            own: time,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A step that moves the time of an input.
    #[derive(Clone, Debug)]
    enum Move {
        One(Source, Time),
        Together(Vec<(Source, Time)>),
        All(Time),
        Restart,
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let source = (0..6_u32).prop_map(Source);
        let seen = (source, (-9..40_i64).prop_map(Time));
        let one = prop_oneof![
            8 => seen.clone().prop_map(|(source, time)| Move::One(source, time)),
            2 => prop::collection::vec(seen, 0..5).prop_map(Move::Together),
            1 => (-9..40_i64).prop_map(|time| Move::All(Time(time))),
            1 => Just(Move::Restart),
        ];
        prop::collection::vec(one, 0..40)
    }

    proptest! {
        #[test]
        fn stream_time_is_the_least_of_all_sources_and_never_goes_back(moves in moves()) {
            let mut time = StreamTime::new(1, Some(Span(3)), Span(2));
            let mut sources: BTreeMap<Source, i64> = BTreeMap::new();
            let mut expected: Option<i64> = None;
            for step in moves {
                // A tick of all sources reaches them one by one, and stream time follows each.
                let seen: Vec<Vec<(Source, Time)>> = match step {
                    Move::One(source, at) => {
                        time.observe(0, source, at);
                        vec![vec![(source, at)]]
                    }
                    Move::Together(seen) => {
                        time.observe_together(seen.iter().map(|&(source, at)| (0, source, at)));
                        vec![seen]
                    }
                    Move::All(at) => {
                        time.observe_all(0, at);
                        sources.keys().map(|&source| vec![(source, at)]).collect()
                    }
                    Move::Restart => {
                        let saved = time.progress().to_vec();
                        time = StreamTime::new(1, Some(Span(3)), Span(2));
                        time.resume(saved);
                        Vec::new()
                    }
                };
                for seen in seen {
                    for (source, Time(at)) in seen {
                        let largest = sources.entry(source).or_insert(at);
                        *largest = at.max(*largest);
                    }
                    let least = sources.values().min().map(|least| least.div_euclid(2) * 2);
                    expected = expected.max(least);
                }
                let found = time.slowest();
                prop_assert_eq!(found.time, expected.map(Time));
                prop_assert_eq!(found.close, expected.map_or(Time::MIN, |time| Time(time - 3)));
                let known: Vec<_> = sources.iter().map(|(&source, &at)| (source, Time(at))).collect();
                prop_assert_eq!(&time.progress()[0].sources, &known);
            }
        }
    }
}
