//! Lookups in the cache.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use uuid::Uuid;

use super::changes::Stripe;
use super::{Cache, Entry, Key, Record};
use crate::crypto::TokenMac;
use crate::model::{EnvironmentPath, Principal};
use crate::store::{Relation, ResolvedEnvironment, Selection, TokenRecord, UserRecord};

/// View of the cache for one reader or transaction. Returns only records that show the database at
/// one point in time, which is not before the start of the reader.
#[derive(Clone)]
pub(in crate::store::sql) struct CacheView {
    cache: Arc<Cache>,
    /// Number of the update of the [`Changes`](super::Changes) on which the view is based.
    update: u64,
    /// True if the view belongs to the only open write transaction. Such a view returns no records
    /// that the transaction, or an earlier one of its group, has changed, and caches no records,
    /// because the changes may not be committed yet.
    is_in_transaction: bool,
}

/// Arguments with which an environment is looked up.
#[derive(Debug, Clone, Copy)]
pub(in crate::store::sql) struct Lookup<'a> {
    pub(in crate::store::sql) path: &'a EnvironmentPath,
    pub(in crate::store::sql) principal: Principal,
    pub(in crate::store::sql) selection: Selection<'a>,
}

impl Cache {
    /// Returns a view of the records that are valid according to this update of the
    /// [`Changes`](super::Changes::begin_update).
    #[cfg(feature = "postgres")]
    pub(in crate::store::sql) fn view_of(self: &Arc<Self>, update: u64) -> CacheView {
        CacheView { cache: Arc::clone(self), update, is_in_transaction: false }
    }

    /// Returns a view of the records that are valid now. Used if all changes are made by this
    /// process, so that no updates are needed.
    #[cfg(feature = "sqlite")]
    pub(in crate::store::sql) fn view(self: &Arc<Self>) -> CacheView {
        CacheView { cache: Arc::clone(self), update: u64::MAX, is_in_transaction: false }
    }

    /// Returns a view for a transaction during which no other transaction writes.
    #[cfg(feature = "sqlite")]
    pub(in crate::store::sql) fn view_in_transaction(self: &Arc<Self>) -> CacheView {
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
    pub(in crate::store::sql) fn now(&self) -> u64 {
        self.cache.changes.now()
    }

    /// Returns the cached service token whose current or previous token string has this MAC.
    pub(in crate::store::sql) fn token(&self, mac: &TokenMac) -> Option<TokenRecord> {
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
    pub(in crate::store::sql) fn keep_token(
        &self,
        loaded_at: u64,
        mac: &TokenMac,
        token: &TokenRecord,
    ) {
        let ids = [token.id.uuid()];
        self.keep(loaded_at, Key::Token(mac.0), ids, Record::Token(token.clone()));
    }

    /// Returns the cached user with this issuer and subject.
    pub(in crate::store::sql) fn user(&self, issuer: &str, subject: &str) -> Option<UserRecord> {
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
    pub(in crate::store::sql) fn keep_user(&self, loaded_at: u64, user: &UserRecord) {
        let key = Key::User(user.issuer.clone(), user.subject.clone());
        self.keep(loaded_at, key, [user.id.uuid()], Record::User(user.clone()));
    }

    /// Returns the cached environment with the selected secrets. Returns `None` unless all parts
    /// are cached and current.
    pub(in crate::store::sql) fn resolved(
        &self,
        lookup: Lookup<'_>,
    ) -> Option<ResolvedEnvironment> {
        self.count(self.find_resolved(lookup))
    }

    fn find_resolved(&self, lookup: Lookup<'_>) -> Option<ResolvedEnvironment> {
        let Lookup { path, principal, selection } = lookup;
        let entry = self.cache.entries.get(&Key::Environment(path.clone(), principal))?;
        let Record::Environment(resolved) = &entry.record else { return None };
        let mut resolved = resolved.clone();
        let mut used = vec![Arc::clone(&entry)];
        let mut size = 0;
        for (depth, link) in resolved.chain.iter_mut().enumerate() {
            let environment = link.environment.id;
            match selection {
                Selection::None => {}
                Selection::Own | Selection::OwnKey(_) if depth > 0 => {}
                Selection::Key(key) | Selection::OwnKey(key) => {
                    let entry = self.cache.entries.get(&Key::Secret(environment, key.clone()))?;
                    let Record::Secret(secret) = &entry.record else { return None };
                    link.secrets.extend(secret.clone());
                    used.push(entry);
                }
                Selection::Own | Selection::All => {
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
    pub(in crate::store::sql) fn keep_resolved(
        &self,
        loaded_at: u64,
        lookup: Lookup<'_>,
        resolved: &ResolvedEnvironment,
    ) {
        let Lookup { path, principal, selection } = lookup;
        if matches!(resolved.relation, Relation::None) || resolved.chain.is_empty() {
            return;
        }
        for (depth, link) in resolved.chain.iter().enumerate() {
            let environment = link.environment.id;
            let (key, record) = match selection {
                Selection::None => continue,
                Selection::Own | Selection::OwnKey(_) if depth > 0 => continue,
                Selection::Key(key) | Selection::OwnKey(key) => {
                    let secret = link.secrets.first().cloned();
                    (Key::Secret(environment, key.clone()), Record::Secret(secret))
                }
                Selection::Own | Selection::All => {
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
