//! The module for JavaScript. This crate only translates: what it does is secrets-core's.

use js_sys::{Error, JsString, Reflect, Uint8Array};
use secrets_core::crypto::{Key, ProjectKey, Purpose, RecordContext, Sealed, TokenText};
use secrets_core::ids;
use uuid::Uuid;
use wasm_bindgen::convert::TryFromJsValue;
use wasm_bindgen::prelude::*;
use zeroize::Zeroizing;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A sealed record, the key that opens it, and what it was sealed for. */
export interface SealedRecord {
  record: Uint8Array;
  /** The project's key, 32 bytes. */
  key: Uint8Array;
  keyVersion: number;
  purpose: number;
  hidden: boolean;
  instance: string;
  project: string;
  environment?: string | null;
  /** The secret, or whatever else the record belongs to. */
  object: string;
  /** Empty where there is none. */
  keyName: string;
  /** 0n where there is none. */
  version: bigint;
}

/** What is thrown: `undecryptable` for a record, `invalid` for arguments that cannot be any. */
export interface SecretsError extends Error {
  kind: "undecryptable" | "invalid";
}
"#;

#[wasm_bindgen]
extern "C" {
    /// The arguments of [`open_record`].
    #[wasm_bindgen(typescript_type = "SealedRecord")]
    pub type SealedRecord;
}

/// Opens a sealed record: gives its value if the record is whole and belongs where it is said to.
#[wasm_bindgen(js_name = openRecord)]
pub fn open_record(record: &SealedRecord) -> Result<String, Error> {
    let given = Arguments(record.as_ref());
    let key = ProjectKey::new(&given.get("key", key)?, given.get("keyVersion", number)?);
    let name: String = given.get("keyName", key_name)?;
    let context = RecordContext {
        purpose: given.get("purpose", |value| Purpose::from_number(number(value)?))?,
        hidden: given.get("hidden", JsValue::as_bool)?,
        instance: given.get("instance", id)?.into(),
        project: given.get("project", id)?.into(),
        environment: Some(given.get("environment", id_or_nil)?.into()),
        object: given.get("object", id)?,
        key: &name,
        version: given.get("version", number)?,
    };
    match Sealed::from_bytes(given.get("record", bytes)?).open(&key, &context) {
        Ok(value) => Ok(value.reveal().to_owned()),
        Err(reason) => Err(error("undecryptable", &reason.to_string())),
    }
}

/// Whether a text can be a service token: says no to a typing error, without asking a server.
#[must_use]
#[wasm_bindgen(js_name = isPlausibleToken)]
pub fn is_plausible_token(text: &str) -> bool {
    TokenText::is_plausible(text)
}

struct Arguments<'a>(&'a JsValue);

impl Arguments<'_> {
    /// One argument. An error names it and does not show it: it may be the key.
    fn get<T>(&self, name: &str, read: impl Fn(&JsValue) -> Option<T>) -> Result<T, Error> {
        let value = Reflect::get(self.0, &JsString::from(name)).ok();
        value
            .and_then(|value| read(&value))
            .ok_or_else(|| error("invalid", &format!("{name} is missing or cannot be one")))
    }
}

fn bytes(value: &JsValue) -> Option<Vec<u8>> {
    Some(Uint8Array::try_from_js_value_ref(value)?.to_vec())
}

fn key(value: &JsValue) -> Option<Key> {
    let bytes = Zeroizing::new(bytes(value)?);
    Some(Key::from_bytes(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
}

fn key_name(value: &JsValue) -> Option<String> {
    value.as_string().filter(|name| name.len() <= 255)
}

fn id(value: &JsValue) -> Option<Uuid> {
    ids::parse(&value.as_string()?)
}

/// No environment and the nil one are the same to a record.
fn id_or_nil(value: &JsValue) -> Option<Uuid> {
    if value.is_null() || value.is_undefined() { Some(Uuid::nil()) } else { id(value) }
}

/// A number that is exactly what was given: the conversion alone would wrap round.
fn number<N: TryFromJsValue>(value: &JsValue) -> Option<N>
where
    JsValue: PartialEq<N>,
{
    N::try_from_js_value_ref(value).filter(|number| value == number)
}

fn error(kind: &str, message: &str) -> Error {
    let error = Error::new(message);
    // An error just made takes a property; there is nobody to tell if it did not.
    let _ = Reflect::set(&error, &JsString::from("kind"), &JsString::from(kind));
    error
}
