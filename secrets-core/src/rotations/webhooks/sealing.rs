//! Encryption of the URL and signing secret of webhooks.

use serde::{Deserialize, Serialize};

use crate::crypto::{Plaintext, Sealed, WebhookSecret, to_json_text};
use crate::model::{Error, Result, WebhookId};
use crate::ports::webhook_url::WebhookUrl;
use crate::rotations::sealing::{SealedField, Sealer};
use crate::store::{Reads, WebhookRecord};

/// URL and signing secret of a webhook, decrypted.
pub(super) struct Receiver {
    pub(super) url: WebhookUrl,
    pub(super) secret: WebhookSecret,
}

#[derive(Serialize)]
struct Written<'a> {
    url: &'a str,
    secret: &'a str,
}

#[derive(Deserialize)]
struct Read {
    url: WebhookUrl,
    secret: String,
}

impl Receiver {
    pub(super) fn seal(&self, sealer: &Sealer<'_>, webhook: WebhookId) -> Result<Sealed> {
        let written = Written { url: self.url.reveal(), secret: self.secret.reveal() };
        let text = to_json_text(&written).map_err(Error::internal)?;
        let text = Plaintext::new(text).map_err(Error::internal)?;
        Ok(sealer.seal(SealedField::Webhook(webhook), &text))
    }

    pub(super) async fn open(
        sealer: &Sealer<'_>,
        reads: &mut dyn Reads,
        webhook: &WebhookRecord,
    ) -> Result<Self> {
        let text = sealer.open(reads, SealedField::Webhook(webhook.id), &webhook.sealed).await?;
        // Do not include serde's error: it may quote the text.
        let unreadable = || Error::internal("stored webhook cannot be parsed");
        let read: Read = serde_json::from_str(text.reveal()).map_err(|_| unreadable())?;
        let secret = WebhookSecret::from_stored(read.secret).map_err(Error::internal)?;
        Ok(Self { url: read.url, secret })
    }

    /// Returns the HTTP headers of a message, including its signature, with the given timestamp.
    pub(super) fn headers(
        &self,
        id: String,
        seconds: i64,
        body: &str,
    ) -> Vec<(&'static str, String)> {
        let signature = self.secret.sign(&id, seconds, body.as_bytes());
        vec![
            ("content-type", "application/json".to_owned()),
            ("user-agent", concat!("secrets/", env!("CARGO_PKG_VERSION")).to_owned()),
            ("webhook-id", id),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signature),
        ]
    }
}
