//! Opening bundles (the encrypted exports of an environment) without a server.

use js_sys::Error;
use secrets_core::bundle::{BundleError, BundleMetadata, BundledSecret, Opener, Signer, Unlock};
use secrets_core::crypto::Passphrase;
use secrets_core::model::{EnvironmentId, ProjectId, Time};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::arguments::{Arguments, number};
use crate::clock;
use crate::failure::{failure, invalid};
use crate::json::to_js;

/// Contents of a bundle.
#[derive(Serialize)]
struct Opened {
    project: ProjectId,
    environment: EnvironmentId,
    seq: u64,
    created_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    signer: Signer,
    secrets: Vec<BundledSecret>,
}

/// Opens a bundle and returns its contents. Fails if the bundle was modified, needs another key or
/// passphrase, has expired, or has a lower sequence number than `atLeast`.
#[wasm_bindgen(js_name = openBundle, skip_typescript)]
pub fn open_bundle(bundle: &[u8], options: &JsValue) -> Result<JsValue, Error> {
    let opener = opener(&Arguments(options))?;
    let contents = opener.open_bytes(bundle).map_err(|refused| thrown(&refused))?;
    let signer = contents.signer();
    let BundleMetadata { project, environment, seq, created_at, expires_at } =
        contents.metadata().clone();
    let secrets = contents.collect::<Result<Vec<_>, _>>().map_err(|refused| thrown(&refused))?;
    to_js(&Opened { project, environment, seq, created_at, expires_at, signer, secrets })
}

fn opener(given: &Arguments<'_>) -> Result<Opener, Error> {
    Ok(Opener {
        unlock: unlock(given)?,
        signer: given.get_if_any("signer", |text| text.as_string()?.parse().ok())?,
        at_least: given.get_if_any("atLeast", whole)?.unwrap_or_default(),
        now: given.get_if_any("now", time)?.unwrap_or_else(clock::now),
    })
}

/// Reads the credential that opens a bundle: exactly one of `passphrase`, `key` and `privateKey`.
fn unlock(given: &Arguments<'_>) -> Result<Unlock, Error> {
    let key = given.get_if_any("key", |text| text.as_string()?.parse().ok())?;
    let private = given.get_if_any("privateKey", |text| text.as_string()?.parse().ok())?;
    let passphrase = given.get_if_any("passphrase", JsValue::as_string)?;
    match (key, private, passphrase) {
        (Some(key), None, None) => Ok(Unlock::Key(key)),
        (None, Some(private), None) => Ok(Unlock::Private(private)),
        (None, None, Some(text)) => match Passphrase::new(text) {
            Ok(passphrase) => Ok(Unlock::Passphrase(passphrase)),
            Err(rule) => Err(invalid("passphrase", &rule.to_string())),
        },
        _ => Err(failure("invalid", "give one of passphrase, key and privateKey")),
    }
}

/// Converts a JavaScript number to an integer. Returns `None` unless it is a whole number from 0 to
/// 2^53 - 1 (`MAX_SAFE_INTEGER`).
fn whole(value: &JsValue) -> Option<u64> {
    let max = js_sys::Number::MAX_SAFE_INTEGER;
    let number = value.as_f64().filter(|number| (0.0..=max).contains(number))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within bounds, and the fraction is checked below"
    )]
    let whole = number as u64;
    (number.fract() == 0.0).then_some(whole)
}

/// Converts a number of seconds since 1970 to a time; `None` unless it is an integer of 32 bits.
fn time(value: &JsValue) -> Option<Time> {
    Time::from_timestamp(i64::from(number::<u32>(value)?), 0)
}

fn thrown(refused: &BundleError) -> Error {
    failure(refused.kind(), &refused.to_string())
}
