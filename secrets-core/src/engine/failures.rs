//! Failures of background work: the delay before the next try, and the list of items whose last try
//! failed.
//!
//! An item can fail because of its own record, for example if the record cannot be decrypted. Such
//! an item must not delay other items: the item is tried again after growing delays, and the health
//! report names the item.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

use uuid::Uuid;

use crate::model::lock::lock;
use crate::model::{AuditBatchId, DeliveryId, ProjectId, RotationId, TeamId, Time, WebhookId};
use crate::store::StoreError;

/// Maximum number of failing work items of each kind in the list. If it is reached, the failure of
/// another item is not listed, and the item is tried again without a delay.
const MAX_ITEMS: usize = 1_000;

/// Delay before the retry after an item's first failure. The delay doubles with each further
/// failure.
const FIRST_DELAY: Duration = Duration::from_mins(1);

/// Delay before the retry after an item's first failure if the store was unavailable. Shorter than
/// the usual minute ([`FIRST_DELAY`]), because the failure is not caused by the item.
const FIRST_DELAY_OF_STORE: Duration = Duration::from_secs(5);
/// Maximum delay before an item is tried again if the store was unavailable.
const MAX_DELAY_OF_STORE: Duration = Duration::from_mins(1);

/// Maximum delay before a failing item is tried again, except after failures of the store.
const MAX_DELAY: Duration = Duration::from_hours(1);

/// Time after which an item is removed from the list if it did not fail again, counted from the end
/// of its delay. An item that still fails would have failed again by then; otherwise the item was
/// deleted, or another node has done the work.
const FORGOTTEN_AFTER: Duration = Duration::from_hours(3);

/// Item of background work that can fail by itself, such as a project or a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkItem {
    /// Moving of one batch of audit entries to the audit log.
    AuditBatch(AuditBatchId),
    /// Appending of a team's new audit entries to its audit chain; `None` for the entries that
    /// belong to no team.
    AuditSeal(Option<TeamId>),
    /// Deletion of the old entries of a team's audit chain; `None` for the chain of the entries
    /// that belong to no team.
    AuditPrune(Option<TeamId>),
    /// Sending of a delivery in the outbox. It fails if a stored record that the message needs
    /// cannot be read.
    Delivery(DeliveryId),
    /// Increase of the epoch of the instance. It fails if the database was replaced by an earlier
    /// state of it while the service was running, or if the copy of the epoch cannot be written.
    Epoch,
    /// Re-encryption of a project's records with the project's newest key.
    ProjectKey(ProjectId),
    /// Permanent deletion of a deleted project.
    ProjectPurge(ProjectId),
    /// Work on a rotation, such as rotating its credential.
    Rotation(RotationId),
    /// Decrypting the stored records of a rotation. An active rotation whose records cannot be
    /// decrypted gets the status `error`.
    RotationRecord(RotationId),
    /// Reading the stored settings of a webhook.
    Webhook(WebhookId),
    /// Delivery to the receiver of a webhook. It fails if the receiver refuses the delivery or does
    /// not respond.
    WebhookReceiver(WebhookId),
    /// The last run of the background worker with this name.
    Worker(&'static str),
}

/// An item of background work whose last try failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingItem {
    /// Item of background work.
    pub item: WorkItem,
    /// Time of the first of the consecutive failures.
    pub since: Time,
    /// Number of consecutive failures.
    pub failures: u32,
    /// Number of consecutive failures since `delays` last changed. Determines the delay before the
    /// next try.
    failures_with_delays: u32,
    /// Delay before the retry after the first failure, and maximum delay after many failures.
    delays: (Duration, Duration),
    /// Time of the next try of the item.
    retry_at: Time,
}

/// Items of background work whose last try on this node failed.
#[derive(Default)]
pub(crate) struct Failures(Mutex<BTreeMap<WorkItem, FailingItem>>);

