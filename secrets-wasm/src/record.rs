//! Decrypting stored records and checking tokens, without a service.

use js_sys::Error;
use secrets_core::crypto::{ProjectKey, Purpose, RecordContext, Sealed, TokenText};
use uuid::Uuid;
use wasm_bindgen::prelude::*;

use crate::arguments::{Arguments, bytes, id, key, number};
use crate::failure::failure;

/// Decrypts a stored record. Fails unless the record is intact and was encrypted for the context
/// that the fields of `record` give.
#[wasm_bindgen(js_name = openRecord, skip_typescript)]
pub fn open_record(record: &JsValue) -> Result<String, Error> {
    let given = Arguments(record);
    let key = ProjectKey::new(&given.get("key", key)?, given.get("keyVersion", number)?);
    let name: String = given.get("keyName", key_name)?;
    let context = RecordContext {
        purpose: given.get("purpose", |value| Purpose::from_number(number(value)?))?,
        hidden: given.get("hidden", JsValue::as_bool)?,
        instance: given.get("instance", id)?.into(),
        project: given.get("project", id)?.into(),
        // A record is bound to the nil UUID if it has no environment.
        environment: Some(given.get_if_any("environment", id)?.unwrap_or(Uuid::nil()).into()),
        object: given.get("object", id)?,
        key: &name,
        version: given.get("version", number)?,
    };
    match Sealed::from_bytes(given.get("record", bytes)?).open(&key, &context) {
        Ok(value) => Ok(value.reveal().to_owned()),
        Err(reason) => Err(failure("undecryptable", &reason.to_string())),
    }
}

/// True if a string has the syntax and checksum of a service token. Detects typing errors without a
/// server.
#[must_use]
#[wasm_bindgen(js_name = isPlausibleToken, skip_typescript)]
pub fn is_plausible_token(text: &str) -> bool {
    TokenText::is_plausible(text)
}

fn key_name(value: &JsValue) -> Option<String> {
    value.as_string().filter(|name| name.len() <= 255)
}
