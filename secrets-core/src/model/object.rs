//! Deserialization of structs from JSON objects only. By default, serde also accepts a JSON array
//! with the field values in order.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

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
