//! Deserialization of whole numbers. JSON has only one number type, and JSON Schema regards `1.0`
//! as an integer. So a whole number may be written with a fraction of zero.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A whole number, which may be written with a fraction of zero, such as `3.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole(pub i64);

const EXPECTED: &str = "a whole number";

/// Largest number up to which `f64` represents every whole number exactly: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Deserializes an integer of type `T`, which may be written as `3` or `3.0`. For use in
/// `#[serde(deserialize_with)]`.
pub(crate) fn number<'de, D: Deserializer<'de>, T: TryFrom<i64>>(
    deserializer: D,
) -> Result<T, D::Error> {
    within_type(Whole::deserialize(deserializer)?)
}

/// Deserializes an optional integer of type `T`, which may be written as `3` or `3.0`. For use in
/// `#[serde(default, deserialize_with)]`.
pub(crate) fn optional<'de, D: Deserializer<'de>, T: TryFrom<i64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::<Whole>::deserialize(deserializer)?.map(within_type).transpose()
}

fn within_type<T: TryFrom<i64>, E: Error>(Whole(number): Whole) -> Result<T, E> {
    T::try_from(number).map_err(|_| {
        E::invalid_value(Unexpected::Signed(number), &"a whole number in the allowed range")
    })
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Number)
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Whole, E> {
        Ok(Whole(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Whole, E> {
        let whole = i64::try_from(number);
        whole.map(Whole).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Whole, E> {
        if number.fract() != 0.0 || number.abs() > MAX_EXACT {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        #[expect(clippy::cast_possible_truncation, reason = "whole, and at most 2^53")]
        let whole = number as i64;
        Ok(Whole(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Version {
        #[serde(deserialize_with = "number")]
        version: u32,
        #[serde(default, deserialize_with = "optional")]
        expected: Option<u32>,
    }

    fn read(version: &str) -> Result<u32, String> {
        let text = format!(r#"{{"version":{version}}}"#);
        let read = serde_json::from_str::<Version>(&text);
        read.map(|read| read.version).map_err(|error| error.to_string())
    }

    #[test]
    fn a_fraction_of_zero_is_a_whole_number() {
        for (text, version) in [("1", 1), ("1.0", 1), ("10e1", 100), ("-0.0", 0)] {
            assert_eq!(read(text), Ok(version), "{text}");
        }
    }

    #[test]
    fn other_numbers_and_values_are_refused() {
        for text in ["1.5", "-1", "-1.0", "4294967296", "1e300", "18446744073709551615", "\"1\""] {
            let error = read(text).unwrap_err();
            assert!(error.contains("expected a whole number"), "{text}: {error}");
        }
    }

    #[test]
    fn an_optional_number_may_be_absent_or_null() {
        for (text, expected) in [
            (r#"{"version":1}"#, None),
            (r#"{"version":1,"expected":null}"#, None),
            (r#"{"version":1,"expected":2.0}"#, Some(2)),
        ] {
            assert_eq!(serde_json::from_str::<Version>(text).unwrap().expected, expected);
        }
    }
}
