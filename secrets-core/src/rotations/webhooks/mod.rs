//! Webhooks of rotations: notifications about changed credentials.
//!
//! An event is enqueued in the transaction of the change it reports, as one delivery for each
//! subscribed webhook. The outbox sends the delivery, signed according to Standard Webhooks, until
//! the receiver accepts the delivery or the last retry fails. Events contain names and no secret
//! values. A webhook's URL may contain a token, so it is encrypted together with the signing
//! secret.

mod check;
mod create;
mod delete;
mod deliver;
mod deliveries;
mod event;
mod limits;
mod list;
mod redeliver;
mod schedule;
mod sealing;
mod test;

use serde::Serialize;

pub use check::{Delivered, Unproven};
pub use create::{CreateWebhook, NewWebhook};
pub use delete::DeleteWebhook;
pub use deliver::WebhookDeliveries;
pub use deliveries::{ListDeliveries, WebhookDelivery};
pub(crate) use event::{EventData, EventPlace, enqueue_event};
pub use list::ListWebhooks;
pub use redeliver::Redeliver;
pub use test::TestWebhook;

use super::list::{locked_rotation, named_rotation};
use crate::access::{EnvironmentScope, LockedRow};
use crate::crypto::WebhookSecret;
use crate::engine::{Access, Context, Read, Write};
use crate::model::rotations::WebhookEvent;
use crate::model::{
    Code, EnvironmentPath, Error, Permission, Result, RotationId, Subject, Time, WebhookId,
};
use crate::ports::webhook_url::WebhookUrl;
use crate::store::{RotationRecord, WebhookRecord};

/// A webhook of a rotation. The signing secret is only included when the webhook is created.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = RotationWebhook))]
pub struct Webhook {
    /// Webhook ID.
    pub id: WebhookId,
    /// ID of the rotation whose events are sent.
    pub rotation_config_id: RotationId,
    /// URL of the webhook's receiver.
    pub url: String,
    /// Types of the events that are sent to the webhook.
    pub events: Vec<WebhookEvent>,
    /// True if events are sent to the webhook. Set to false after the receiver failed for a long
    /// time or responded with HTTP status 410.
    pub enabled: bool,
    /// Creation time.
    pub created_at: Time,
    /// Secret that signs deliveries: `whsec_` and 32 bytes in base64. Present only when the webhook
    /// is created.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
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

/// Error for a request to send an event to a disabled webhook.
const DISABLED: Error = Error::Refused {
    code: Code::InvalidRequest,
    reason: std::borrow::Cow::Borrowed(
        "this webhook was disabled because its receiver failed; delete it and create it again",
    ),
};

/// Finds a rotation by name, after authorizing the caller to read its environment.
async fn webhook_rotation(
    cx: &mut Context<'_, Read>,
    at: &EnvironmentPath,
    name: &str,
) -> Result<(EnvironmentScope, RotationRecord)> {
    let scope = cx.environment(at, Permission::Read).await?;
    let rotation = named_rotation(cx, scope.environment.id, name).await?;
    Ok((scope, rotation))
}

/// Locks a rotation for a change of its webhooks, and authorizes the caller.
async fn locked_webhook_rotation(
    cx: &mut Context<'_, Write>,
    at: &EnvironmentPath,
    name: &str,
) -> Result<(EnvironmentScope, RotationRecord)> {
    locked_rotation(cx, at, name, LockedRow::Environment).await
}

/// Loads a webhook of the rotation. Fails if the rotation has no webhook with this ID.
async fn rotation_webhook<A: Access>(
    cx: &mut Context<'_, A>,
    rotation: &RotationRecord,
    webhook: Option<WebhookId>,
) -> Result<WebhookRecord> {
    let unknown = || Error::NotFound(Subject::Webhook);
    let found = cx.reads().webhook(webhook.ok_or_else(unknown)?).await?;
    let found = found.filter(|webhook| webhook.rotation == rotation.id);
    let webhook = found.ok_or_else(unknown)?;
    cx.set_resource("webhook", webhook.id.uuid(), rotation.settings.name.as_str());
    Ok(webhook)
}
