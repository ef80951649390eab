//! Rate limits that apply to all nodes of an instance together.
//!
//! Each node counts in its own memory first. A request over the limit is refused there; any other
//! request is counted in the shared counters too, in one step. Then the node raises its own counter
//! to the value of the shared counter. So a request needs at most one access to the shared counters
//! for each window, and a refused request usually needs none. A node that cannot reach the shared
//! counters continues with the last values that it has read.

#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{RateLimiter, Window};
use crate::crypto::{FingerprintKey, Keyring};
use crate::model::{Time, UserId};

/// Time for which a counter is kept after the end of its window, in case the clocks of the nodes
/// differ.
const GRACE: Duration = Duration::from_mins(1);

/// Counters that several nodes share, for example on a Redis server.
#[async_trait]
pub trait SharedCounters: Send + Sync {
    /// Increments each of these counters by one, unless one of the counters has reached its limit:
    /// then no counter is changed. Returns the value of each counter plus one, in the same order,
    /// even if the counters were not changed. Returns `None` if the counters cannot be reached in
    /// time.
    async fn add(&self, counters: &[SharedCounter]) -> Option<Vec<u32>>;

    /// True if the last access to the shared counters succeeded.
    fn is_available(&self) -> bool;

    /// Returns the number of failed accesses to the shared counters since the start.
    fn failures(&self) -> u64;
}

/// Description of one counter to which a request is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedCounter {
    /// ID of the counter: a keyed hash of its purpose, its time window and its key.
    pub id: [u8; 16],
    /// Maximum number of requests in the time window.
    pub limit: u32,
    /// Time after which the counter can be deleted.
    pub expires_in: Duration,
}

/// State of the shared counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedState {
    /// There are no shared counters: each node counts by itself.
    Absent,
    /// The shared counters can be reached: the nodes count together.
    Available,
    /// The shared counters cannot be reached: this node counts by itself.
    Unavailable,
}

/// Shared rate-limit counters of an instance, if configured, and the MAC key that hides the counted
/// addresses and IDs.
pub struct SharedWindows {
    counters: Option<Arc<dyn SharedCounters>>,
    key: FingerprintKey,
}

/// Shared counters for one purpose, such as the requests from each IP address.
#[derive(Clone, Copy)]
pub struct NamedWindows<'a> {
    windows: &'a SharedWindows,
    purpose: &'static str,
    table: &'static str,
}

/// Key of a rate-limit counter, such as an IP address, that converts to the same bytes on every
/// node.
pub trait SharedKey {
    /// Bytes that the key is converted to.
    type Bytes: AsRef<[u8]>;

    /// Converts the key to bytes.
    fn to_bytes(&self) -> Self::Bytes;
}

impl SharedWindows {
    /// Creates the shared counters of an instance. `counters` is `None` if each node counts by
    /// itself.
    pub(crate) fn new(counters: Option<Arc<dyn SharedCounters>>, keyring: &Keyring) -> Self {
        Self { counters, key: FingerprintKey::of_rate_limits(keyring) }
    }

    /// Returns the shared counters for one purpose, such as the requests from each IP address.
    #[must_use]
    pub fn named(&self, purpose: &'static str) -> NamedWindows<'_> {
        NamedWindows { windows: self, purpose, table: "" }
    }

    /// Returns the state of the shared counters, without accessing them.
    #[must_use]
    pub fn state(&self) -> SharedState {
        match &self.counters {
            None => SharedState::Absent,
            Some(counters) if counters.is_available() => SharedState::Available,
            Some(_) => SharedState::Unavailable,
        }
    }

    /// Returns the number of failed accesses to the shared counters since the start.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.counters.as_ref().map_or(0, |counters| counters.failures())
    }

    /// Computes a keyed hash of the parts. All nodes of the service compute the same hash.
    #[must_use]
    pub fn hash(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut hash = [0; 16];
        hash.copy_from_slice(&self.key.fingerprint(parts).0[..16]);
        hash
    }
}

impl NamedWindows<'_> {
    /// Returns the shared counters for one part of this purpose, such as IPv4 addresses only.
    /// `table` names the part.
    pub(super) fn table(self, table: &'static str) -> Self {
        Self { table, ..self }
    }

    /// Adds a request to these shared counters. Returns the value of each counter including this
    /// request; `None` if there are no shared counters or they cannot be reached.
    pub(super) async fn add<const N: usize>(
        self,
        counters: [SharedCounter; N],
    ) -> Option<[u32; N]> {
        let values = self.windows.counters.as_ref()?.add(&counters).await?;
        values.try_into().ok()
    }

    fn id(self, length: i64, window: i64, key: &[u8]) -> [u8; 16] {
        let (length, window) = (length.to_be_bytes(), window.to_be_bytes());
        self.windows.hash(&[
            b"window",
            self.purpose.as_bytes(),
            self.table.as_bytes(),
            &length,
            &window,
            key,
        ])
    }
}

impl<K: Eq + Hash + Copy + SharedKey> RateLimiter<K> {
    /// Counts a request of `key` like [`count`](Self::count), but also includes the requests that
    /// the other nodes have counted.
    pub async fn count_shared(
        &self,
        shared: NamedWindows<'_>,
        key: K,
        now: Time,
    ) -> Option<Window> {
        let own = self.count(key, now)?;
        if !own.admitted {
            return Some(own);
        }
        let counter = self.shared_counter(shared, &key, now);
        let Some([used]) = shared.add([counter]).await else { return Some(own) };
        self.raise(key, now, used);
        Some(own.with_used(used))
    }

    pub(super) fn shared_counter(
        &self,
        shared: NamedWindows<'_>,
        key: &K,
        now: Time,
    ) -> SharedCounter {
        let left = (self.window_end(now) - now).to_std().unwrap_or_default();
        SharedCounter {
            id: shared.id(self.length, self.window(now), key.to_bytes().as_ref()),
            limit: self.limit,
            expires_in: left + GRACE,
        }
    }
}

impl Window {
    /// Returns the state of the window after all nodes together have counted `used` requests.
    pub(super) fn with_used(self, used: u32) -> Self {
        let remaining = self.remaining.min(self.limit.saturating_sub(used));
        Self { remaining, admitted: used <= self.limit, ..self }
    }
}

impl SharedKey for Ipv4Addr {
    type Bytes = [u8; 4];

    fn to_bytes(&self) -> [u8; 4] {
        self.octets()
    }
}

impl SharedKey for u64 {
    type Bytes = [u8; 8];

    fn to_bytes(&self) -> [u8; 8] {
        self.to_be_bytes()
    }
}

impl SharedKey for [u8; 16] {
    type Bytes = Self;

    fn to_bytes(&self) -> Self {
        *self
    }
}

impl SharedKey for UserId {
    type Bytes = [u8; 16];

    fn to_bytes(&self) -> [u8; 16] {
        *self.uuid().as_bytes()
    }
}
