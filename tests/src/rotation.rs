//! Functions that write rotations and webhook deliveries directly to the store.

use secrets_core::model::rotations::{DeliveryStatus, RotationStatus, WebhookEvent};
use secrets_core::model::{EnvironmentId, RotationId, WebhookDeliveryId, WebhookId, ids};
use secrets_core::store::WebhookDeliveryRecord;
use secrets_core::testing::fixtures;

use crate::{App, Person, paths};

impl App {
    /// Stores a paused rotation in an environment, and returns its ID. Background workers have
    /// nothing to do for a paused rotation.
    pub async fn rotation(
        &self,
        whose: &Person,
        project: &str,
        environment: &str,
        name: &str,
    ) -> RotationId {
        let found = whose.get(&paths::environment(project, environment)).await.is(200).id();
        let environment: EnvironmentId = ids::parse(&found).unwrap().into();
        let now = secrets_core::model::Clock::now(self.clock.as_ref());
        let mut rotation = fixtures::rotation_in(environment, name, now);
        rotation.status = RotationStatus::Paused;
        let mut tx = self.store.begin().await.unwrap();
        tx.touch_environment(environment, 1).await.unwrap();
        tx.insert_rotation(&rotation, &[]).await.unwrap();
        tx.commit().await.unwrap();
        rotation.id
    }

    /// Stores a completed delivery to the webhook with this ID, and returns the ID of the delivery.
    pub async fn delivered(&self, webhook: &str) -> String {
        let now = secrets_core::model::Clock::now(self.clock.as_ref());
        let delivery = WebhookDeliveryRecord {
            id: WebhookDeliveryId::draw(now),
            webhook: WebhookId::from(ids::parse(webhook).unwrap()),
            event: Some(WebhookEvent::Completed),
            body: "{}".to_owned(),
            status: DeliveryStatus::Delivered,
            attempts: 1,
            response_status: Some(200),
            next_attempt_at: None,
            created_at: now,
        };
        let mut tx = self.store.begin().await.unwrap();
        tx.insert_webhook_delivery(&delivery).await.unwrap();
        tx.commit().await.unwrap();
        delivery.id.to_string()
    }
}
