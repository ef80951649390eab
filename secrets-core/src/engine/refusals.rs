//! Audit entries of refused requests: at most one entry per minute for each caller and resource.
//!
//! The first refusal is recorded immediately. Further refusals of the same kind are counted in
//! memory and recorded as one entry, when the next minute has begun or when the process stops.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Audit, AuditContext, Caller, Engine};
use crate::limits::network_of;
use crate::model::lock::lock;
use crate::model::{AuditId, Error, Time, UserId};
use crate::store::{AuditRecord, Store, StoreError, StoreResult};

/// Maximum number of kinds of refusals that are counted separately for one account (a user together
/// with the service tokens that the user created). Refusals of further kinds are counted together,
/// one counter for each team and action.
const MAX_KINDS_PER_ACCOUNT: usize = 64;

/// Maximum number of kinds of refusals that are counted for one account, including those counted
/// together by team and action. Refusals of further kinds are not recorded in the audit log, only
/// counted in the service's own log.
const MAX_MERGED_KINDS: usize = 128;

/// Maximum number of kinds of refusals that are counted in memory, of all accounts together.
/// Refusals of further kinds are not recorded in the audit log, only counted in the service's own
/// log.
const MAX_KINDS: usize = 8_192;

/// Maximum number of audit entries written in one transaction.
const MAX_BATCH: usize = 64;

/// Refused requests of the current minute, and earlier refused requests that have no audit entry
/// yet.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<Kinds>);

#[derive(Default)]
struct Kinds {
    by_account: HashMap<UserId, Vec<Kind>>,
    /// Total number of kinds of refusals of all accounts.
    len: usize,
    /// Number of refusals that were not counted by kind, because there were too many kinds.
    dropped: u64,
    /// Audit entries that could not be stored and will be stored later: at most 8,192
    /// ([`MAX_KINDS`]).
    unwritten: Vec<AuditRecord>,
}

/// Refusals of one kind: refused requests of one caller for the same action on the same object,
/// from the same network.
struct Kind {
    /// Audit entry of the most recent refusal of this kind. The next stored entry is built from it.
    entry: AuditRecord,
    /// Minute of the last stored audit entry of this kind, counted since 1970.
    recorded: i64,
    /// Number of refusals of this kind since the last stored audit entry.
    count: u64,
    /// Time of the first refusal of this kind since the last stored audit entry.
    since: Time,
}

impl Kinds {
    /// Counts a refused request. Returns an audit entry to store immediately, if no entry of this
    /// kind was stored in the current minute.
    fn count(&mut self, account: UserId, entry: AuditRecord) -> Option<AuditRecord> {
        let now = entry.created_at;
        if self.len >= MAX_KINDS && !self.by_account.contains_key(&account) {
            self.dropped += 1;
            return None;
        }
        let kinds = self.by_account.entry(account).or_default();
        let is_new = kinds.iter().all(|kind| !is_same_kind(&kind.entry, &entry));
        let is_merged = is_new && kinds.len() >= MAX_KINDS_PER_ACCOUNT;
        let entry = if is_merged { without_caller(entry) } else { entry };
        let place = kinds.iter().position(|kind| is_same_kind(&kind.entry, &entry));
        let place = match place {
            Some(place) => place,
            None if self.len >= MAX_KINDS || kinds.len() >= MAX_MERGED_KINDS => {
                self.dropped += 1;
                return None;
            }
            None => {
                self.len += 1;
                kinds.push(Kind { entry: entry.clone(), recorded: i64::MIN, count: 0, since: now });
                kinds.len() - 1
            }
        };
        let kind = &mut kinds[place];
        if kind.count == 0 {
            kind.since = now;
        }
        kind.count += 1;
        kind.entry = entry;
        (kind.recorded < minute(now)).then(|| kind.take(now))
    }

    /// Returns the audit entries to store now: for refusals before the current minute and, if
    /// `all`, also for refusals in the current minute. First removes each kind without new refusals
    /// whose last entry was stored before the current minute.
    fn take(&mut self, now: Time, all: bool) -> Vec<AuditRecord> {
        let mut due = std::mem::take(&mut self.unwritten);
        self.by_account.retain(|_, kinds| {
            kinds.retain(|kind| kind.count > 0 || kind.recorded >= minute(now));
            let of_before =
                |kind: &&mut Kind| kind.count > 0 && (all || kind.recorded < minute(now));
            due.extend(kinds.iter_mut().filter(of_before).map(|kind| kind.take(now)));
            !kinds.is_empty()
        });
        self.len = self.by_account.values().map(Vec::len).sum();
        due
    }

    /// Puts back audit entries that could not be stored, so that a later call stores them.
    fn put_back(&mut self, entries: Vec<AuditRecord>) {
        let room = MAX_KINDS.saturating_sub(self.unwritten.len());
        self.dropped += entries.len().saturating_sub(room) as u64;
        self.unwritten.extend(entries.into_iter().take(room));
    }

    /// Removes the name and e-mail address of a user from all audit entries that are still in
    /// memory.
    fn forget(&mut self, user: UserId) {
        let kinds = self.by_account.get_mut(&user).into_iter().flatten();
        let unwritten = self.unwritten.iter_mut();
        anonymize(kinds.map(|kind| &mut kind.entry).chain(unwritten), user.uuid());
    }
}

impl Refusals {
    /// Removes the name and e-mail address of a deleted user from audit entries that are still in
    /// memory.
    pub(crate) fn forget(&self, user: UserId) {
        lock(&self.0).forget(user);
    }
}

