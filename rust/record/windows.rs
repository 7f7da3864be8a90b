//! Sessions, sliding windows or sessions that rules end, behind one interface for the operator.

use arrow_schema::TimeUnit;

use super::bulk::{self, BatchContext};
use super::changes::Changes;
use super::judgement::Judgement;
use super::operator_states::OperatorStates;
use crate::core::error::{Error, Result};
use crate::core::operator::change::Emit;
use crate::core::operator::counters::Counters;
use crate::core::operator::pace::Pace;
use crate::core::operator::record::{Record, RecordOutcome};
use crate::core::operator::stream_time::{Progress, Source, StreamTime};
use crate::core::operator::window_operator::{Closing, WindowKind};
use crate::core::session::cut_operator::{CutOperator, CutWindows};
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::{Gap, SessionWindows};
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows::SlidingWindows;
use crate::core::time::{Span, Time};
use crate::input::events;
use crate::plan::query::Query;
use crate::plan::spec::{Spec, WindowSpec};
use crate::plan::window_lengths::{WindowLengths, to_ticks};
use crate::state::source_time::{SourceTime, seen};

/// Segment length for sessions with unbounded dynamic gaps, in microseconds: 3 hours.
const SEGMENT: i64 = 3 * 3_600_000_000;

/// The least segment length for records with ends, and for gaps of zero, in microseconds: 5 minutes.
/// Such a gap does not say how long sessions are. Tests have shorter segments, and so more of them.
const LEAST_SEGMENT: i64 = if cfg!(test) { 8 } else { 5 * 60_000_000 };

/// Session or sliding windows.
pub(crate) enum Windows {
    Sessions(SessionOperator),
    Sliding(SlidingOperator),
    Cut(CutOperator),
}

/// Makes the same call on either kind.
macro_rules! either {
    ($either:expr, $windows:ident => $call:expr) => {
        match $either {
            Windows::Sessions($windows) => $call,
            Windows::Sliding($windows) => $call,
            Windows::Cut($windows) => $call,
        }
    };
}

impl Windows {
    /// Creates an empty store of the query's kind of windows. Each of `inputs` inputs has its own
    /// stream time.
    pub(crate) fn new(spec: &Spec, query: &Query, inputs: usize) -> Result<Self> {
        let times = events::unit(query.time.data_type())?;
        let unit = spec.length_unit(times)?;
        let ticks = |argument: &str, micros: i64| {
            let wrong = || Error::Argument {
                argument: argument.into(),
                got: format!("{micros} microseconds"),
                allowed: format!("zero or more, representable in {unit:?}s"),
            };
            to_ticks(micros, unit).ok_or_else(wrong)
        };
        let grace = spec.grace.map(|grace| ticks("grace", grace)).transpose()?;
        let until = spec
            .until
            .map(|until| ticks("retention", until))
            .transpose()?;
        let (emit, late) = (spec.emit, spec.late);
        let every = pace(spec, unit)?;
        match query.windows {
            WindowLengths::Session(gap) => {
                // Round the sum of gap and grace once.
                let grace = match (spec.grace, &spec.windows) {
                    (
                        Some(grace),
                        WindowSpec::Session {
                            gap: Some(micros), ..
                        },
                    ) => {
                        let both = ticks("grace", micros.saturating_add(grace))?;
                        Some(Span(both.0.saturating_sub(gap.longest().0)))
                    }
                    _ => grace,
                };
                let segment = match gap {
                    Gap::Dynamic { longest: None, .. } => to_ticks(SEGMENT, times),
                    _ => None,
                };
                let has_ends = query.columns.end.is_some();
                let least = to_ticks(LEAST_SEGMENT, times);
                let least = least.filter(|_| has_ends || gap.longest() == Span(0));
                let at_least = |own: Span| least.map(|least| least.max(own));
                if let Some(cut) = query.cut {
                    let mut windows = CutWindows {
                        gap,
                        cut,
                        grace,
                        emit,
                        late,
                        keeps_last: spec.whole && query.shows_ends(),
                        segment,
                    };
                    windows.segment = segment.or_else(|| at_least(windows.segment()));
                    return Ok(Self::Cut(CutOperator::new(windows, inputs)?));
                }
                let mut windows = SessionWindows {
                    gap,
                    grace,
                    until,
                    emit,
                    late,
                    segment,
                    has_ends,
                };
                windows.segment = segment.or_else(|| at_least(windows.segment()));
                Ok(Self::Sessions(
                    SessionOperator::new(windows, inputs)?.paced(every),
                ))
            }
            WindowLengths::Sliding(sliding) => Ok(Self::Sliding(
                SlidingOperator::new(
                    SlidingWindows {
                        sliding,
                        grace,
                        until,
                        emit: if spec.returns_records {
                            Emit::Update
                        } else {
                            emit
                        },
                        late,
                        returns_records: spec.returns_records,
                    },
                    inputs,
                )?
                .paced(every),
            )),
        }
    }

    pub(crate) fn catch_up(
        &mut self,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        either!(self, windows => windows.catch_up(states, out))
    }

