//! Creation of webhooks.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::Webhook;
use super::locked_webhook_rotation;
use super::sealing::Receiver;
use crate::crypto::WebhookSecret;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::rotations::WebhookEvent;
use crate::model::{Code, EnvironmentPath, Error, Result, Subject, WebhookId};
use crate::ports::webhook_url::WebhookUrl;
use crate::rotations::sealing::Sealer;
use crate::store::WebhookRecord;

/// Fields of a new webhook. Unknown fields are rejected.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// URL of the webhook's receiver.
    #[cfg_attr(feature = "openapi", schema(
        value_type = String, format = "uri", max_length = 2_048,
        example = "https://hooks.example.com/rotations",
    ))]
    pub url: WebhookUrl,
    /// Events to send: at least one, and each at most once.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 3))]
    pub events: Vec<WebhookEvent>,
}

/// Creates a webhook. Only this response includes the signing secret.
#[derive(Debug)]
pub struct CreateWebhook {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name; an invalid name is treated as an unknown rotation.
    pub rotation: String,
    /// Fields of the new webhook.
    pub webhook: NewWebhook,
}

/// Maximum number of webhooks of a rotation. Every event is sent to each webhook that is subscribed
/// to it.
const MAX_WEBHOOKS: usize = 10;

impl Operation for CreateWebhook {
    const NAME: &'static str = "webhook.create";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("webhook.created");
    type Access = Write;
    type Output = Webhook;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Webhook> {
        let NewWebhook { url, events } = self.webhook;
        let (scope, rotation) = locked_webhook_rotation(cx, &self.at, &self.rotation).await?;
        check_events(&events)?;
        url.check(&cx.options().egress)?;
        if cx.tx().webhooks(rotation.id).await?.len() >= MAX_WEBHOOKS {
            let reason = "a rotation has at most 10 webhooks".into();
            return Err(Error::Refused { code: Code::InvalidRequest, reason });
        }

        let id = WebhookId::draw(cx.now());
        let receiver = Receiver { url, secret: WebhookSecret::draw() };
        let sealer = Sealer::of(cx, &scope);
        let record = WebhookRecord {
            id,
            rotation: rotation.id,
            sealed: receiver.seal(&sealer, id)?,
            events,
            enabled: true,
            failing_since: None,
            created_by: Some(cx.caller.person()?.id.uuid()),
            created_at: cx.now(),
        };
        cx.tx()
            .insert_webhook(&record)
            .await
            .map_err(|error| error.or_not_found(Subject::Rotation))?;
        cx.set_resource("webhook", id.uuid(), rotation.settings.name.as_str());
        let events: Vec<_> = record.events.iter().map(|event| event.as_str()).collect();
        cx.add_detail("events", events);
        let Receiver { url, secret } = receiver;
        Ok(Webhook { secret: Some(secret), ..Webhook::new(record, &url) })
    }
}

fn check_events(events: &[WebhookEvent]) -> Result<()> {
    let distinct: BTreeSet<_> = events.iter().collect();
    if events.is_empty() {
        return Err(Error::invalid("events", "must hold at least one event"));
    }
    if distinct.len() < events.len() {
        return Err(Error::invalid("events", "must hold each event once"));
    }
    Ok(())
}
