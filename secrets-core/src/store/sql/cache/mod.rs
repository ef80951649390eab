//! Cache of records.
//!
//! The cache holds records as they are stored: secrets and project keys stay encrypted. A cached
//! record is used only while it is [current](Changes), which means unchanged in the database. So a
//! lookup includes everything that was committed before the reader began, and all its records show
//! the same point in time.
//!
//! An SQLite database is written by this process only, and its connection reports each change. On
//! PostgreSQL, where other nodes write too, each reader first asks for the changes that were committed
//! since the last query (`postgres/changes.rs`).

mod changes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::{Cache as Entries, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use uuid::Uuid;

use self::changes::Stripe;
pub(in crate::store::sql) use self::changes::{Changes, RunningCommit};
use crate::crypto::TokenMac;
use crate::model::{EnvironmentId, EnvironmentPath, Principal, SecretKey};
use crate::store::{
    CacheUsage, Relation, ResolvedEnvironment, SecretRecord, Selection, TokenRecord, UserRecord,
};

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
pub(super) const NOT_CACHED: [&str; 23] = [
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

/// The cache as a reader uses it: the records that show the database at one point in time, which is
/// not before the start of the reader.
#[derive(Clone)]
pub(super) struct CacheView {
    cache: Arc<Cache>,
    /// Number of the update of the [`Changes`] on which the view is based.
    update: u64,
    /// True if the view is that of the only transaction that writes. It has no records that this
    /// transaction or its group has changed, and stores none, because they may not be committed yet.
    is_in_transaction: bool,
}

/// Arguments with which an environment is looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) path: &'a EnvironmentPath,
    pub(super) principal: Principal,
    pub(super) selection: Selection<'a>,
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
    /// Time before the record was loaded.
    loaded_at: u64,
    /// Number of updates that had begun when the record was loaded. These updates may show the
    /// database before the record was written, so only later ones are used with it.
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

    /// Returns the record of the changes, with which the cache decides if a cached record is
    /// current.
    pub(super) fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Returns the size of the cache, and the number of lookups that found a record or did not.
    pub(super) fn usage(&self) -> CacheUsage {
        CacheUsage {
            bytes: self.entries.weight(),
            max_bytes: self.entries.capacity(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    /// Returns a view of the records that are valid according to this update of the
    /// [`Changes`](Changes::begin_update).
    #[cfg(feature = "postgres")]
    pub(super) fn view_of(self: &Arc<Self>, update: u64) -> CacheView {
        CacheView { cache: Arc::clone(self), update, is_in_transaction: false }
    }

    /// Returns a view of the records that are valid now, if the changes are known without updates.
    #[cfg(feature = "sqlite")]
    pub(super) fn view(self: &Arc<Self>) -> CacheView {
        CacheView { cache: Arc::clone(self), update: u64::MAX, is_in_transaction: false }
    }

    /// Returns a view for a transaction beside which no other one writes.
    #[cfg(feature = "sqlite")]
    pub(super) fn view_in_transaction(self: &Arc<Self>) -> CacheView {
        CacheView { is_in_transaction: true, ..self.view() }
    }
}

impl CacheView {
    /// Counts a lookup in the statistics, and returns its result.
    fn count<T>(&self, found: Option<T>) -> Option<T> {
        let counter = if found.is_some() { &self.cache.hits } else { &self.cache.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Returns the current time (number of commits). Must be called before a record is loaded for
    /// the cache.
    pub(super) fn now(&self) -> u64 {
        self.cache.changes.now()
    }

    /// Returns the cached service token whose current or previous token string has this MAC.
    pub(super) fn token(&self, mac: &TokenMac) -> Option<TokenRecord> {
        self.count(self.find_token(mac))
    }

    fn find_token(&self, mac: &TokenMac) -> Option<TokenRecord> {
        let entry = self.cache.entries.get(&Key::Token(mac.0))?;
        match &entry.record {
            Record::Token(token) if self.are_current([&entry]) => Some(token.clone()),
            _ => None,
        }
    }

    /// Caches the service token with this MAC, which was loaded at the time `loaded_at`.
    pub(super) fn keep_token(&self, loaded_at: u64, mac: &TokenMac, token: &TokenRecord) {
        let ids = [token.id.uuid()];
        self.keep(loaded_at, Key::Token(mac.0), ids, Record::Token(token.clone()));
    }

    /// Returns the cached user with this issuer and subject.
    pub(super) fn user(&self, issuer: &str, subject: &str) -> Option<UserRecord> {
        self.count(self.find_user(issuer, subject))
    }

    fn find_user(&self, issuer: &str, subject: &str) -> Option<UserRecord> {
        let entry = self.cache.entries.get(&Key::User(issuer.to_owned(), subject.to_owned()))?;
        match &entry.record {
            Record::User(user) if self.are_current([&entry]) => Some(user.clone()),
            _ => None,
        }
    }

    /// Caches a user that was loaded at the time `loaded_at`.
    pub(super) fn keep_user(&self, loaded_at: u64, user: &UserRecord) {
        let key = Key::User(user.issuer.clone(), user.subject.clone());
        self.keep(loaded_at, key, [user.id.uuid()], Record::User(user.clone()));
    }

    /// Returns the cached environment with the selected secrets. Returns `None` unless all parts
    /// are cached and current.
    pub(super) fn resolved(&self, lookup: Lookup<'_>) -> Option<ResolvedEnvironment> {
        self.count(self.find_resolved(lookup))
    }

    fn find_resolved(&self, lookup: Lookup<'_>) -> Option<ResolvedEnvironment> {
        let Lookup { path, principal, selection } = lookup;
        let entry = self.cache.entries.get(&Key::Environment(path.clone(), principal))?;
        let Record::Environment(resolved) = &entry.record else { return None };
        let mut resolved = resolved.clone();
        let mut used = vec![Arc::clone(&entry)];
        let mut size = 0;
        for link in &mut resolved.chain {
            let environment = link.environment.id;
            match selection {
                Selection::None => {}
                Selection::Key(key) => {
                    let entry = self.cache.entries.get(&Key::Secret(environment, key.clone()))?;
                    let Record::Secret(secret) = &entry.record else { return None };
                    link.secrets.extend(secret.clone());
                    used.push(entry);
                }
                Selection::All => {
                    let entry = self.cache.entries.get(&Key::Secrets(environment))?;
                    let Record::Secrets(secrets, bytes) = &entry.record else { return None };
                    link.secrets.clone_from(secrets);
                    size += bytes;
                    used.push(entry);
                }
            }
        }
        // Checked after all entries were collected: those that are still current now were all
        // current at the beginning of the check.
        let is_usable = size <= ResolvedEnvironment::MAX_BYTES && self.are_current(&used);
        is_usable.then_some(resolved)
    }

    /// Caches a resolved environment with the selected secrets, loaded at the time `loaded_at`.
    /// Caches nothing if the user or service token has no relation to the project.
    pub(super) fn keep_resolved(
        &self,
        loaded_at: u64,
        lookup: Lookup<'_>,
        resolved: &ResolvedEnvironment,
    ) {
        let Lookup { path, principal, selection } = lookup;
        if matches!(resolved.relation, Relation::None) || resolved.chain.is_empty() {
            return;
        }
        for link in &resolved.chain {
            let environment = link.environment.id;
            let (key, record) = match selection {
                Selection::None => continue,
                Selection::Key(key) => {
                    let secret = link.secrets.first().cloned();
                    (Key::Secret(environment, key.clone()), Record::Secret(secret))
                }
                Selection::All => {
                    let size = link.secrets.iter().map(|secret| secret.size()).sum();
                    (Key::Secrets(environment), Record::Secrets(link.secrets.clone(), size))
                }
            };
            self.keep(loaded_at, key, [environment.uuid()], record);
        }
        let mut bare = resolved.clone();
        bare.chain.iter_mut().for_each(|link| link.secrets = Vec::new());
        let principal_id = match principal {
            Principal::User(user) => user.uuid(),
            Principal::Token(token) => token.uuid(),
        };
        let of_project = [resolved.project.id.uuid(), resolved.project.team.uuid(), principal_id];
        let of_chain = resolved.chain.iter().map(|link| link.environment.id.uuid());
        let ids = of_project.into_iter().chain(of_chain);
        let key = Key::Environment(path.clone(), principal);
        self.keep(loaded_at, key, ids, Record::Environment(bare));
    }

    fn keep(&self, loaded_at: u64, key: Key, ids: impl IntoIterator<Item = Uuid>, record: Record) {
        if self.is_in_transaction {
            return;
        }
        let stripes = ids.into_iter().map(Stripe::of).collect();
        let kept_at = self.cache.changes.updates();
        self.cache.entries.insert(key, Arc::new(Entry { record, loaded_at, kept_at, stripes }));
    }

    fn are_current<'a>(&self, entries: impl IntoIterator<Item = &'a Arc<Entry>>) -> bool {
        let changes = &self.cache.changes;
        entries.into_iter().all(|entry| {
            entry.kept_at < self.update
                && changes.is_current(entry.loaded_at, &entry.stripes)
                && !(self.is_in_transaction && changes.are_pending(&entry.stripes))
        })
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
