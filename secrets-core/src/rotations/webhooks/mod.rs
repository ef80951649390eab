//! Webhooks of rotations: who is told when a credential changes, and how it reaches them.
//!
//! An event is left in the transaction of what it tells of, one delivery for each webhook that
//! wants it; the outbox sends it, signed as Standard Webhooks has it, until the receiver takes it or
//! is given up. It names things and holds no value. An address may hold a token, so it is kept
//! sealed, beside what signs.

mod check;
mod create;
mod delete;
mod deliver;
mod deliveries;
mod event;
mod list;
mod receivers;
mod redeliver;
mod schedule;
mod sealing;
mod test;

use serde::Serialize;

pub use check::{Delivered, Unproven};
pub use create::{CreateWebhook, NewWebhook};
pub use delete::DeleteWebhook;
pub use deliver::{WebhookDeliveries, prune_deliveries};
pub use deliveries::{ListDeliveries, WebhookDelivery};
pub(crate) use event::{EventData, EventPlace, announce};
pub use list::ListWebhooks;
pub(crate) use receivers::Receivers;
pub use redeliver::Redeliver;
pub use test::TestWebhook;

use crate::access::EnvironmentScope;
use crate::crypto::WebhookSecret;
use crate::engine::{Access, Context};
use crate::model::rotations::WebhookEvent;
use crate::model::{
    Code, EnvironmentPath, Error, Permission, Result, RotationId, RotationName, Subject, Time,
    WebhookId,
};
use crate::store::{RotationRecord, WebhookRecord};

/// A webhook of a rotation. What signs deliveries to it is there once, when it is made.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = RotationWebhook))]
pub struct Webhook {
    /// Which webhook.
    pub id: WebhookId,
    /// Whose events it is told.
    pub rotation_config_id: RotationId,
    /// Where it is.
    pub url: String,
    /// What it is told.
    pub events: Vec<WebhookEvent>,
    /// Whether it is told anything: false once its receiver was given up.
    pub enabled: bool,
    /// When it was made.
    pub created_at: Time,
    /// What signs deliveries to it: `whsec_` and 32 bytes in base64.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "WebhookSecret::serialize_revealed"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub secret: Option<WebhookSecret>,
}

impl Webhook {
    fn new(record: WebhookRecord, url: &WebhookUrl) -> Self {
        Self {
            id: record.id,
            rotation_config_id: record.rotation,
            url: url.reveal().to_owned(),
            events: record.events,
            enabled: record.enabled,
            created_at: record.created_at,
            secret: None,
        }
    }
}

/// What is said where a webhook is told nothing any more.
const DISABLED: Error = Error::Refused {
    code: Code::InvalidRequest,
    reason: std::borrow::Cow::Borrowed(
        "this webhook was disabled because its receiver failed; delete it and create it again",
    ),
};

impl<A: Access> Context<'_, A> {
    /// The rotation of this name, if the caller may act so in its environment.
    async fn rotation_of_webhooks(
        &mut self,
        at: &EnvironmentPath,
        name: String,
        wanted: Permission,
    ) -> Result<(EnvironmentScope, RotationRecord)> {
        let scope = self.environment(at, wanted).await?;
        let unknown = || Error::NotFound(Subject::Rotation);
        let name = RotationName::try_from(name).map_err(|_| unknown())?;
        let found = self.reads().rotation_named(scope.environment.id, &name).await?;
        Ok((scope, found.ok_or_else(unknown)?))
    }

    /// A webhook of the rotation.
    async fn webhook_of(
        &mut self,
        rotation: &RotationRecord,
        webhook: Option<WebhookId>,
    ) -> Result<WebhookRecord> {
        let unknown = || Error::NotFound(Subject::Webhook);
        let found = self.reads().webhook(webhook.ok_or_else(unknown)?).await?;
        let found = found.filter(|webhook| webhook.rotation == rotation.id);
        let webhook = found.ok_or_else(unknown)?;
        self.about("webhook", webhook.id.uuid(), rotation.name.as_str());
        Ok(webhook)
    }
}
