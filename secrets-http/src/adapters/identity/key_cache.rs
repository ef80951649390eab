//! Cache of the public keys of a token issuer.
//!
//! The age of the keys decides whether they are used unchanged, used while they are refreshed in
//! the background, or fetched again before use (see [`Timings`]). At most one fetch runs at a time.
//! A fetch continues if the requests that wait for it are cancelled. While the issuer is
//! unavailable, the last keys stay in use for up to a day.

use std::sync::{Arc, Mutex, MutexGuard};

use secrets_core::jwt::KeySet;
use secrets_core::model::lock::lock;
use secrets_core::ports::identity::{KeySetUsage, Unverified};
use tokio::time::Instant;

use super::provider::{NoAnswer, Provider};
use super::{LastFailure, Timings, unavailable};

/// Cache of the public keys of one token issuer.
pub(super) struct KeyCache {
    pub(super) provider: Provider,
    timings: Timings,
    state: Mutex<State>,
    /// Mutex held during a fetch, so that only one fetch runs at a time.
    fetching: tokio::sync::Mutex<()>,
}

/// Copy of the cached keys with the time of their fetch. The time identifies this version of the
/// key set.
pub(super) struct Snapshot {
    pub(super) keys: Arc<KeySet>,
    taken: Instant,
}

#[derive(Default)]
struct State {
    last: Option<Last>,
    failure: LastFailure,
    /// Time of the last fetch caused by an unknown key ID.
    searched: Option<Instant>,
    /// Number of completed fetches.
    fetches: u64,
    /// Number of completed fetches that failed.
    failed: u64,
    is_refreshing: bool,
}

/// Keys of the last successful fetch.
struct Last {
    keys: Arc<KeySet>,
    fetched: Instant,
}

/// Next action for a request that needs the keys: use the cached keys, or fetch the keys first.
enum Step {
    Use(Snapshot),
    Refresh(Snapshot),
    Fetch,
    GiveUp(Unverified),
}

impl KeyCache {
    pub(super) fn new(provider: Provider, timings: Timings) -> Self {
        let (state, fetching) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { provider, timings, state, fetching }
    }

    /// Returns the current keys. Fetches them first if necessary.
    pub(super) async fn current(self: &Arc<Self>) -> Result<Snapshot, Unverified> {
        let (step, fetches) = {
            let mut state = self.state();
            (state.step(&self.timings), state.fetches)
        };
        match step {
            Step::Use(keys) => Ok(keys),
            Step::Refresh(keys) => {
                tokio::spawn(Arc::clone(self).fetch(fetches));
                Ok(keys)
            }
            Step::Fetch => {
                self.fetched(fetches).await;
                self.state().usable(&self.timings)
            }
            Step::GiveUp(reason) => Err(reason),
        }
    }

    /// Returns keys that are newer than `seen`, to find the key of a token that `seen` does not
    /// contain. Fetches the keys if necessary. Returns `None` if less than `search_pause` has
    /// passed since the last fetch for a missing key.
    pub(super) async fn newer(
        self: &Arc<Self>,
        seen: &Snapshot,
    ) -> Result<Option<Snapshot>, Unverified> {
        let fetches = {
            let state = self.state();
            if state.last.as_ref().is_some_and(|last| last.fetched != seen.taken) {
                return state.usable(&self.timings).map(Some);
            }
            if state.searched.is_some_and(|time| time.elapsed() < self.timings.search_pause) {
                return Ok(None);
            }
            if let Some(reason) = state.failure.recent(&self.timings) {
                return Err(reason);
            }
            state.fetches
        };
        self.fetched(fetches).await;

        let mut state = self.state();
        // The fetch failed, so the missing key may exist: report unavailable, not invalid.
        if let Some(reason) = state.failure.error() {
            return Err(reason);
        }
        state.searched = Some(Instant::now());
        state.usable(&self.timings).map(Some)
    }

    /// Returns the age of the keys and the numbers of fetches.
    pub(super) fn usage(&self) -> KeySetUsage {
        let state = self.state();
        KeySetUsage {
            age: state.last.as_ref().map(|last| last.fetched.elapsed()),
            succeeded: state.fetches - state.failed,
            failed: state.failed,
        }
    }

    /// Runs a fetch in its own task and waits for the task. If the waiting caller is cancelled, the
    /// fetch continues. `seen` is the number of fetches that had completed when the caller decided
    /// to fetch.
    async fn fetched(self: &Arc<Self>, seen: u64) {
        let fetch = tokio::spawn(Arc::clone(self).fetch(seen));
        // An error means that the task panicked; then the state is unchanged.
        let _ = fetch.await;
    }

    /// Fetches the keys. Does nothing if more than `seen` fetches have completed, because another
    /// caller has then already fetched the keys.
    async fn fetch(self: Arc<Self>, seen: u64) {
        let _fetching = self.fetching.lock().await;
        if self.state().fetches != seen {
            return;
        }
        let answer = self.provider.key_set().await;
        self.state().learn(answer);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn step(&mut self, timings: &Timings) -> Step {
        let Some(last) = &self.last else {
            return self.failure.recent(timings).map_or(Step::Fetch, Step::GiveUp);
        };
        let age = last.fetched.elapsed();
        let keys = last.snapshot();
        if age < timings.refresh_after {
            return Step::Use(keys);
        }
        // Do not wait for an issuer whose last fetch failed, as long as stale keys are usable.
        let may_wait = self.failure.0.is_none();
        let is_usable = age < timings.expire_after || !may_wait && age < timings.stale_for;
        match self.failure.recent(timings) {
            Some(reason) if !is_usable => Step::GiveUp(reason),
            Some(_) => Step::Use(keys),
            None if !is_usable => Step::Fetch,
            None if self.is_refreshing => Step::Use(keys),
            None => {
                self.is_refreshing = true;
                Step::Refresh(keys)
            }
        }
    }

    fn learn(&mut self, answer: Result<KeySet, NoAnswer>) {
        self.fetches += 1;
        self.is_refreshing = false;
        match answer {
            Ok(keys) => {
                tracing::debug!(keys = keys.len(), "fetched the issuer's keys");
                self.failure = LastFailure::default();
                self.last = Some(Last { keys: Arc::new(keys), fetched: Instant::now() });
            }
            Err(error) => {
                self.failed += 1;
                self.failure.record("the issuer's keys", &error);
            }
        }
    }

    /// Returns the last fetched keys if they are not older than `stale_for`; otherwise fails.
    fn usable(&self, timings: &Timings) -> Result<Snapshot, Unverified> {
        match &self.last {
            Some(last) if last.fetched.elapsed() < timings.stale_for => Ok(last.snapshot()),
            _ => Err(self.failure.error().unwrap_or_else(|| unavailable("no usable keys"))),
        }
    }
}

impl Last {
    fn snapshot(&self) -> Snapshot {
        Snapshot { keys: Arc::clone(&self.keys), taken: self.fetched }
    }
}
