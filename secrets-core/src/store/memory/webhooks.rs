use std::cmp::Reverse;
use std::collections::BTreeSet;

use async_trait::async_trait;

use super::state::{State, owned, refers, retained};
use super::{Pending, Session, Snapshot};
use crate::model::rotations::DeliveryStatus;
use crate::model::{RotationId, Subject, Time, WebhookDeliveryId, WebhookId};
use crate::store::{
    StoreError, StoreResult, WebhookDeliveryRecord, WebhookReads, WebhookRecord, WebhookWrites,
};

#[async_trait]
impl<S: Snapshot> WebhookReads for Session<S> {
    async fn webhooks(&mut self, rotation: RotationId) -> StoreResult<Vec<WebhookRecord>> {
        let state = self.state();
        let of_rotation = state.webhooks.values().filter(|webhook| webhook.rotation == rotation);
        let mut webhooks: Vec<_> = of_rotation.map(owned).collect();
        webhooks.sort_by_key(|webhook| (webhook.created_at, webhook.id));
        Ok(webhooks)
    }

    async fn webhook(&mut self, webhook: WebhookId) -> StoreResult<Option<WebhookRecord>> {
        Ok(self.state().webhooks.get(&webhook).map(owned))
    }

    async fn webhook_delivery(
        &mut self,
        delivery: WebhookDeliveryId,
    ) -> StoreResult<Option<WebhookDeliveryRecord>> {
        Ok(self.state().webhook_deliveries.get(&delivery).map(owned))
    }

    async fn webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDeliveryRecord>> {
        let state = self.state();
        let to_webhook =
            state.webhook_deliveries.values().filter(|delivery| delivery.webhook == webhook);
        let mut deliveries: Vec<_> = to_webhook.map(owned).collect();
        deliveries.sort_by_key(|delivery| Reverse((delivery.created_at, delivery.id)));
        deliveries.truncate(limit as usize);
        Ok(deliveries)
    }
}

#[async_trait]
impl WebhookWrites for Session<Pending> {
    async fn insert_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()> {
        let state = self.state_mut();
        if !state.rotations.contains_key(&webhook.rotation) {
            return Err(StoreError::Stale(Subject::Rotation));
        }
        state.webhooks.insert(webhook.id, webhook.clone().into());
        Ok(())
    }

    async fn update_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.webhooks.get(&webhook.id).map(owned).ok_or(GONE)?;
        let (enabled, failing_since) = (webhook.enabled, webhook.failing_since);
        state.webhooks.insert(old.id, WebhookRecord { enabled, failing_since, ..old }.into());
        Ok(())
    }

    async fn delete_webhook(&mut self, webhook: WebhookId) -> StoreResult<()> {
        let state = self.state_mut();
        if !state.webhooks.contains_key(&webhook) {
            return Err(GONE);
        }
        state.forget_webhooks(|one| one.id == webhook);
        Ok(())
    }

    async fn insert_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        refers(state.webhooks.contains_key(&delivery.webhook), "webhook")?;
        state.webhook_deliveries.insert(delivery.id, delivery.clone().into());
        Ok(())
    }

    async fn update_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.webhook_deliveries.get(&delivery.id).map(owned);
        let old = old.ok_or(StoreError::Stale(Subject::WebhookDelivery))?;
        let new = WebhookDeliveryRecord {
            status: delivery.status,
            attempts: delivery.attempts,
            response_status: delivery.response_status,
            next_attempt_at: delivery.next_attempt_at,
            ..old
        };
        state.webhook_deliveries.insert(new.id, new.into());
        Ok(())
    }

    async fn trim_webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        kept: u32,
        examined: u32,
    ) -> StoreResult<u64> {
        let mut newest = self.webhook_deliveries(webhook, examined).await?;
        let (state, kept, mut failed) = (self.state_mut(), kept as usize, 0);
        let pending = newest.iter_mut().filter(|one| one.status == DeliveryStatus::Pending);
        for delivery in pending.skip(kept) {
            (delivery.status, delivery.next_attempt_at) = (DeliveryStatus::Failed, None);
            state.webhook_deliveries.insert(delivery.id, delivery.clone().into());
            failed += 1;
        }
        let ended = newest.iter().filter(|one| one.status != DeliveryStatus::Pending);
        for delivery in ended.skip(kept) {
            state.webhook_deliveries.remove(&delivery.id);
        }
        Ok(failed)
    }

    async fn prune_webhook_deliveries(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        let state = self.state_mut();
        let over = state.webhook_deliveries.values().filter(|delivery| {
            delivery.created_at < before && delivery.status != DeliveryStatus::Pending
        });
        let mut over: Vec<_> = over.map(|delivery| (delivery.created_at, delivery.id)).collect();
        over.sort_unstable();
        over.truncate(limit as usize);
        for (_, delivery) in &over {
            state.webhook_deliveries.remove(delivery);
        }
        Ok(over.len() as u64)
    }
}

const GONE: StoreError = StoreError::Stale(Subject::Webhook);

impl State {
    /// Deletes the webhooks for which `is_selected` returns true, with their deliveries.
    pub(super) fn forget_webhooks(&mut self, is_selected: impl Fn(&WebhookRecord) -> bool) {
        let selected: BTreeSet<_> = self
            .webhooks
            .values()
            .filter(|webhook| is_selected(webhook))
            .map(|webhook| webhook.id)
            .collect();
        if !selected.is_empty() {
            self.webhooks = retained(&self.webhooks, |webhook| !selected.contains(&webhook.id));
            self.webhook_deliveries = retained(&self.webhook_deliveries, |delivery| {
                !selected.contains(&delivery.webhook)
            });
        }
    }
}
