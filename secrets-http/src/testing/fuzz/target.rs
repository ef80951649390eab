//! Fuzz targets of paths and queries.

use std::borrow::Cow;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use secrets_core::testing::fuzz::assert_no_echo;

use crate::serve::path::{BadPath, segments};
use crate::serve::target::Target;

/// Constant text of an error message, which does not count as a repetition of the input.
const RULE: &str = "project is a required query parameter";

/// Parses the input as the path of a request, and checks that its segments are safe and decoded
/// once.
pub fn path(bytes: &[u8]) {
    let Ok(path) = std::str::from_utf8(bytes) else { return };
    let decoded = match segments(path) {
        Ok(decoded) => decoded,
        Err(BadPath::TrailingSlash) => {
            let without = path.strip_suffix('/').unwrap();
            return assert!(segments(without).is_ok_and(|rest| !rest.is_empty()));
        }
        Err(BadPath::Malformed) => return,
    };
    for segment in &decoded {
        assert!(!segment.is_empty() && segment != "." && segment != "..");
        assert!(!segment.chars().any(|c| matches!(c, '/' | '\\') || c.is_control()));
    }
    // Decoded once, as by every other decoder.
    let raw = path[1..].split('/').filter(|segment| !segment.is_empty());
    let other = raw.map(|segment| percent_decode_str(segment).decode_utf8().unwrap());
    assert!(decoded.iter().eq(other.collect::<Vec<_>>().iter()), "decoded twice");

    let encode =
        |segment: &Cow<'_, str>| utf8_percent_encode(segment, NON_ALPHANUMERIC).to_string();
    let again = format!("/{}", decoded.iter().map(encode).collect::<Vec<_>>().join("/"));
    assert_eq!(segments(&again), Ok(decoded), "an encoded path leads to the same place");
}

/// Parses the input as the query of a request of External Secrets Operator. Checks the values, and
/// that no error repeats the input.
pub fn query(bytes: &[u8]) {
    const NAMES: [&str; 3] = ["project", "env", "key"];
    let Ok(query) = std::str::from_utf8(bytes) else { return };
    let target = Target::new(Vec::new(), Some(query));
    let given = parameters(query);
    let values = |name: &str| {
        let values = given.iter().filter(|(known, _)| known == name);
        values.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
    };
    for name in NAMES {
        assert_eq!(target.queries(name).collect::<Vec<_>>(), values(name));
        match target.query(name) {
            Ok(value) => assert!(value == values(name).first().copied() && values(name).len() < 2),
            Err(error) => {
                assert!(values(name).len() > 1, "{name}");
                assert_no_echo(bytes, &error.to_string(), RULE);
            }
        }
    }
    match target.required(NAMES) {
        Ok(found) => {
            for (name, value) in NAMES.into_iter().zip(found) {
                assert_eq!(values(name), [value]);
                assert!(!value.is_empty());
            }
        }
        Err(error) => {
            let is_bad = |name: &str| !matches!(values(name)[..], [value] if !value.is_empty());
            assert!(NAMES.into_iter().any(is_bad));
            assert_no_echo(bytes, &error.to_string(), RULE);
        }
    }
    numbers(&target, &values("limit"), bytes);
}

/// Checks the parsing of a number and a Boolean, whose names are `limit` and `flag`.
fn numbers(target: &Target, given: &[&str], bytes: &[u8]) {
    match target.number("limit") {
        Ok(None) => assert!(given.is_empty()),
        Ok(Some(number)) => {
            assert_eq!(
                given[0].trim_start_matches('0'),
                number.to_string().trim_start_matches('0')
            );
        }
        Err(error) => assert_no_echo(bytes, &error.to_string(), RULE),
    }
    match target.flag("flag") {
        Ok(Some(flag)) => {
            assert_eq!(target.query("flag").ok().flatten(), Some(flag.to_string().as_str()));
        }
        Ok(None) => assert_eq!(target.queries("flag").count(), 0),
        Err(error) => assert_no_echo(bytes, &error.to_string(), RULE),
    }
}

/// Decodes a query: pairs separated by `&`, in which `+` is a space.
fn parameters(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        String::from_utf8_lossy(&percent_decode_str(&text).collect::<Vec<_>>()).into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}