    /// Pushes a record, which is judged in order.
    pub(crate) fn push(
        &mut self,
        record: Record<'_, u32>,
        judgement: &Judgement,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<RecordOutcome> {
        let row = record.row as usize;
        either!(self, windows => {
            let before = windows.time().slowest();
            judgement.observe(windows, row);
            let moved = windows.time().slowest() != before;
            let (outcome, now) = match windows.admit(record) {
                Ok(valid) => {
                    // Ticks and records of other shards may close a window that this record meets.
                    if judgement.closes() && moved && valid.is_behind() {
                        windows.close(valid.now, states, out)?;
                    }
                    (windows.add(valid, states, out)?, Some(valid.now))
                }
                Err(outcome) => (outcome, None),
            };
            out.note(row, outcome, now);
            if judgement.closes() && now.is_some() {
                windows.close(windows.time().slowest(), states, out)?;
            }
            Ok(outcome)
        })
    }

    pub(crate) fn tick(
        &mut self,
        input: Option<usize>,
        source: Option<Source>,
        time: Option<Time>,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        either!(self, windows => windows.tick(input, source, time, states, out))
    }

    pub(crate) fn add_in_bulk(
        &mut self,
        query: &Query,
        context: &mut BatchContext<'_, '_>,
    ) -> Result<()> {
        either!(self, windows => bulk::add(windows, query, context))
    }

    /// Applies the current grace to the close times. Closes no window.
    pub(crate) fn catch_up_time(&mut self) {
        either!(self, windows => windows.catch_up_time());
    }

    /// What a micro-batch closes, if time moves from the saved progress to `times`, one after the
    /// other, and then to `progress`.
    pub(crate) fn closing(
        &self,
        saved: Vec<Progress>,
        times: &[SourceTime],
        progress: &[SourceTime],
    ) -> Closing {
        either!(self, windows => windows.closing(saved, seen(times), seen(progress)))
    }

    /// Moves stream time to the times of the sources. Closes no window.
    pub(crate) fn observe(&mut self, progress: &[SourceTime]) {
        either!(self, windows => windows.observe_together(seen(progress)));
    }

    /// Closes the windows that are due.
    pub(crate) fn close(
        &mut self,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        either!(self, windows => windows.close(windows.time().slowest(), states, out))
    }

    /// Emits the windows that may leave at the pace of the query.
    pub(crate) fn emit_due(
        &mut self,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        either!(self, windows => windows.emit_due(states, out))
    }

    /// The pace of updates, if they have one.
    pub(crate) fn pace(&self) -> Option<&Pace> {
        either!(self, windows => windows.pace())
    }

    pub(crate) fn finish(
        &mut self,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        either!(self, windows => windows.finish(states, out))
    }

    /// Drops all closed, hidden windows.
    pub(crate) fn drop_hidden(&mut self, states: &mut OperatorStates<'_>) {
        either!(self, windows => windows.drop_hidden(states));
    }

    pub(crate) fn counters(&self) -> &Counters {
        either!(self, windows => windows.counters())
    }

    pub(crate) fn time(&self) -> &StreamTime {
        either!(self, windows => windows.time())
    }

    /// The number of open stored windows.
    pub(crate) fn open(&self) -> usize {
        either!(self, windows => windows.store().open())
    }

    /// Reserves memory for windows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        either!(self, windows => windows.store_mut().reserve(rows));
    }

    /// Windows due before this are closed and emitted.
    pub(crate) fn closed(&self) -> Time {
        either!(self, windows => windows.store().closed())
    }

    pub(crate) fn segment_width(&self) -> i64 {
        either!(self, windows => windows.store().segment_width())
    }

    /// The unit to which stream time is floored.
    pub(crate) fn unit(&self) -> Span {
        either!(self, windows => windows.kind.unit())
    }

    /// Windows due before this are closed at stream time.
    pub(crate) fn due(&self) -> Time {
        either!(self, windows => windows.kind.due_before(windows.time().slowest().close))
    }

    /// Closed windows due before this have no effect on later ones. `retention` keeps some of them for
    /// queries.
    pub(crate) fn needed(&self) -> Time {
        match self {
            Self::Sessions(_) | Self::Cut(_) => Time::MAX,
            Self::Sliding(sliding) => {
                let needed = SlidingWindows {
                    until: None,
                    ..sliding.kind
                };
                needed.horizon(sliding.time().slowest()).kept
            }
        }
    }

    /// Merges the sessions of each key that touch.
    pub(crate) fn join_touching(&mut self, states: &mut OperatorStates<'_>) -> Result<()> {
        match self {
            Self::Sessions(sessions) => sessions.join_touching(states),
            Self::Sliding(_) | Self::Cut(_) => Ok(()),
        }
    }

    /// Marks all segments as clean. From now on, changes are recorded.
    pub(crate) fn mark_clean(&mut self) {
        either!(self, windows => windows.store_mut().mark_clean());
    }

    /// Restores stream time, the time up to which windows are closed, and the counters.
    pub(crate) fn resume(&mut self, progress: Vec<Progress>, closed: Time, counters: Counters) {
        either!(self, windows => windows.resume(progress, closed, counters));
    }
}

/// How far stream time moves between two updates of a window, in ticks of the time column.
fn pace(spec: &Spec, unit: TimeUnit) -> Result<Option<Span>> {
    let Some(every) = spec.every else {
        return Ok(None);
    };
    let wrong = |allowed: &str| Error::Argument {
        argument: "every".into(),
        got: format!("{every} microseconds"),
        allowed: allowed.into(),
    };
    if spec.emit != Emit::Update || spec.every_record || spec.returns_records {
        return Err(wrong("updates, and not `every_record`"));
    }
    let (below, ticks) = (
        to_ticks(every.saturating_sub(1), unit),
        to_ticks(every, unit),
    );
    match below.zip(ticks).filter(|_| every > 0) {
        // Stream time moves in whole ticks, so a part of a tick counts as a whole one.
        Some((below, ticks)) => Ok(Some(ticks.max(below.saturating_add(Span(1))))),
        None => Err(wrong(
            "more than zero, and at most what the time column can count",
        )),
    }
}
