//! The kind of windows, with its lengths in ticks of the time column.

use arrow_schema::TimeUnit;
use chrono_tz::Tz;

use super::spec::Spec;
use super::window_spec::{SessionSpec, WindowSpec};
use crate::core::error::{Error, Result};
use crate::core::session::cut::Cut;
use crate::core::session::day_borders::{DAY, DayBorders};
use crate::core::session::session_windows::Gap;
use crate::core::sliding::plan::Sliding;
use crate::core::time::Span;

/// The default resolution of sliding windows (rules 4.1).
const ONE_TICK: Span = Span(1);

/// The kind of windows, in ticks.
#[derive(Clone, Copy, Debug)]
pub enum WindowLengths {
    /// Session windows.
    Session(Gap),
    /// Sliding windows.
    Sliding(Sliding),
}

impl WindowLengths {
    /// The windows of a spec, in ticks of the time column.
    pub(crate) fn in_ticks(spec: &Spec, unit: TimeUnit) -> Result<Self> {
        let wrong = |argument: &str, got, allowed: &str| wrong(argument, got, allowed, unit);
        let exact = |argument: &str, micros: i64| {
            to_exact_ticks(micros, unit)
                .filter(|ticks| ticks.0 > 0)
                .ok_or_else(|| {
                    wrong(
                        argument,
                        micros,
                        &format!("a positive multiple of 1 {}", name(unit)),
                    )
                })
        };
        match &spec.windows {
            &WindowSpec::Session(SessionSpec {
                gap: Some(gap),
                gap_column: None,
                ..
            }) => Ok(Self::Session(Gap::Fixed(zero_or_more("gap", gap, unit)?))),
            &WindowSpec::Session(SessionSpec {
                gap: None,
                gap_column: Some(_),
                longest_gap,
                ..
            }) => {
                let longest = longest_gap.map(|micros| one_tick("max_gap", micros, unit));
                let longest = longest.transpose()?;
                Ok(Self::Session(Gap::Dynamic {
                    longest,
                    takes_zero: spec.end.is_some(),
                }))
            }
            WindowSpec::Session(_) => Err(Error::Format {
                what: "query",
                reason: "sessions have a gap or a gap column".into(),
            }),
            &WindowSpec::Sliding {
                difference,
                resolution,
            } => {
                let resolution = resolution.map(|micros| exact("resolution", micros));
                let sliding = Sliding {
                    difference: exact("difference", difference)?,
                    resolution: resolution.unwrap_or(Ok(ONE_TICK))?,
                };
                match sliding.difference.0 % sliding.resolution.0 {
                    0 => Ok(Self::Sliding(sliding)),
                    _ => Err(wrong(
                        "difference",
                        difference,
                        "a multiple of the resolution",
                    )),
                }
            }
        }
    }
}

/// The rules that end the sessions of a spec, in ticks of the time column, which has a zone or not.
pub(crate) fn cut(spec: &Spec, unit: TimeUnit, is_zoned: bool) -> Result<Option<Cut>> {
    let Some(own) = spec.windows.session() else {
        return Ok(None);
    };
    let refused = |argument: &str, got: &str, allowed: &str| Error::Argument {
        argument: argument.into(),
        got: got.into(),
        allowed: allowed.into(),
    };
    if own.most == Some(0) {
        return Err(refused("max_records", "0", "1 or more"));
    }
    let zone = match &own.zone {
        Some(name) => Some(name.parse::<Tz>().map_err(|_| {
            refused(
                "zone",
                &format!("{name:?}").replace('"', "'"),
                "a time zone of the IANA database, such as \"Europe/Madrid\"",
            )
        })?),
        None => None,
    };
    let borders = match (own.cut_at, zone) {
        (Some(_), None) if is_zoned => {
            let allowed =
                "the zone of cut_at, such as \"Europe/Madrid\", because the times have a zone";
            return Err(refused("zone", "none", allowed));
        }
        (_, Some(zone)) if !is_zoned => {
            return Err(refused(
                "zone",
                zone.name(),
                "none, because the times have no zone",
            ));
        }
        (None, Some(zone)) => return Err(refused("zone", zone.name(), "a zone with cut_at only")),
        (Some(at), _) if i128::from(at) >= DAY => {
            return Err(refused("cut_at", &at.to_string(), "a time of day"));
        }
        (Some(at), zone) => Some(DayBorders {
            at,
            zone,
            per_second: i64::try_from(per_second(unit)).unwrap_or(1),
        }),
        (None, None) => None,
    };
    let lengths = spec.length_unit(unit)?;
    let longest = own
        .longest
        .map(|micros| one_tick("max_duration", micros, lengths));
    let cut = Cut {
        longest: longest.transpose()?,
        most: own.most,
        borders,
    };
    Ok(spec.is_cut().then_some(cut))
}

fn wrong(argument: &str, got: i64, allowed: &str, unit: TimeUnit) -> Error {
    Error::Argument {
        argument: argument.into(),
        got: format!("{got} microseconds"),
        allowed: format!("{allowed}, as the time column counts in {}s", name(unit)),
    }
}

/// A length that may be zero, rounded down.
fn zero_or_more(argument: &str, micros: i64, unit: TimeUnit) -> Result<Span> {
    match micros {
        0.. => to_ticks(micros, unit)
            .ok_or_else(|| wrong(argument, micros, "at most the representable range", unit)),
        _ => Err(wrong(argument, micros, "zero or more", unit)),
    }
}

/// A positive length, rounded down.
fn positive(argument: &str, micros: i64, unit: TimeUnit) -> Result<Span> {
    match micros {
        1.. => zero_or_more(argument, micros, unit),
        _ => Err(wrong(argument, micros, "a positive duration", unit)),
    }
}

/// A length of zero or more, in whole ticks.
pub(super) fn exact_or_zero(argument: &str, micros: i64, unit: TimeUnit) -> Result<Span> {
    to_exact_ticks(micros, unit).ok_or_else(|| {
        let allowed = format!("zero or a positive multiple of 1 {}", name(unit));
        wrong(argument, micros, &allowed, unit)
    })
}

/// A length of at least one tick, rounded down.
fn one_tick(argument: &str, micros: i64, unit: TimeUnit) -> Result<Span> {
    match positive(argument, micros, unit)? {
        Span(0) => Err(wrong(argument, micros, "at least one tick", unit)),
        ticks => Ok(ticks),
    }
}

fn name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "second",
        TimeUnit::Millisecond => "millisecond",
        TimeUnit::Microsecond => "microsecond",
        TimeUnit::Nanosecond => "nanosecond",
    }
}

/// Ticks of a unit in one second.
pub(crate) fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The whole ticks in a number of microseconds; none beyond the range of 64 bits.
pub(crate) fn to_ticks(micros: i64, unit: TimeUnit) -> Option<Span> {
    let ticks = i128::from(micros) * per_second(unit) / per_second(TimeUnit::Microsecond);
    i64::try_from(ticks)
        .ok()
        .and_then(|ticks| u64::try_from(ticks).ok())
        .map(Span)
}

/// The number of ticks that make up a number of microseconds; none if no whole number does.
pub(super) fn to_exact_ticks(micros: i64, unit: TimeUnit) -> Option<Span> {
    to_ticks(micros, unit).filter(|&ticks| to_micros(ticks, unit) == Some(micros))
}

fn to_micros(ticks: Span, unit: TimeUnit) -> Option<i64> {
    i64::try_from(i128::from(ticks.0) * per_second(TimeUnit::Microsecond) / per_second(unit)).ok()
}
