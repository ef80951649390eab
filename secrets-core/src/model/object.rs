//! Deserialization of structs from JSON objects only. By default, serde also accepts a JSON array
//! with the field values in order.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Wrapper for a value of type `T` that deserializes from a JSON object only.
#[derive(Debug)]
pub struct Object<T>(pub T);

/// Deserializes a struct from a JSON object only. Used in `#[serde(deserialize_with)]`.
pub(crate) fn one<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(read)| read)
}

/// Deserializes a struct from a JSON object, or from `null`. Used in `#[serde(deserialize_with)]`.
pub(crate) fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let object = Option::<Object<T>>::deserialize(deserializer)?;
    Ok(object.map(|Object(read)| read))
}

/// Deserializes a list whose elements must be JSON objects. Used in `#[serde(deserialize_with)]`.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|Object(read)| read).collect())
}

/// Deserializes a list like [`list`], but at most `MAX` + 1 elements, so that the memory for a list
/// that is too long is bounded. The caller must refuse a list with more than `MAX` elements.
pub(crate) fn bounded_list<'de, const MAX: usize, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(Elements::<MAX, T>(PhantomData))
}

struct Elements<const MAX: usize, T>(PhantomData<T>);

impl<'de, const MAX: usize, T: Deserialize<'de>> Visitor<'de> for Elements<MAX, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut elements = Vec::new();
        while elements.len() <= MAX {
            let Some(Object(element)) = list.next_element()? else { return Ok(elements) };
            elements.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(elements)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_list_has_at_most_one_element_too_many() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Point {
            x: i32,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Points {
            #[serde(deserialize_with = "bounded_list::<2, _, _>")]
            list: Vec<Point>,
        }
        let read = |list: &str| serde_json::from_str::<Points>(&format!(r#"{{"list":{list}}}"#));

        for (list, length) in [
            ("[]", 0),
            (r#"[{"x":1},{"x":2}]"#, 2),
            (r#"[{"x":1},{"x":2},{"x":3}]"#, 3),
            (r#"[{"x":1},{"x":2},{"x":3},{"x":4},5]"#, 3),
        ] {
            assert_eq!(read(list).unwrap().list.len(), length);
        }
        for list in ["null", "[[1]]", "[1]", r#"[{"x":1},{"x":2},{"x":3},]"#] {
            assert!(read(list).is_err());
        }
    }

    #[test]
    fn a_struct_is_read_from_an_object_only() {
        #[derive(Debug, serde::Deserialize)]
        struct Point {
            x: i32,
        }

        let Object(Point { x }) = serde_json::from_str(r#"{"x":1}"#).unwrap();

        assert_eq!(x, 1);
        for other in ["[1]", "1", "null", r#""x""#] {
            let error = serde_json::from_str::<Object<Point>>(other).unwrap_err().to_string();
            assert!(error.contains("expected an object"), "{error}");
        }
    }
}
