//! Windows of either kind, and what an operator does with them.

use super::bulk;
use super::changes::Changes;
use super::states::Worked;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::spec::{Spec, Windows};
use crate::arrow::plan::window_lengths::{Kind, to_ticks};
use crate::arrow::read::events::{self, Feed};
use crate::error::{Error, Result};
use crate::operator::counters::Counters;
use crate::operator::record::{Fate, Record};
use crate::operator::stream_time::{Progress, Source, StreamTime};
use crate::session::record::Sessions;
use crate::session::windows::Rule as SessionRule;
use crate::sliding::record::Slides;
use crate::sliding::windows::Rule as SlidingRule;
use crate::store::Id;
use crate::time::{Span, Time};

/// Windows of either kind.
pub(crate) enum Core {
    Sessions(Sessions),
    Slides(Slides),
}

/// The same for both kinds.
macro_rules! either {
    ($core:expr, $windows:ident => $does:expr) => {
        match $core {
            Core::Sessions($windows) => $does,
            Core::Slides($windows) => $does,
        }
    };
}

impl Core {
    /// No windows yet, of the query's kind; `inputs` have a stream time each.
    pub fn new(spec: &Spec, query: &Query, inputs: usize) -> Result<Self> {
        let unit = events::unit(query.time.data_type())?;
        let ticks = |argument: &str, micros: i64| {
            let wrong = || Error::Argument {
                argument: argument.into(),
                got: format!("{micros} microseconds"),
                allowed: format!("zero or more, representable in {unit:?}s"),
            };
            to_ticks(micros, unit).ok_or_else(wrong)
        };
        let grace = spec.grace.map(|grace| ticks("grace", grace)).transpose()?;
        let until = spec.until.map(|until| ticks("until", until)).transpose()?;
        let (emit, late) = (spec.emit, spec.late);
        match query.windows {
            Kind::Session(gap) => {
                // Both together are rounded once.
                let grace = match (spec.grace, &spec.windows) {
                    (Some(grace), Windows::Session { gap: Some(micros), .. }) => {
                        let both = ticks("grace", micros.saturating_add(grace))?;
                        Some(Span(both.0.saturating_sub(gap.longest().0)))
                    }
                    _ => grace,
                };
                Ok(Self::Sessions(Sessions::new(SessionRule { gap, grace, until, emit, late }, inputs)?))
            }
            Kind::Sliding(sliding) => Ok(Self::Slides(Slides::new(SlidingRule { sliding, grace, until, emit, late }, inputs)?)),
        }
    }

    pub fn catch_up(&mut self, states: &mut Worked<'_>, out: &mut Changes) -> Result<()> {
        either!(self, windows => windows.catch_up(states, out))
    }

    pub fn push(&mut self, record: Record<'_, u32>, states: &mut Worked<'_>, out: &mut Changes) -> Result<Fate> {
        either!(self, windows => windows.push(record, states, out))
    }

    pub fn tick(
        &mut self,
        input: Option<usize>,
        source: Source,
        time: Option<Time>,
        states: &mut Worked<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        either!(self, windows => windows.tick(input, Some(source), time, states, out))
    }

    pub fn take(&mut self, feed: &Feed, query: &Query, states: &mut Worked<'_>, out: &mut Changes) -> Result<()> {
        either!(self, windows => bulk::take(windows, feed, query, states, out))
    }

    pub fn finish(&mut self, states: &mut Worked<'_>, out: &mut Changes) -> Result<()> {
        either!(self, windows => windows.finish(states, out))
    }

    pub fn counters(&self) -> &Counters {
        either!(self, windows => windows.counters())
    }

    pub fn time(&self) -> &StreamTime {
        either!(self, windows => windows.time())
    }

    /// Stored windows that are not closed.
    pub fn open(&self) -> usize {
        either!(self, windows => windows.store().open())
    }

    /// Windows due before this were closed and emitted.
    pub fn closed(&self) -> Time {
        either!(self, windows => windows.store().closed())
    }

    pub fn segment_width(&self) -> i64 {
        either!(self, windows => windows.store().segment_width())
    }

    /// The segments that have windows, in order.
    pub fn segments(&self) -> Vec<Id> {
        either!(self, windows => windows.store().segments().collect())
    }

    /// The segments that have changed since [`Self::settle`], in order.
    pub fn changed(&self) -> Vec<Id> {
        either!(self, windows => windows.store().changed().iter().copied().collect())
    }

    /// What has changed is known from here on.
    pub fn settle(&mut self) {
        either!(self, windows => windows.store_mut().settle());
    }

    /// Goes on where saved state stopped.
    pub fn resume(&mut self, progress: Vec<Progress>, closed: Time, counters: Counters) {
        either!(self, windows => windows.resume(progress, closed, counters));
    }
}
