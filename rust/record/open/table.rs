//! An operator begins with a table of open windows, and writes one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use arrow_array::RecordBatch;
use arrow_schema::TimeUnit;

use super::clock::{OpenClock, OpenInput, OpenTally, unreadable};
use super::reader::OpenReader;
use super::writer;
use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::operator::stream_time::{Progress, Source};
use crate::core::operator::window_operator::WindowKind;
use crate::core::time::{Span, Time};
use crate::input::events::{self, SOURCE};
use crate::plan::continuation::Continuation;
use crate::plan::window_lengths::to_ticks;
use crate::record::operator::{Operator, RESTORE};
use crate::record::window_pages;
use crate::record::windows::{Windows, dispatch_windows};
use crate::state::head::Clock;

impl Operator {
    /// Loads a table of open windows into an operator that has seen nothing. `time` is the time in
    /// the clock row. `rows` are key columns, the start and the end of each window as `Int64`, and
    /// `state`. `tally` counts all rows of the table; `rows` may be a part of them. With `by_source`
    /// the sources of the table are numbered in the order of their names. Otherwise they become one.
    pub(crate) fn resume_open(
        &mut self,
        clock: &OpenClock,
        time: Option<i64>,
        tally: &OpenTally,
        rows: &[RecordBatch],
        by_source: bool,
    ) -> Result<()> {
        self.check_whole()?;
        self.state.check_unused()?;
        let continued = self.snapshot.fingerprint.continues(&clock.query())?;
        clock.check_time(time)?; // not before, as another unit of time has other ticks
        self.run(RESTORE, |operator| {
            let longer = operator.longer_gap(&continued)?;
            operator.resume_clock(clock, longer, by_source);
            operator.load_open(clock, tally, rows, &continued)
        })
    }

    /// How much longer the gap of sessions is than in the query of a table.
    fn longer_gap(&self, continued: &Continuation) -> Result<Span> {
        let state = &self.state;
        let (Windows::Sessions(sessions), Some(was)) = (&state.windows, continued.shorter_gap)
        else {
            return Ok(Span(0));
        };
        let unit = events::unit(state.query.time.data_type())?;
        let unit = if continued.in_nanoseconds {
            TimeUnit::Microsecond
        } else {
            unit
        };
        let (was, is) = (to_ticks(was, unit), sessions.kind.gap.longest());
        Ok(Span(is.0.saturating_sub(was.unwrap_or(is).0)))
    }

    /// Sets time to that of a table. With a gap that is longer by `longer`, sessions reach further, and
    /// so do the close times: a record that was late is late again.
    fn resume_clock(&mut self, clock: &OpenClock, longer: Span, by_source: bool) {
        let windows = &self.state.windows;
        let unit = dispatch_windows!(windows, |own| own.kind.unit());
        let own = windows.time().progress().len();
        let floored = |time: Time| time.floor(unit).unwrap_or(Time::MIN);
        let later = |close: i64| Time(close).saturating_add(longer);
        let slowest = OpenInput {
            time: Some(clock.to),
            close: clock
                .inputs
                .iter()
                .map(|input| input.close)
                .min()
                .unwrap_or(i64::MIN),
            sources: BTreeMap::new(),
        };
        let inputs = match clock.inputs.as_slice() {
            inputs if inputs.len() == own => inputs.to_vec(),
            _ => vec![slowest; own],
        };
        let names: BTreeSet<&String> = inputs
            .iter()
            .flat_map(|input| input.sources.keys())
            .collect();
        let numbers: BTreeMap<&String, Source> = names.into_iter().zip((0..).map(Source)).collect();
        let progress = |at: Option<i64>| {
            let inputs = inputs.iter().map(|input| {
                let time = at.or(input.time).map(Time);
                let of_source = |(name, own): (&String, &i64)| {
                    Some((*numbers.get(name)?, Time(at.unwrap_or(*own))))
                };
                Progress {
                    sources: if by_source {
                        input.sources.iter().filter_map(of_source).collect()
                    } else {
                        time.map(|time| (SOURCE, time)).into_iter().collect()
                    },
                    time: time.map(floored),
                    close: if at.is_some() {
                        Time::MIN
                    } else {
                        later(input.close)
                    },
                }
            });
            inputs.collect::<Vec<_>>()
        };
        let mut saved = Clock {
            progress: progress(clock.close_by),
            closed: later(clock.closed),
            seq_nos: clock.seq_nos,
            counters: Counters::default(),
        };
        if clock.close_by.is_some() {
            let closed = std::mem::replace(&mut saved.closed, Time::MIN);
            self.state.resume(saved.clone());
            dispatch_windows!(&mut self.state.windows, |own| own.catch_up_time());
            let windows = &self.state.windows;
            // A shorter grace may close windows of the table. The next micro-batch emits them.
            let close = windows.time().slowest().close;
            saved.closed = closed.min(dispatch_windows!(windows, |own| own.kind.due_before(close)));
            let closes = windows.time().progress().iter().map(|input| input.close);
            let with_close = |(input, close): (Progress, Time)| Progress {
                close: close.min(input.close),
                ..input
            };
            saved.progress = progress(None)
                .into_iter()
                .zip(closes)
                .map(with_close)
                .collect();
        }
        self.state.resume(saved);
    }

