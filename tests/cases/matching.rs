//! Comparison of the result of a call with the result that a behavioural case expects.

use chrono::DateTime;
use serde_json::Value;
use uuid::Uuid;

use crate::case::Expected;
use crate::host::Failure;

/// Returns the reason why an output does not match the expected output; `None` if it matches.
/// `place` is the position of the value in the whole output, such as `secrets.0.key`, for the
/// message.
pub(crate) fn mismatch(expected: &Value, given: &Value, place: &str) -> Option<String> {
    match (expected, given) {
        (Value::String(text), _) if text == "$any" => {
            given.is_null().then(|| format!("{place}: missing"))
        }
        (Value::String(text), Value::String(given)) if text == "$uuid" => {
            given.parse::<Uuid>().err().map(|_| format!("{place}: {given} is no UUID"))
        }
        (Value::String(text), Value::String(given)) if text == "$time" => {
            DateTime::parse_from_rfc3339(given)
                .err()
                .map(|_| format!("{place}: {given} is not a time"))
        }
        (Value::Object(expected), Value::Object(given)) => {
            expected.iter().find_map(|(name, expected)| {
                let place = format!("{place}.{name}");
                match (given.get(name), expected.as_str()) {
                    (None, Some("$absent")) => None,
                    (Some(_), Some("$absent")) => Some(format!("{place}: is there")),
                    (None, _) => Some(format!("{place}: is missing")),
                    (Some(given), _) => mismatch(expected, given, &place),
                }
            })
        }
        (Value::Array(expected), Value::Array(given)) => {
            if expected.len() != given.len() {
                return Some(format!("{place}: {} items, not {}", given.len(), expected.len()));
            }
            let mut pairs = expected.iter().zip(given).enumerate();
            pairs.find_map(|(at, (expected, given))| {
                mismatch(expected, given, &format!("{place}.{at}"))
            })
        }
        _ => (expected != given).then(|| format!("{place}: {given}, not {expected}")),
    }
}

/// Returns a message if an error differs from the expected error; `None` if it matches.
pub(crate) fn other_failure(expected: &Expected, failure: &Failure) -> Option<String> {
    let is_it = expected.kind == failure.kind
        && expected.code.as_ref().is_none_or(|code| *code == failure.code)
        && expected.fields.as_ref().is_none_or(|fields| *fields == failure.fields);
    (!is_it).then(|| format!("{failure:?}, not {expected:?}"))
}

/// Returns the value at a position in an output, such as `secrets.0.key`.
pub(crate) fn at<'a>(output: &'a Value, place: &str) -> Option<&'a Value> {
    place.split('.').filter(|part| !part.is_empty()).try_fold(output, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}
