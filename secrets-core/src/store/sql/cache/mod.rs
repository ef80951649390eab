//! Cache of records that readers load from an SQL database.
//!
//! The cache holds records as they are stored: secrets and project keys stay encrypted. A cached
//! record is used only while it is [current](Changes), which means unchanged in the database. So a
//! lookup includes everything that was committed before the reader began, and all its records show
//! the same point in time.
//!
//! An SQLite database is written by this process only, and its connection reports each change. On
//! PostgreSQL, where other nodes write too, each reader first queries the changes that were
//! committed since the last query (`postgres/changes.rs`).

mod changes;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::{Cache as Entries, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use self::changes::Stripe;
pub(in crate::store::sql) use self::changes::{Changes, RunningCommit};
pub(super) use self::view::{CacheView, Lookup};
use crate::model::{EnvironmentId, EnvironmentPath, Principal, SecretKey};
use crate::store::{CacheUsage, ResolvedEnvironment, SecretRecord, TokenRecord, UserRecord};

/// Tables whose records are cached, each with the column that contains the ID of the cached record.
pub(super) const WATCHED: [(&str, &str); 13] = [
    ("environment_defaults", "environment_id"),
    ("environments", "id"),
    ("members", "team_id"),
    ("permission_defaults", "project_id"),
    ("permissions", "environment_id"),
    ("project_keys", "project_id"),
    ("projects", "id"),
    ("secrets", "environment_id"),
    ("teams", "id"),
    ("token_environments", "token_id"),
    ("token_projects", "token_id"),
    ("tokens", "id"),
    ("users", "id"),
];

/// Tables whose records are never cached.
#[cfg(test)]
pub(super) const NOT_CACHED: [&str; 24] = [
    "_sqlx_migrations",
    "anonymizations",
    "audit_batches",
    "audit_heads",
    "audit_log",
    "cli_sessions",
    "device_logins",
    "finding_marks",
    "instance",
    "instance_keys",
    "invitations",
    "mail_counts",
    "outbox",
    "project_key_requests",
    "rotation_attempts",
    "rotation_keys",
    "rotations",
    "scan_findings",
    "scans",
    "schema_compatibility",
    "secret_versions",
    "team_sizes",
    "webhook_deliveries",
    "webhooks",
];

/// Number of parts into which the cache is divided, each with its own lock. A record larger than a
/// part is not cached.
const PARTS: usize = 4;

/// Estimated average size of a cached record, in bytes.
const TYPICAL_ENTRY: u64 = 512;

/// Estimated size in bytes of a record in memory, without its strings and encrypted data.
const RECORD: usize = 384;

/// A cache of records with a maximum total size.
pub(super) struct Cache {
    entries: Entries<Key, Arc<Entry>, Size, DefaultHashBuilder, DefaultLifecycle<Key, Arc<Entry>>>,
    changes: Arc<Changes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Service token, by the MAC of its current or previous token string.
    Token([u8; 32]),
    /// User, by issuer and subject.
    User(String, String),
    /// Resolved environment without its secrets, by path and by user or service token (principal).
    Environment(EnvironmentPath, Principal),
    /// One secret of an environment, by environment and secret key.
    Secret(EnvironmentId, SecretKey),
    /// All secrets of an environment, by environment.
    Secrets(EnvironmentId),
}

struct Entry {
    record: Record,
    /// Time (number of commits) before the record was loaded.
    loaded_at: u64,
    /// Number of updates of the [`Changes`] that had begun when the record was cached. Only views
    /// of later updates return the record, because an earlier update may show an older state of the
    /// database.
    kept_at: u64,
    /// Change counters of the IDs that the cached record depends on.
    stripes: Box<[Stripe]>,
}

enum Record {
    Token(TokenRecord),
    User(UserRecord),
    Environment(ResolvedEnvironment),
    /// Secret of an environment; `None` if the environment has no secret with the key.
    Secret(Option<Arc<SecretRecord>>),
    /// All secrets of an environment, sorted by key, with their total size in bytes.
    Secrets(Vec<Arc<SecretRecord>>, usize),
}

/// Function that computes the weight of a cached record: its approximate size in bytes.
#[derive(Clone)]
struct Size;

impl Weighter<Key, Arc<Entry>> for Size {
    fn weight(&self, _: &Key, entry: &Arc<Entry>) -> u64 {
        let secret = |secret: &Arc<SecretRecord>| RECORD + secret.size();
        let size = match &entry.record {
            Record::Token(_) | Record::User(_) | Record::Secret(None) => RECORD,
            Record::Environment(resolved) => RECORD * (1 + resolved.chain.len()),
            Record::Secret(Some(held)) => secret(held),
            Record::Secrets(held, _) => RECORD + held.iter().map(secret).sum::<usize>(),
        };
        u64::try_from(size + RECORD).unwrap_or(u64::MAX)
    }
}

impl Cache {
    /// Creates a cache with this maximum size, in bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / TYPICAL_ENTRY).unwrap_or(usize::MAX);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(items)
            .weight_capacity(bytes)
            .shards(PARTS)
            .build();
        // The options are complete, so building them does not fail.
        let options = options.unwrap_or_else(|_| unreachable!("items and weight are given"));
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let entries = Entries::with_options(options, Size, hasher, lifecycle);
        let (hits, misses) = Default::default();
        Self { entries, changes: Arc::new(Changes::new()), hits, misses }
    }

    /// Returns the changes that determine if a cached record is current.
    pub(super) fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Returns the size of the cache, the number of lookups that found a current record, and the
    /// number of lookups that found none.
    pub(super) fn usage(&self) -> CacheUsage {
        CacheUsage {
            bytes: self.entries.weight(),
            max_bytes: self.entries.capacity(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }
}

#[cfg(feature = "postgres")]
#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::testing::fixtures::user;

    #[test]
    fn a_view_has_no_record_that_was_loaded_later() {
        let cache = Arc::new(Cache::new(1 << 20));
        let alice = user("alice");
        let find = |view: &CacheView| view.user(&alice.issuer, &alice.subject);
        let before = cache.view_of(cache.changes().begin_update());
        before.keep_user(before.now(), &alice);

        let after = cache.view_of(cache.changes().begin_update());

        assert_eq!((find(&before), find(&after)), (None, Some(alice.clone())));
    }

    #[test]
    fn a_committed_change_makes_its_records_old() {
        let cache = Arc::new(Cache::new(1 << 20));
        let users = ["alice", "bob"].map(user);
        let changes = cache.changes();
        let keep = |view: &CacheView| {
            for user in &users {
                view.keep_user(view.now(), user);
            }
        };
        let found = |view: &CacheView| {
            users.each_ref().map(|user| view.user(&user.issuer, &user.subject).is_some())
        };
        keep(&cache.view_of(changes.begin_update()));
        let view = cache.view_of(changes.begin_update());
        assert_eq!(found(&view), [true; 2]);

        let [.., high, low] = *users[0].id.uuid().as_bytes();
        changes.add_committed([u16::from_be_bytes([high, low]) % 4096].into_iter());
        assert_eq!(found(&view), [false, true]);
        changes.add_all();
        assert_eq!(found(&view), [false; 2]);
    }
}
