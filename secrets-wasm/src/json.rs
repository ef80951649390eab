//! Conversion of values between Rust and JavaScript, as JSON.

use js_sys::{Error, JSON};
use serde::Serialize;
use wasm_bindgen::JsValue;
use zeroize::Zeroizing;

use crate::failure::failure;

/// Converts a Rust value to a JavaScript value.
pub(crate) fn to_js(value: &impl Serialize) -> Result<JsValue, Error> {
    let broken = || failure("internal", "internal error");
    let text = serde_json::to_string(value).map(Zeroizing::new).map_err(|_| broken())?;
    JSON::parse(&text).map_err(|_| broken())
}

/// Converts a JavaScript value to a Rust value. Uses `JSON.stringify`, which omits undefined
/// fields. `name` is the name of the argument, for the error.
#[cfg(any(feature = "formats", feature = "service"))]
pub(crate) fn from_js<T: serde::de::DeserializeOwned>(
    name: &str,
    value: &JsValue,
) -> Result<T, Error> {
    let broken = || crate::failure::invalid(name, "is missing or invalid");
    let text = JSON::stringify(value).ok().and_then(|text| text.as_string());
    let text = text.map(Zeroizing::new).ok_or_else(broken)?;
    serde_json::from_str(&text).map_err(|_| broken())
}
