//! Verification of webhook deliveries, for programs that receive them.

use js_sys::Error;
use secrets_core::crypto::WebhookSecret;
use secrets_core::model::Time;
use secrets_core::rotations::webhooks::Delivered;
use wasm_bindgen::prelude::*;

use crate::arguments::{Arguments, bytes, number};
use crate::clock;
use crate::failure::{failure, invalid};

/// Verifies a webhook delivery: its signature must be made with the signing secret of the webhook,
/// and its timestamp must be within five minutes of `now`, by default the current time.
#[wasm_bindgen(js_name = verifyWebhook, skip_typescript)]
pub fn verify_webhook(delivery: &JsValue) -> Result<(), Error> {
    let given = Arguments(delivery);
    let secret = WebhookSecret::new(given.get("secret", JsValue::as_string)?);
    let secret = secret.map_err(|rule| invalid("secret", &rule.to_string()))?;
    let text = |name| given.get(name, JsValue::as_string);
    let (id, timestamp, signature) = (text("id")?, text("timestamp")?, text("signature")?);
    let body = given
        .get("body", |value| value.as_string().map(String::into_bytes).or_else(|| bytes(value)))?;
    let delivered =
        Delivered { id: &id, timestamp: &timestamp, signature: &signature, body: &body };
    let now = given.get_if_any("now", seconds)?.unwrap_or_else(clock::now);
    let checked = delivered.check(&secret, now);
    checked.map_err(|why| failure(why.kind(), &why.to_string()))
}

fn seconds(value: &JsValue) -> Option<Time> {
    Time::from_timestamp(i64::from(number::<u32>(value)?), 0)
}