impl WorkItem {
    /// Returns the name of the kind of work, for logs and the health report.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::AuditBatch(_) => "audit batches",
            Self::AuditSeal(_) => "audit seal",
            Self::AuditPrune(_) => "audit prune",
            Self::Delivery(_) => "delivery",
            Self::Epoch => "epoch",
            Self::ProjectKey(_) => "project keys",
            Self::ProjectPurge(_) => "project purge",
            Self::Rotation(_) => "rotation",
            Self::RotationRecord(_) => "rotation record",
            Self::Webhook(_) => "webhook",
            Self::WebhookReceiver(_) => "webhook receiver",
            Self::Worker(name) => name,
        }
    }

    /// Returns the ID of the batch, team, delivery, project, rotation or webhook; `None` for the
    /// epoch, a worker, and the audit entries that belong to no team.
    #[must_use]
    pub fn id(self) -> Option<Uuid> {
        match self {
            Self::AuditBatch(batch) => Some(batch.uuid()),
            Self::AuditSeal(team) | Self::AuditPrune(team) => team.map(TeamId::uuid),
            Self::Delivery(delivery) => Some(delivery.uuid()),
            Self::Epoch | Self::Worker(_) => None,
            Self::ProjectKey(project) | Self::ProjectPurge(project) => Some(project.uuid()),
            Self::Rotation(rotation) | Self::RotationRecord(rotation) => Some(rotation.uuid()),
            Self::Webhook(webhook) | Self::WebhookReceiver(webhook) => Some(webhook.uuid()),
        }
    }
}

