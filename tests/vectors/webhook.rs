//! Tests of the golden vectors of webhook deliveries.

use secrets_core::crypto::WebhookSecret;
use secrets_core::model::Time;
use secrets_core::rotations::webhooks::{Delivered, Unproven};
use serde::Deserialize;

use crate::section;

#[derive(Deserialize)]
struct Vector {
    name: String,
    valid: bool,
    #[serde(default)]
    reason: String,
    secret: String,
    id: String,
    timestamp: String,
    signature: String,
    body: String,
    now: i64,
}

/// Verifies the delivery in a vector. Returns the kind of the error, or an empty string if the
/// delivery is accepted.
fn refusal(vector: &Vector) -> &'static str {
    let Ok(secret) = WebhookSecret::new(vector.secret.clone()) else { return "invalid" };
    let Vector { id, timestamp, signature, body, .. } = vector;
    let delivered = Delivered { id, timestamp, signature, body: body.as_bytes() };
    let now = Time::from_timestamp(vector.now, 0).unwrap();
    delivered.check(&secret, now).map_or_else(Unproven::kind, |()| "")
}

#[test]
fn a_delivery_is_taken_or_refused_by_kind() {
    for vector in section::<Vector>("webhook.json", "vectors", |_| true) {
        assert_eq!(refusal(&vector), vector.reason, "{}", vector.name);
        assert_eq!(vector.reason.is_empty(), vector.valid, "{}", vector.name);
    }
}
