//! Durations as users write them.

use serde_json::Value;

/// The units of a duration, in microseconds.
const UNITS: [(&str, i64); 7] = [
    ("week", 604_800_000_000),
    ("day", 86_400_000_000),
    ("hour", 3_600_000_000),
    ("minute", 60_000_000),
    ("second", 1_000_000),
    ("millisecond", 1_000),
    ("microsecond", 1),
];

/// A duration in microseconds as words, such as `1 hour 30 minutes`; `none` without one. Words stay.
pub(super) fn duration(value: Option<&Value>) -> String {
    if let Some(words) = value.and_then(Value::as_str) {
        return words.into();
    }
    let Some(mut rest) = value.and_then(Value::as_i64) else {
        return "none".into();
    };
    let mut words = Vec::new();
    for (unit, size) in UNITS {
        let count = rest / size;
        rest %= size;
        if count != 0 {
            words.push(format!(
                "{count} {unit}{}",
                if count == 1 { "" } else { "s" }
            ));
        }
    }
    if words.is_empty() {
        return "0 seconds".into();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_words() {
        let words = |micros: i64| duration(Some(&json!(micros)));
        assert_eq!(words(5_400_000_000), "1 hour 30 minutes");
        assert_eq!(words(1), "1 microsecond");
        assert_eq!(words(0), "0 seconds");
        assert_eq!(duration(None), "none");
    }
}