impl Failures {
    /// Counts a failure of a work item, logs it, and returns the delay before the next try.
    pub(crate) fn report(
        &self,
        item: WorkItem,
        error: &(dyn Error + 'static),
        now: Time,
    ) -> Duration {
        let delays = delays_of(error);
        let failing = self.count(item, now, delays);
        let delay = backoff(failing.failures_with_delays, delays);
        let (id, failures) = (item.id().map(tracing::field::display), failing.failures);
        tracing::error!(work = item.kind(), id, failures, error, "background work failed");
        delay
    }

    /// Counts a failure of a work item that is tried again by the supervisor, or at a time in its
    /// stored record. The caller logs the failure.
    pub(crate) fn report_scheduled(&self, item: WorkItem, now: Time) {
        self.count(item, now, (FIRST_DELAY, MAX_DELAY));
    }

    /// Sets the time of the next try of a failing item whose stored record contains this time. Does
    /// nothing if the item is not in the list.
    pub(crate) fn postpone(&self, item: WorkItem, retry_at: Time) {
        if let Some(failing) = lock(&self.0).get_mut(&item) {
            failing.retry_at = retry_at;
        }
    }

    /// Removes an item from the list, after a success.
    pub(crate) fn clear(&self, item: WorkItem) {
        lock(&self.0).remove(&item);
    }

    /// True if the last try of an item failed and the delay before the next try has not ended.
    pub(crate) fn must_wait(&self, item: WorkItem, now: Time) -> bool {
        lock(&self.0).get(&item).is_some_and(|failing| now < failing.retry_at)
    }

    /// Returns the failing items, at most 1,000 of each kind, ordered by the times of their first
    /// failures. Receivers of webhooks come last, because they belong to tenants, who can have
    /// many.
    pub(crate) fn list(&self, now: Time) -> Vec<FailingItem> {
        let mut items = lock(&self.0);
        items.retain(|_, failing| now < failing.retry_at + FORGOTTEN_AFTER);
        let mut items: Vec<_> = items.values().copied().collect();
        let is_receiver = |item| matches!(item, WorkItem::WebhookReceiver(_));
        items.sort_by_key(|failing| (is_receiver(failing.item), failing.since));
        items
    }

    fn count(&self, item: WorkItem, now: Time, delays: (Duration, Duration)) -> FailingItem {
        let mut items = lock(&self.0);
        let new = FailingItem {
            item,
            since: now,
            failures: 0,
            failures_with_delays: 0,
            delays,
            retry_at: now,
        };
        let known = items.get(&item).copied();
        let mut failing = known.unwrap_or(new);
        // An outage of the store does not lengthen the delay after a failure of the item itself.
        if failing.delays != delays {
            (failing.delays, failing.failures_with_delays) = (delays, 0);
        }
        failing.failures = failing.failures.saturating_add(1);
        failing.failures_with_delays = failing.failures_with_delays.saturating_add(1);
        failing.retry_at = now + backoff(failing.failures_with_delays, delays);
        let of_kind = |other: &&WorkItem| other.kind() == item.kind();
        if known.is_some() || items.keys().filter(of_kind).count() < MAX_ITEMS {
            items.insert(item, failing);
        }
        failing
    }
}

/// Returns the first and the maximum delay before a retry after this error.
fn delays_of(error: &(dyn Error + 'static)) -> (Duration, Duration) {
    let operation = error.downcast_ref::<crate::model::Error>();
    let is_unavailable = operation.is_some_and(|error| error.kind() == "unavailable")
        || matches!(error.downcast_ref::<StoreError>(), Some(StoreError::Unavailable(_)));
    if is_unavailable {
        (FIRST_DELAY_OF_STORE, MAX_DELAY_OF_STORE)
    } else {
        (FIRST_DELAY, MAX_DELAY)
    }
}

/// Returns the delay before the next try after this number of consecutive failures: `first` after
/// one failure, twice the delay after each further failure, and never more than `max`.
pub(crate) fn backoff(failures: u32, (first, max): (Duration, Duration)) -> Duration {
    let doublings = failures.saturating_sub(1);
    first.saturating_mul(2_u32.saturating_pow(doublings)).min(max)
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::model::Error;
    use crate::testing::fixtures::at;

    #[test]
    fn delays_double_up_to_an_hour() {
        let delays = [1, 2, 3, 6, 7, 32, 33, u32::MAX]
            .map(|failures| backoff(failures, delays_of(&Error::internal("test"))).as_secs() / 60);

        assert_eq!(delays, [1, 2, 4, 32, 60, 60, 60, 60]);
    }

    #[test]
    fn an_unavailable_store_delays_an_item_by_a_minute_at_most() {
        let operation = Error::Unavailable("test".into());
        let store = StoreError::Unavailable("test".into());
        for unavailable in [delays_of(&operation), delays_of(&store)] {
            let delays = [1, 2, 4, 5, u32::MAX].map(|count| backoff(count, unavailable));

            assert_eq!(delays.map(|delay| delay.as_secs()), [5, 10, 40, 60, 60]);
        }
    }

    #[test]
    fn an_outage_of_the_store_does_not_lengthen_the_delay_of_an_item() {
        let failures = Failures::default();
        let item = WorkItem::AuditSeal(None);
        for second in 0..20 {
            failures.report(item, &Error::Unavailable("test".into()), at(second));
        }

        let delay = failures.report(item, &Error::internal("test"), at(20));

        assert_eq!(delay, FIRST_DELAY);
        assert_eq!(failures.list(at(20))[0].failures, 21);
    }

    #[test]
    fn an_item_that_failed_waits_until_it_is_due_or_has_succeeded() {
        let failures = Failures::default();
        let (item, other) = (WorkItem::AuditSeal(None), WorkItem::AuditPrune(None));
        let report = |second| failures.report(item, &Error::internal("test"), at(second));

        assert_eq!((report(0), report(60)), (FIRST_DELAY, FIRST_DELAY * 2));

        let waits = [60, 179, 180].map(|second| failures.must_wait(item, at(second)));
        assert_eq!(waits, [true, true, false]);
        assert!(!failures.must_wait(other, at(60)));
        let [failing] = failures.list(at(180)).try_into().unwrap();
        assert_eq!((failing.item, failing.since, failing.failures), (item, at(0), 2));

        failures.clear(item);
        assert!(!failures.must_wait(item, at(60)) && failures.list(at(60)).is_empty());
    }

    #[test]
    fn receivers_are_listed_last() {
        let failures = Failures::default();
        let receiver = WorkItem::WebhookReceiver(Uuid::from_u128(1).into());
        failures.report_scheduled(receiver, at(0));
        failures.report_scheduled(receiver, at(1));
        failures.report(WorkItem::AuditSeal(None), &Error::internal("test"), at(2));

        let listed: Vec<_> =
            failures.list(at(3)).iter().map(|failing| (failing.item, failing.failures)).collect();

        assert_eq!(listed, [(WorkItem::AuditSeal(None), 1), (receiver, 2)]);
        failures.clear(receiver);
        assert_eq!(failures.list(at(3)).len(), 1);
    }

    #[test]
    fn an_item_that_is_not_retried_is_forgotten() {
        let failures = Failures::default();
        failures.report(WorkItem::AuditSeal(None), &Error::internal("test"), at(0));
        let forgotten = 60 + i64::try_from(FORGOTTEN_AFTER.as_secs()).unwrap();

        let listed = [forgotten - 1, forgotten].map(|second| failures.list(at(second)).len());

        assert_eq!(listed, [1, 0]);
    }

    #[test]
    fn the_number_of_items_is_bounded() {
        let failures = Failures::default();

        for number in 0..2 * MAX_ITEMS {
            let item = WorkItem::Rotation(Uuid::from_u128(number as u128).into());
            let second = i64::try_from(number).unwrap();
            failures.report(item, &Error::internal("test"), at(second));
        }

        let listed = failures.list(at(0));
        assert_eq!(listed.len(), MAX_ITEMS);
        assert!(listed.is_sorted_by_key(|failing| failing.since));
    }
}
