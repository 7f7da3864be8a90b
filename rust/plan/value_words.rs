//! Values of a specification, for errors.

use serde_json::Value;

/// The largest number of characters of a value in an error.
const LONGEST: usize = 80;

/// A value between single quotes if it is a string.
pub(super) fn quoted(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(value)) => format!("'{value}'"),
        other => text(other),
    }
}

/// The values of a list, quoted.
pub(super) fn listed(values: Option<&Value>) -> String {
    let values = values.and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<String> = values.map(|value| quoted(Some(value))).collect();
    if texts.is_empty() {
        "none".into()
    } else {
        short(&texts.join(", "))
    }
}

pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "none".into(),
        Some(Value::String(value)) => short(value),
        Some(other) => short(&other.to_string()),
    }
}

/// The text, cut after `LONGEST` characters.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
