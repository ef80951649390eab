//! What is thrown: an `Error` with a `kind`, and with what else is known of it.

use js_sys::{Error, JsString, Reflect};
use wasm_bindgen::JsValue;

/// An error of a kind.
pub(crate) fn failure(kind: &str, message: &str) -> Error {
    let error = Error::new(message);
    set(&error, "kind", &JsString::from(kind));
    error
}

/// An argument that cannot be one.
pub(crate) fn invalid(name: &str, rule: &str) -> Error {
    failure("invalid", &format!("{name} {rule}"))
}

/// What the core refuses, with the body that HTTP answers.
#[cfg(any(feature = "formats", feature = "service"))]
pub(crate) fn refused(error: &secrets_core::model::Error) -> Error {
    use secrets_core::model::ErrorBody;

    use crate::json::to_js;

    let thrown = failure(error.kind(), &error.to_string());
    let body = to_js(&ErrorBody::of(error)).unwrap_or(JsValue::UNDEFINED);
    let of_body = |name: &str| Reflect::get(&body, &JsString::from(name)).unwrap_or_default();
    let details = of_body("details");
    let fields = Reflect::get(&details, &JsString::from("fields")).unwrap_or_default();
    set(&thrown, "fields", &fields);
    for name in ["code", "resource", "plan", "limit", "current"] {
        set(&thrown, name, &of_body(name));
    }
    thrown
}

/// What is not known is not there.
fn set(error: &Error, name: &str, value: &JsValue) {
    if !value.is_undefined() {
        // An error just made takes a property; there is nobody to tell if it did not.
        let _ = Reflect::set(error, &JsString::from(name), value);
    }
}
