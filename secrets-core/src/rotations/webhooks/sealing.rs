//! What is kept sealed for a webhook.

use serde::{Deserialize, Serialize};

use crate::crypto::{Plaintext, Sealed, WebhookSecret};
use crate::model::{Error, Result, WebhookId};
use crate::ports::webhook_url::WebhookUrl;
use crate::rotations::sealing::{Kept, Seals};
use crate::store::{Reads, WebhookRecord};

/// Where a webhook is, and what signs.
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
    pub(super) fn seal(&self, seals: &Seals<'_>, webhook: WebhookId) -> Result<Sealed> {
        let written = Written { url: self.url.reveal(), secret: self.secret.reveal() };
        let text = serde_json::to_string(&written).map_err(Error::internal)?;
        let text = Plaintext::new(text).map_err(Error::internal)?;
        Ok(seals.seal(Kept::Webhook(webhook), &text))
    }

    pub(super) async fn open(
        seals: &Seals<'_>,
        reads: &mut dyn Reads,
        webhook: &WebhookRecord,
    ) -> Result<Self> {
        let text = seals.open(reads, Kept::Webhook(webhook.id), &webhook.sealed).await?;
        // The decoder's own error would repeat what it read.
        let unreadable = || Error::internal("what a webhook keeps sealed makes no sense");
        let read: Read = serde_json::from_str(text.reveal()).map_err(|_| unreadable())?;
        let secret = WebhookSecret::kept(read.secret).map_err(Error::internal)?;
        Ok(Self { url: read.url, secret })
    }

    /// The headers of a message that is sent at this second.
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
