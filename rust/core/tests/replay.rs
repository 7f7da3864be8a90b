//! Recorded runs of a real Kafka Streams, record for record.
//!
//! They are in `tests/recorded`, whose README has the format and how they were made.

use std::path::PathBuf;

use crate::core::error::Result;
use crate::core::operator::change::{Emit, WindowChange};
use crate::core::operator::record::Record;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows as session;
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows as sliding;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use serde_json::Value as Json;

use crate::core::tests::text_aggregates::{Fold, Texts, Value};

/// Either operator.
enum Operator {
    SessionOperator(SessionOperator),
    SlidingOperator(SlidingOperator),
}

impl Operator {
    fn push<'a>(
        &mut self,
        record: Record<'a, Value<'a>>,
        states: &mut Texts<'a>,
        out: &mut impl FnMut(&[u8], WindowChange, &mut Texts<'a>) -> Result<()>,
    ) {
        match self {
            Self::SessionOperator(sessions) => sessions.push(record, states, out).unwrap(),
            Self::SlidingOperator(slides) => slides.push(record, states, out).unwrap(),
        };
    }

    fn dropped(&self) -> u64 {
        match self {
            Self::SessionOperator(sessions) => sessions.counters().dropped(),
            Self::SlidingOperator(slides) => slides.counters().dropped(),
        }
    }

    /// The same operator, rebuilt from a saved state: visible windows, stream time,
    /// counters.
    fn restarted(&self, spec: &Json) -> Self {
        let (mut again, ..) = operator(spec);
        match (self, &mut again) {
            (Self::SessionOperator(old), Self::SessionOperator(new)) => {
                new.resume(
                    old.time().progress().to_vec(),
                    old.store().closed(),
                    *old.counters(),
                );
                for (name, session) in old.store().find_sessions(None, None, Time::MIN, Time::MAX) {
                    let key = new.store_mut().intern(name).unwrap();
                    new.store_mut().put(key, *session);
                }
                assert_eq!(new.store().open(), old.store().open());
            }
            (Self::SlidingOperator(old), Self::SlidingOperator(new)) => {
                new.resume(
                    old.time().progress().to_vec(),
                    old.store().closed(),
                    *old.counters(),
                );
                for (name, window) in old.store().fetch_range((None, None), Time::MIN, Time::MAX) {
                    let key = new.store_mut().intern(name).unwrap();
                    new.store_mut().put(key, *window);
                }
                assert_eq!(new.store().open(), old.store().open());
            }
            _ => panic!("the same kind"),
        }
        again
    }

    fn stored(&self) -> usize {
        match self {
            Self::SessionOperator(sessions) => sessions.store().len(),
            Self::SlidingOperator(slides) => slides.store().len(),
        }
    }
}

/// The operator, its fold, and the width of sliding windows.
fn operator(spec: &Json) -> (Operator, Fold, Option<u64>) {
    let kind = spec["kind"].as_str().unwrap();
    let inputs = if kind.ends_with("cogroup") { 2 } else { 1 };
    let grace = Span(spec["grace"].as_u64().unwrap());
    let emit = if spec["emit"] == "close" {
        Emit::Close
    } else {
        Emit::Update
    };
    let retention = spec["retention"].as_u64().map(Span);
    let fold = match spec["agg"].as_str() {
        None => Fold::Text,
        Some("nullable") => Fold::Nullable,
        Some("count") => Fold::Count,
        Some("reduce") => Fold::Reduce,
        Some(other) => panic!("unknown aggregate {other}"),
    };
    if let Some(gap) = spec["gap"].as_u64().map(Span) {
        let until = retention.filter(|&until| until >= gap.saturating_add(grace));
        let rule = session::SessionWindows {
            until,
            emit,
            ..session::SessionWindows::with_gap(gap, Some(grace))
        };
        return (
            Operator::SessionOperator(SessionOperator::new(rule, inputs).unwrap()),
            fold,
            None,
        );
    }
    let difference = Span(spec["diff"].as_u64().unwrap());
    let until =
        retention.filter(|&until| until >= difference.saturating_mul(2).saturating_add(grace));
    let rule = sliding::SlidingWindows {
        until,
        emit,
        ..sliding::SlidingWindows::with_difference(difference, Some(grace))
    };
    (
        Operator::SlidingOperator(SlidingOperator::new(rule, inputs).unwrap()),
        fold,
        Some(difference.0),
    )
}

