//! The unit of the lengths of time in a specification: microseconds, or nanoseconds where a length needs
//! them. Specifications in JSON are compared in one unit.

use arrow_schema::TimeUnit;
use serde_json::{Value, json};

use super::spec::{Spec, Specification};
use crate::core::error::{Error, Result};

/// Whether lengths are in nanoseconds.
const NANOSECONDS: &str = "nanoseconds";

/// The lengths of a query, of its windows, and of an aggregate.
const OF_QUERY: [&str; 3] = ["grace", "until", "every"];
const OF_WINDOWS: [&str; 5] = ["gap", "longest_gap", "longest", "difference", "resolution"];
const OF_AGGREGATE: [(&str, &str); 3] = [
    ("frame", "difference"),
    ("frame", "delay"),
    ("funnel", "within"),
];

impl Spec {
    /// The unit of times in which lengths count as if they were microseconds. Times in nanoseconds have
    /// as many ticks as lengths in nanoseconds.
    pub(crate) fn length_unit(&self, unit: TimeUnit) -> Result<TimeUnit> {
        match (self.nanoseconds, unit) {
            (false, _) => Ok(unit),
            (true, TimeUnit::Nanosecond) => Ok(TimeUnit::Microsecond),
            (true, _) => Err(Error::Argument {
                argument: "time".into(),
                got: format!("times in {unit:?}s"),
                allowed: "times in nanoseconds, as the lengths are".into(),
            }),
        }
    }
}

/// Writes lengths in microseconds if all of them are whole ones.
pub(super) fn in_widest_unit(specification: &mut Specification) {
    if !is_in_nanoseconds(specification) {
        return;
    }
    let mut are_whole = true;
    each_length(specification, &mut |length| {
        are_whole &= length.as_i64().is_none_or(|length| length % 1_000 == 0);
    });
    if are_whole {
        each_length(specification, &mut |length| {
            if let Some(nanoseconds) = length.as_i64() {
                *length = json!(nanoseconds / 1_000);
            }
        });
        specification.remove(NANOSECONDS);
    }
}

/// Writes the lengths of both in nanoseconds if those of one are.
pub(super) fn in_one_unit(one: &mut Specification, other: &mut Specification) {
    let units = (is_in_nanoseconds(one), is_in_nanoseconds(other));
    let coarse = match units {
        (false, true) => one,
        (true, false) => other,
        _ => return,
    };
    each_length(coarse, &mut |length| {
        if let Some(microseconds) = length.as_i64() {
            *length = json!(microseconds.saturating_mul(1_000));
        }
    });
    coarse.insert(NANOSECONDS.into(), true.into());
}

/// Both with lengths in microseconds, and as words where these are not whole, for messages.
pub(super) fn in_words(
    one: &Specification,
    other: &Specification,
) -> (Specification, Specification) {
    let (mut one, mut other) = (one.clone(), other.clone());
    in_one_unit(&mut one, &mut other);
    for specification in [&mut one, &mut other] {
        if is_in_nanoseconds(specification) {
            each_length(specification, &mut |length| match length.as_i64() {
                Some(nanoseconds) if nanoseconds % 1_000 == 0 => {
                    *length = json!(nanoseconds / 1_000)
                }
                Some(nanoseconds) => *length = json!(format!("{nanoseconds} nanoseconds")),
                None => (),
            });
        }
    }
    (one, other)
}

/// Whether the lengths of a specification are in nanoseconds.
pub(super) fn is_in_nanoseconds(specification: &Specification) -> bool {
    specification.get(NANOSECONDS) == Some(&Value::Bool(true))
}

fn each_length(specification: &mut Specification, change: &mut dyn FnMut(&mut Value)) {
    for name in OF_QUERY {
        specification.get_mut(name).map(&mut *change);
    }
    if let Some(windows) = specification.get_mut("windows") {
        for name in OF_WINDOWS {
            windows.get_mut(name).map(&mut *change);
        }
    }
    let aggregates = specification.get_mut("aggregates");
    for aggregate in aggregates
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        for (part, name) in OF_AGGREGATE {
            let length = aggregate.get_mut(part).and_then(|part| part.get_mut(name));
            length.map(&mut *change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(gap: i64, more: &Value) -> Specification {
        let mut specification = json!({
            "windows": {"kind": "session", "gap": gap},
            "aggregates": [{"funnel": {"within": gap}}],
        });
        specification
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        specification.as_object().unwrap().clone()
    }

    #[test]
    fn lengths_are_compared_in_one_unit() {
        let fine = json!({"nanoseconds": true, "grace": 500});
        let (mut one, mut other) = (sessions(2, &json!({})), sessions(2_000, &fine));
        in_one_unit(&mut one, &mut other);
        other.remove("grace");
        assert_eq!(one, other);
        in_widest_unit(&mut other);
        assert_eq!(other, sessions(2, &json!({})));
        let mut odd = sessions(2_001, &fine);
        in_widest_unit(&mut odd);
        assert_eq!(odd, sessions(2_001, &fine));
        let (odd, whole) = in_words(&odd, &sessions(2, &json!({})));
        assert_eq!(odd["windows"]["gap"], json!("2001 nanoseconds"));
        assert_eq!(whole["windows"]["gap"], json!(2));
        assert_eq!(odd["grace"], json!("500 nanoseconds"));
    }

    #[test]
    fn lengths_in_nanoseconds_need_times_in_nanoseconds() {
        let parse = |nanoseconds: bool| -> Spec {
            let text = json!({
                "keys": ["k"], "time": "t", "shards": 1, "aggregates": [],
                "windows": {"kind": "session", "gap": 5}, "nanoseconds": nanoseconds,
            });
            serde_json::from_value(text).unwrap()
        };
        let unit = |nanoseconds: bool, unit| parse(nanoseconds).length_unit(unit).ok();
        assert_eq!(
            unit(true, TimeUnit::Nanosecond),
            Some(TimeUnit::Microsecond)
        );
        assert_eq!(unit(true, TimeUnit::Microsecond), None);
        assert_eq!(
            unit(false, TimeUnit::Nanosecond),
            Some(TimeUnit::Nanosecond)
        );
        assert!(
            !serde_json::to_string(&parse(false))
                .unwrap()
                .contains("nanoseconds")
        );
    }
}