impl Kind {
    /// Returns one audit entry for all refusals of this kind since the last entry, and resets the
    /// count.
    fn take(&mut self, now: Time) -> AuditRecord {
        let mut details: Map<String, Value> =
            serde_json::from_str(&self.entry.metadata).unwrap_or_default();
        details.insert("count".to_owned(), self.count.into());
        details.insert("since".to_owned(), self.since.to_rfc3339().into());
        self.recorded = minute(now);
        self.count = 0;
        let metadata = Value::Object(details).to_string();
        AuditRecord { id: AuditId::draw(now), created_at: now, metadata, ..self.entry.clone() }
    }
}

fn minute(time: Time) -> i64 {
    time.timestamp().div_euclid(60)
}

/// True if two refusals of an account are of the same kind, and so are counted together.
fn is_same_kind(one: &AuditRecord, other: &AuditRecord) -> bool {
    let key = |entry: &AuditRecord| {
        let network = entry.address.map(network_of);
        let place = (entry.team, entry.project, entry.environment, entry.resource_id);
        (entry.actor_id, place, network)
    };
    one.action == other.action && one.metadata == other.metadata && key(one) == key(other)
}

/// Returns the entry without the caller, the resource and the IP address, so that it can represent
/// refusals of several kinds.
fn without_caller(entry: AuditRecord) -> AuditRecord {
    AuditRecord {
        address: None,
        actor_id: None,
        actor_name: None,
        actor_email: None,
        ..entry.without_resource()
    }
}

/// Records a refused request of an authenticated caller in the audit log: immediately, or later in
/// one entry together with other refusals of the same kind. An error of the audit log does not
/// change the response, because the request is refused anyway.
pub(crate) fn record<'a>(
    engine: &'a Engine,
    caller: &'a Caller,
    action: &'static str,
    context: AuditContext,
) -> BoxFuture<'a, ()> {
    // In a box, so that the futures of requests that are not refused are small.
    Box::pin(async move {
        let Some(account) = caller.account() else { return };
        let entry = context.into_entry(caller, action, engine.now());
        let entry = AuditRecord { outcome: "denied".into(), ..entry };
        let refusals = engine.shared::<Refusals>();
        let first = lock(&refusals.0).count(account, entry);
        // The audit queue logs the failure.
        if let Some(entry) = first
            && engine.record(entry.clone()).await.is_err()
        {
            lock(&refusals.0).put_back(vec![entry]);
        }
    })
}

/// Records an operation that was refused for lack of a permission. Does nothing if the operation
/// failed with another error, if the team is unknown, or if operations of this kind are never
/// recorded.
pub(super) async fn record_denied(
    engine: &Engine,
    caller: &Caller,
    context: AuditContext,
    (audit, error): (Audit, &Error),
) {
    let (Error::Forbidden(_) | Error::ApprovalRequired(_), Some(_)) = (error, context.team) else {
        return;
    };
    let action = match audit {
        Audit::Nothing => return,
        Audit::Change(action) | Audit::Read(action) | Audit::Export(action) => action,
    };
    let context = AuditContext { details: Map::new(), others: Vec::new(), ..context };
    record(engine, caller, action, context).await;
}

/// Stores the audit entries of refusals before the current minute and, if `all`, also of refusals
/// in the current minute.
pub(crate) async fn write_pending(engine: &Engine, all: bool) -> StoreResult<()> {
    let refusals = engine.shared::<Refusals>();
    let (due, dropped) = {
        let mut kinds = lock(&refusals.0);
        (kinds.take(engine.now(), all), std::mem::take(&mut kinds.dropped))
    };
    if dropped > 0 {
        tracing::warn!(count = dropped, "refused requests of too many callers to record");
    }
    write_or_put_back(&refusals, engine.store(), due).await
}

/// Audit entries that are being stored. Entries that remain when this value is dropped, because the
/// write failed or was cancelled, are kept in memory and stored by a later call.
struct Unwritten<'a> {
    refusals: &'a Refusals,
    entries: Vec<AuditRecord>,
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        lock(&self.refusals.0).put_back(std::mem::take(&mut self.entries));
    }
}

/// Stores audit entries. If that fails or is cancelled, keeps them in memory for a later call.
async fn write_or_put_back(
    refusals: &Refusals,
    store: &dyn Store,
    entries: Vec<AuditRecord>,
) -> StoreResult<()> {
    let mut unwritten = Unwritten { refusals, entries };
    write(store, &unwritten.entries).await?;
    unwritten.entries.clear();
    Ok(())
}

/// Stores audit entries, without the names of users who were deleted meanwhile. (Their account may
/// have been deleted through another node.)
async fn write(store: &dyn Store, entries: &[AuditRecord]) -> StoreResult<()> {
    for batch in entries.chunks(MAX_BATCH) {
        let mut batch = batch.to_vec();
        let mut tx = store.begin().await?;
        let users = batch.iter().filter(|entry| entry.actor_type == "user");
        // In the order of IDs, so that nodes that write at the same time do not deadlock.
        let users: BTreeSet<_> = users.filter_map(|entry| entry.actor_id).collect();
        for user in users {
            match tx.lock_user(user.into()).await {
                Ok(()) => {}
                Err(StoreError::Stale(_)) => anonymize(&mut batch, user),
                Err(error) => return Err(error),
            }
        }
        tx.insert_audit(&batch).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Removes the name and e-mail address of a user from audit entries.
fn anonymize<'a>(entries: impl IntoIterator<Item = &'a mut AuditRecord>, user: Uuid) {
    for entry in entries.into_iter().filter(|entry| entry.actor_id == Some(user)) {
        (entry.actor_name, entry.actor_email) = (None, None);
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;
