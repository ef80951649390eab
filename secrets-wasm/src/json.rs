//! Values, as JSON between the two worlds.

use js_sys::{Error, JSON};
use serde::Serialize;
use wasm_bindgen::JsValue;
use zeroize::Zeroizing;

use crate::failure::failure;

/// A value for JavaScript.
pub(crate) fn to_js(value: &impl Serialize) -> Result<JsValue, Error> {
    let broken = || failure("internal", "internal error");
    let text = serde_json::to_string(value).map(Zeroizing::new).map_err(|_| broken())?;
    JSON::parse(&text).map_err(|_| broken())
}

/// A value from JavaScript: what JSON makes of it. A field that is undefined is not there.
#[cfg(any(feature = "formats", feature = "service"))]
pub(crate) fn from_js<T: serde::de::DeserializeOwned>(
    name: &str,
    value: &JsValue,
) -> Result<T, Error> {
    let broken = || crate::failure::invalid(name, "is missing or cannot be one");
    let text = JSON::stringify(value).ok().and_then(|text| text.as_string());
    let text = text.map(Zeroizing::new).ok_or_else(broken)?;
    serde_json::from_str(&text).map_err(|_| broken())
}
