//! An issuer's keys, kept and renewed.
//!
//! Young keys are used; older ones are used while newer ones are fetched in the background; old
//! ones are fetched anew first. There is one fetch at a time, whoever waits for it, and it goes on
//! when they leave. Where newer keys cannot be had, the last ones are used on for a day.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrets_core::ports::identity::Unverified;
use secrets_core::jwt::KeySet;
use tokio::time::Instant;

use super::Timings;
use super::provider::{NoAnswer, Provider};

/// See the module.
pub(super) struct KeyCache {
    pub(super) provider: Provider,
    timings: Timings,
    state: Mutex<State>,
    /// Held during a fetch.
    flight: tokio::sync::Mutex<()>,
}

/// Keys, and which ones: for asking whether there are newer ones.
pub(super) struct Snapshot {
    pub(super) keys: Arc<KeySet>,
    taken: Instant,
}

#[derive(Default)]
struct State {
    last: Option<Last>,
    /// When and why the last fetch failed, if it did.
    failure: Option<(Instant, String)>,
    /// When keys were last fetched because one was not there.
    searched: Option<Instant>,
    /// How many fetches have ended.
    fetches: u64,
    is_refreshing: bool,
}

/// The keys of the last fetch that succeeded.
struct Last {
    keys: Arc<KeySet>,
    fetched: Instant,
}

/// What to do for somebody who wants keys.
enum Step {
    Use(Snapshot),
    Refresh(Snapshot),
    Fetch,
    GiveUp(Unverified),
}

impl KeyCache {
    pub(super) fn new(provider: Provider, timings: Timings) -> Self {
        let (state, flight) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { provider, timings, state, flight }
    }

    /// The keys to use.
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

    /// Newer keys than these, which lack the one that is wanted; `None` where there are none, as
    /// far as can be told without asking the issuer too often.
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
            if let Some(reason) = state.failed_lately(&self.timings) {
                return Err(reason);
            }
            state.fetches
        };
        self.fetched(fetches).await;

        let mut state = self.state();
        // What an old set lacks may be in the new one that could not be had.
        if let Some(reason) = state.unavailable() {
            return Err(reason);
        }
        state.searched = Some(Instant::now());
        state.usable(&self.timings).map(Some)
    }

    /// Waits for a fetch, which does not depend on being waited for.
    async fn fetched(self: &Arc<Self>, seen: u64) {
        let fetch = tokio::spawn(Arc::clone(self).fetch(seen));
        // It does not panic; if it did, nothing was learnt.
        let _ = fetch.await;
    }

    /// Fetches, unless somebody has since `seen` fetches had ended.
    async fn fetch(self: Arc<Self>, seen: u64) {
        let _flight = self.flight.lock().await;
        if self.state().fetches != seen {
            return;
        }
        let answer = self.provider.key_set().await;
        self.state().learn(answer);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn step(&mut self, timings: &Timings) -> Step {
        let Some(last) = &self.last else {
            return self.failed_lately(timings).map_or(Step::Fetch, Step::GiveUp);
        };
        let age = last.fetched.elapsed();
        let keys = last.snapshot();
        if age < timings.refresh_after {
            return Step::Use(keys);
        }
        // Nobody waits for an issuer that is known to be away.
        let may_wait = self.failure.is_none();
        let is_usable = age < timings.expire_after || !may_wait && age < timings.stale_for;
        match self.failed_lately(timings) {
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
                self.failure = None;
                self.last = Some(Last { keys: Arc::new(keys), fetched: Instant::now() });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot fetch the issuer's keys");
                self.failure = Some((Instant::now(), error.to_string()));
            }
        }
    }

    /// The last keys, however they are.
    fn usable(&self, timings: &Timings) -> Result<Snapshot, Unverified> {
        match &self.last {
            Some(last) if last.fetched.elapsed() < timings.stale_for => Ok(last.snapshot()),
            _ => Err(self.unavailable().unwrap_or_else(|| unavailable("there are no keys"))),
        }
    }

    fn failed_lately(&self, timings: &Timings) -> Option<Unverified> {
        let (time, _) = self.failure.as_ref()?;
        if time.elapsed() < timings.retry_pause { self.unavailable() } else { None }
    }

    fn unavailable(&self) -> Option<Unverified> {
        self.failure.as_ref().map(|(_, reason)| unavailable(reason))
    }
}

impl Last {
    fn snapshot(&self) -> Snapshot {
        Snapshot { keys: Arc::clone(&self.keys), taken: self.fetched }
    }
}

fn unavailable(reason: &str) -> Unverified {
    Unverified::Unavailable(reason.into())
}
