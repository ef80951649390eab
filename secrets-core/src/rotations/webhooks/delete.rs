//! Deletion of webhooks.

use super::{locked_webhook_rotation, rotation_webhook};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Result, Subject, WebhookId};

/// Deletes a webhook. Deliveries to it that are still pending are not sent.
#[derive(Debug)]
pub struct DeleteWebhook {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name; an invalid name is treated as an unknown rotation.
    pub rotation: String,
    /// Webhook ID; `None`, treated as an unknown webhook, if the given string is not a valid ID.
    pub webhook: Option<WebhookId>,
}

impl Operation for DeleteWebhook {
    const NAME: &'static str = "webhook.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("webhook.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let (_, rotation) = locked_webhook_rotation(cx, &self.at, &self.rotation).await?;
        let webhook = rotation_webhook(cx, &rotation, self.webhook).await?;
        let deleted = cx.tx().delete_webhook(webhook.id).await;
        deleted.map_err(|error| error.or_not_found(Subject::Webhook))
    }
}
