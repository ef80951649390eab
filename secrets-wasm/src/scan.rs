//! Scanning text for credentials.

use js_sys::Error;
use secrets_core::scanner::{self, Rules, Sighting};
use wasm_bindgen::prelude::*;

use crate::json::to_js;

/// Finds credentials in a text. Returns them redacted to their first and last characters.
#[wasm_bindgen(skip_typescript)]
pub fn scan(text: &str, path: Option<String>) -> Result<JsValue, Error> {
    let path = path.unwrap_or_default();
    let found = scanner::scan(text, &path, Rules::built_in());
    let sightings: Vec<Sighting> = found.iter().map(|found| found.sighting(text)).collect();
    to_js(&sightings)
}
