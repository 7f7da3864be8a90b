//! Sessions, sliding windows or sessions that rules end, behind one interface for the operator.

use arrow_schema::TimeUnit;

use super::changes::Changes;
use super::judgement::Judgement;
use super::operator_states::OperatorStates;
use crate::core::error::{Error, Result};
use crate::core::operator::change::Emit;
use crate::core::operator::record::Record;
use crate::core::operator::stream_time::StreamTime;
use crate::core::operator::window_operator::WindowKind;
use crate::core::session::cut_operator::{CutOperator, CutWindows};
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::{Gap, SessionWindows};
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows::SlidingWindows;
use crate::core::time::{Span, Time};
use crate::input::events;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::plan::window_lengths::{WindowLengths, to_ticks};

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

/// Makes the same call on each kind of windows.
macro_rules! dispatch_windows {
    ($windows:expr, |$own:ident| $call:expr) => {
        match $windows {
            $crate::record::windows::Windows::Sessions($own) => $call,
            $crate::record::windows::Windows::Sliding($own) => $call,
            $crate::record::windows::Windows::Cut($own) => $call,
        }
    };
}
pub(super) use dispatch_windows;

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
                let fixed = spec.windows.session().and_then(|own| own.gap);
                let grace = match (spec.grace, fixed) {
                    (Some(grace), Some(micros)) => {
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

    /// Pushes a record, which is judged in order.
    pub(crate) fn push(
        &mut self,
        record: Record<'_, u32>,
        judgement: &Judgement,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        let row = record.row as usize;
        dispatch_windows!(self, |windows| {
            let before = windows.time().slowest();
            judgement.observe(windows, row);
            let moved = windows.time().slowest() != before;
            let now = windows.admit(&record);
            // Ticks and records of other shards may close a window that this record meets.
            if judgement.closes() && moved && now.is_behind(record.extent.start) {
                windows.close(now, states, out)?;
            }
            let outcome = windows.add(record, now, states, out)?;
            out.note(row, outcome, now);
            if judgement.closes() {
                windows.close(windows.time().slowest(), states, out)?;
            }
            Ok(())
        })
    }

    pub(crate) fn time(&self) -> &StreamTime {
        dispatch_windows!(self, |windows| windows.time())
    }

    pub(crate) fn segment_width(&self) -> i64 {
        dispatch_windows!(self, |windows| windows.store().segment_width())
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
