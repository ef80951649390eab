//! Errors that are thrown to JavaScript: `Error` objects with a `kind` and, for some kinds, more
//! fields.

use js_sys::{Error, JsString, Reflect};
use wasm_bindgen::JsValue;

/// Creates a JavaScript error with a `kind`.
pub(crate) fn failure(kind: &str, message: &str) -> Error {
    let error = Error::new(message);
    set(&error, "kind", &JsString::from(kind));
    error
}

/// Creates the error for an invalid argument, with its name and the violated rule.
pub(crate) fn invalid(name: &str, rule: &str) -> Error {
    failure("invalid", &format!("{name} {rule}"))
}

/// Converts an error of secrets-core to a JavaScript error, with the same fields as the body of an
/// HTTP error response.
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

/// Sets a property of an error unless the value is undefined.
fn set(error: &Error, name: &str, value: &JsValue) {
    if !value.is_undefined() {
        // A new error accepts properties; a failure could not be reported anyway.
        let _ = Reflect::set(error, &JsString::from(name), value);
    }
}