/// The first step whose answer differs, if any. With `restart`, the operator is rebuilt after that
/// many steps.
fn replay(scenario: &Json, restart: Option<usize>) -> std::result::Result<(), String> {
    let (mut operator, fold, difference) = operator(&scenario["spec"]);
    let mut states = Texts::new(fold);
    let gap = Span(scenario["spec"]["gap"].as_u64().unwrap_or_default());
    let mut left_out = 0;
    for (number, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
        let input = &step["in"];
        let second = input[3] == "in2";
        let value = Value {
            text: input[1].as_str(),
            sign: if second { '-' } else { '+' },
        };
        let mut out = Vec::new();
        let lacks_value = value.text.is_none() && difference.is_some();
        if let Some(key) = input[0].as_str().filter(|_| !lacks_value) {
            let extent = Extent::of(Time(input[2].as_i64().unwrap()), gap);
            operator.push(
                Record {
                    input: usize::from(second),
                    ..Record::of(key.as_bytes(), extent, value)
                },
                &mut states,
                &mut |name: &[u8], change: WindowChange, states: &mut Texts<'_>| {
                    let start = change.window.start.0;
                    let end = difference.map_or(i128::from(change.window.end.0), |difference| {
                        i128::from(start) + i128::from(difference)
                    });
                    let end: Json = serde_json::from_str(&end.to_string()).unwrap();
                    let text = change.slot.and_then(|slot| states.text(slot));
                    out.push(serde_json::json!([
                        std::str::from_utf8(name).unwrap(),
                        start,
                        end,
                        text,
                        change.time.0
                    ]));
                    Ok(())
                },
            );
        } else {
            left_out += 1;
        }
        let dropped = operator.dropped() + left_out;
        if Json::Array(out.clone()) != step["out"] || step["dropped"] != dropped {
            return Err(format!(
                "step {number} {input}: expected {} dropped {}, got {} dropped {dropped}",
                step["out"],
                step["dropped"],
                Json::Array(out)
            ));
        }
        match restart {
            Some(every) if number % every == 0 => operator = operator.restarted(&scenario["spec"]),
            Some(_) => {}
            None => assert_eq!(
                states.used(),
                operator.stored(),
                "every slot belongs to a stored window"
            ),
        }
    }
    Ok(())
}

fn scenarios() -> Vec<Json> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    let text: Vec<String> = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    text.iter()
        .flat_map(|text| text.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Replays all scenarios; the names show which mode failed.
fn replay_all(mode: &str, restart: Option<usize>) {
    let scenarios = scenarios();
    let answer = |scenario: &Json| {
        replay(scenario, restart)
            .err()
            .map(|difference| format!("{}: {difference}", scenario["spec"]))
    };
    let failed: Vec<String> = scenarios.iter().filter_map(answer).collect();
    println!(
        "{mode}: {} passed, {} failed",
        scenarios.len() - failed.len(),
        failed.len()
    );
    assert!(
        failed.is_empty(),
        "{mode}: {} of {} failed; first:\n{}",
        failed.len(),
        scenarios.len(),
        failed[..failed.len().min(5)].join("\n")
    );
    assert!(
        scenarios.len() >= 509,
        "all recorded runs are there: {}",
        scenarios.len()
    );
}

#[test]
fn recorded_runs_are_answered_record_for_record() {
    replay_all("without a stop", None);
}

#[test]
fn recorded_runs_are_answered_across_restarts() {
    for every in [1, 2, 7] {
        replay_all(&format!("restarted after every {every}"), Some(every));
    }
}
