//! Named arguments of a function that JavaScript calls: the fields of an object.

use js_sys::{Error, JsString, Reflect, Uint8Array};
use secrets_core::crypto::Key;
use secrets_core::model::ids;
use uuid::Uuid;
use wasm_bindgen::JsValue;
use wasm_bindgen::convert::TryFromJsValue;
use zeroize::Zeroizing;

use crate::failure::invalid;

/// JavaScript object whose fields are the arguments of a function.
pub(crate) struct Arguments<'a>(pub(crate) &'a JsValue);

impl Arguments<'_> {
    /// Reads a required argument. The error contains the name of the argument but not its value,
    /// which may be a key.
    pub(crate) fn get<T>(
        &self,
        name: &str,
        read: impl Fn(&JsValue) -> Option<T>,
    ) -> Result<T, Error> {
        read(&self.value(name)).ok_or_else(|| invalid(name, "is missing or invalid"))
    }

    /// Reads an optional argument. Returns `None` if it is null or undefined.
    pub(crate) fn get_if_any<T>(
        &self,
        name: &str,
        read: impl Fn(&JsValue) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let value = self.value(name);
        if value.is_null() || value.is_undefined() {
            return Ok(None);
        }
        read(&value).map(Some).ok_or_else(|| invalid(name, "is missing or invalid"))
    }

    /// Returns a field of the object; undefined if the field is missing or `self` is not an object.
    fn value(&self, name: &str) -> JsValue {
        Reflect::get(self.0, &JsString::from(name)).unwrap_or(JsValue::UNDEFINED)
    }
}

pub(crate) fn bytes(value: &JsValue) -> Option<Vec<u8>> {
    Some(Uint8Array::try_from_js_value_ref(value)?.to_vec())
}

pub(crate) fn key(value: &JsValue) -> Option<Key> {
    let bytes = Zeroizing::new(bytes(value)?);
    Some(Key::from_bytes(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
}

pub(crate) fn id(value: &JsValue) -> Option<Uuid> {
    ids::parse(&value.as_string()?)
}

/// Converts a JavaScript number to an integer. Returns `None` if the integer type cannot represent
/// it. The conversion of wasm-bindgen would wrap around instead.
pub(crate) fn number<N: TryFromJsValue>(value: &JsValue) -> Option<N>
where
    JsValue: PartialEq<N>,
{
    N::try_from_js_value_ref(value).filter(|number| value == number)
}
