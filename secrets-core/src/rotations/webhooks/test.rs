//! Testing a webhook.

use chrono::TimeDelta;

use super::event::{EventPlace, announce_test};
use super::{DISABLED, WebhookDelivery};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Error, Permission, Result, Subject, WebhookId};

/// Sends a webhook an event `webhook.test`, in the way of all others: it is answered before it
/// arrives, and the list of deliveries tells what became of it.
#[derive(Debug)]
pub struct TestWebhook {
    /// Where the rotation is.
    pub at: EnvironmentPath,
    /// The rotation's name; what cannot be one names nothing.
    pub rotation: String,
    /// Which webhook; `None` if what was given is no id and names nothing.
    pub webhook: Option<WebhookId>,
}

/// The most tests of one webhook in a minute: whoever is at its address may not have asked for it.
const TESTS: usize = 5;

/// How many deliveries are looked through for tests.
const LOOKED_AT: u32 = 50;

impl Operation for TestWebhook {
    const NAME: &'static str = "webhook.test";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("webhook.tested");
    type Access = Write;
    type Output = WebhookDelivery;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<WebhookDelivery> {
        let (_, rotation) =
            cx.rotation_of_webhooks(&self.at, self.rotation, Permission::Write).await?;
        let held = cx.tx().lock_rotation(rotation.id).await;
        held.map_err(|error| error.gone(Subject::Rotation))?;
        let webhook = cx.webhook_of(&rotation, self.webhook).await?;
        if !webhook.enabled {
            return Err(DISABLED);
        }
        cx.admit_test(webhook.id).await?;

        let now = cx.now();
        let place = cx.reads().rotation_place(rotation.id).await?;
        let place = place.ok_or(Error::NotFound(Subject::Rotation))?;
        let place = EventPlace::new(&place, &rotation);
        let delivery = announce_test(cx.tx(), webhook.id, &place, now).await?;
        Ok(delivery.into())
    }
}

impl Context<'_, Write> {
    async fn admit_test(&mut self, webhook: WebhookId) -> Result<()> {
        let since = self.now() - TimeDelta::minutes(1);
        let deliveries = self.reads().webhook_deliveries(webhook, LOOKED_AT).await?;
        let tests = deliveries.iter().filter(|one| one.event.is_none() && one.created_at > since);
        // Newest first, so the last one counted is the first that leaves the minute.
        match tests.take(TESTS).enumerate().last() {
            Some((last, oldest)) if last + 1 == TESTS => {
                Err(Error::RateLimited(oldest.created_at + TimeDelta::minutes(1)))
            }
            _ => Ok(()),
        }
    }
}