    fn load_open(
        &mut self,
        clock: &OpenClock,
        tally: &OpenTally,
        rows: &[RecordBatch],
        continued: &Continuation,
    ) -> Result<()> {
        let state = &mut self.state;
        let reader = OpenReader::new(state, clock, continued)?;
        let mut checksums = HashSet::new();
        for batch in rows {
            let page = reader.read(state, batch, &mut checksums)?;
            window_pages::read(state, &page)?;
        }
        if tally.rows != clock.rows {
            let (difference, wrong) = match tally.rows.checked_sub(clock.rows) {
                Some(more) => (more, "too many"),
                None => (clock.rows - tally.rows, "missing"),
            };
            return Err(unreadable(format!(
                "the table has {} rows besides the clock row, which says {}: {difference} are {wrong}",
                tally.rows, clock.rows
            )));
        }
        if tally.checksum != clock.checksum {
            return Err(unreadable(
                "the rows are not those that the clock row counts: some are of another table",
            ));
        }
        if continued.shorter_gap.is_some() {
            let (windows, mut states) = self.state.at_rest();
            windows.join_touching(&mut states)?;
        }
        Ok(())
    }

    /// The windows to keep, as key columns, `window`, aggregates and `state`, and the clock of a
    /// run up to `to`. A row without a window is of a closed one that later windows need. Without
    /// `to`, the clock is that of the operator. `sources` has the names of its sources, in the
    /// order of their numbers.
    pub(crate) fn open_windows(
        &mut self,
        to: Option<Time>,
        batch: u64,
        sources: &[String],
    ) -> Result<(Vec<RecordBatch>, OpenClock)> {
        self.check_whole()?;
        let (windows, mut states) = self.state.at_rest();
        dispatch_windows!(windows, |own| own.drop_hidden(&mut states));
        let fingerprint = self.snapshot.fingerprint.of_open_windows();
        let state = &self.state;
        let saved = state.clock();
        let inputs = saved
            .progress
            .iter()
            .map(|input| open_input(input, sources));
        let inputs: Vec<OpenInput> = inputs.collect();
        let slowest = inputs.iter().map(|input| input.time).min().flatten();
        let to = to.map(|to| to.0).or(slowest).ok_or_else(|| Error::Format {
            what: "state",
            reason: "it has no time yet: each input needs a record or a tick first".into(),
        })?;
        let mut clock = OpenClock {
            to,
            written: to,
            batch,
            inputs,
            closed: saved.closed.0,
            close_by: None,
            seq_nos: saved.seq_nos,
            rows: 0,
            checksum: 0,
            fingerprint: fingerprint.hash,
            specification: fingerprint.text,
            layouts: fingerprint.layouts,
        };
        let kept = state.windows.needed();
        let batches = dispatch_windows!(&state.windows, |own| writer::write(
            state, own, kept, &mut clock
        ))?;
        Ok((batches, clock))
    }
}

/// The progress of an input. Stream time is floored, the times of sources are not.
fn open_input(input: &Progress, names: &[String]) -> OpenInput {
    let slowest = input.sources.iter().map(|&(_, time)| time).min();
    let name = |source: Source| names.get(source.0 as usize).cloned().unwrap_or_default();
    let sources = input.sources.iter();
    OpenInput {
        time: input
            .time
            .map(|time| slowest.map_or(time, |slowest| time.max(slowest)).0),
        close: input.close.0,
        sources: sources
            .map(|&(source, time)| (name(source), time.0))
            .collect(),
    }
}
