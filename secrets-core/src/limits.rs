//! Rate limits: maximum numbers of requests per minute or hour, counted in fixed time windows that
//! begin at each full minute or hour.

mod address;
mod permits;
mod shared;
mod turns;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard};

use chrono::{DateTime, TimeDelta, Utc};

pub use self::address::{AddressLimiter, network_of};
pub(crate) use self::permits::QueuePermits;
pub use self::permits::{Permit, Permits, Place};
pub use self::shared::{
    NamedWindows, SharedCounter, SharedCounters, SharedKey, SharedState, SharedWindows,
};
pub use self::turns::{Turn, Turns};
use crate::model::Time;
pub use crate::model::Window;
use crate::model::lock::lock;

const SHARDS: usize = 16;

/// Maximum number of counters in one shard (one of the 16 parts of the counter table) during one
/// window. Limits the memory that a flood of different keys uses.
const KEYS_PER_SHARD: usize = 8_192;

/// Request counters in fixed time windows: one counter for each key of type `K`, such as an IP
/// address or user ID. All counters have the same windows, so all are dropped when a window ends.
pub struct RateLimiter<K> {
    limit: u32,
    /// Length of a window in seconds.
    length: i64,
    overflow: Overflow,
    hasher: RandomState,
    shards: [Mutex<Shard<K>>; SHARDS],
}

/// Treatment of requests of new keys (keys without a counter) while the table of counters is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    /// Requests of new keys are counted together, with one counter per shard of the table.
    Shared,
    /// Requests of new keys are allowed without being counted.
    Admitted,
}

struct Shard<K> {
    window: i64,
    counts: HashMap<K, u32>,
    overflow: u32,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// Creates a limiter that allows `limit` requests per minute for each key. 0 means unlimited.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self::within(60, limit)
    }

    /// Creates a limiter that allows `limit` requests per hour for each key. 0 means unlimited.
    #[must_use]
    pub fn hourly(limit: u32) -> Self {
        Self::within(3_600, limit)
    }

    fn within(length: i64, limit: u32) -> Self {
        let shards = std::array::from_fn(|_| {
            Mutex::new(Shard { window: i64::MIN, counts: HashMap::new(), overflow: 0 })
        });
        Self { limit, length, overflow: Overflow::Shared, hasher: RandomState::new(), shards }
    }

    /// Makes the limiter allow new keys without counting them when the table of counters is full.
    /// By default, such keys share one counter.
    fn admitting_overflow(self) -> Self {
        Self { overflow: Overflow::Admitted, ..self }
    }

    /// Counts a request of `key` and returns the state of the key's counter; `None` if the limiter
    /// allows unlimited requests.
    pub fn count(&self, key: K, now: Time) -> Option<Window> {
        self.at(key, now, 1)
    }

    /// Returns the state of the counter of `key` without counting a request. The field `admitted`
    /// of the result is true if one more request would be allowed.
    pub fn peek(&self, key: K, now: Time) -> Option<Window> {
        self.at(key, now, 0)
    }

    fn at(&self, key: K, now: Time, more: u32) -> Option<Window> {
        if self.limit == 0 {
            return None;
        }
        let used = self.shard(&key, now).add(key, more, self.overflow);
        Some(Window {
            limit: self.limit,
            remaining: self.limit.saturating_sub(used),
            resets_at: self.window_end(now),
            admitted: used <= self.limit - u32::from(more == 0),
        })
    }

    /// Sets the counter of `key` to at least `used`, the number of requests that all nodes of the
    /// service have counted together. This node can then refuse requests over the limit without
    /// another query of the counters that the nodes share.
    fn raise(&self, key: K, now: Time, used: u32) {
        let mut shard = self.shard(&key, now);
        // The count of a late request belongs to the previous window.
        if shard.window == self.window(now) {
            shard.raise(key, used);
        }
    }

    /// Locks and returns the shard of the counter table that contains a key. Empties the shard
    /// first if its counters belong to an older window.
    fn shard(&self, key: &K, now: Time) -> MutexGuard<'_, Shard<K>> {
        let window = self.window(now);
        let index = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or_default();
        let mut shard = lock(&self.shards[index]);
        // A request that began in the previous window may be counted late.
        if shard.window != window && shard.window != window + 1 {
            *shard = Shard { window, counts: HashMap::new(), overflow: 0 };
        }
        shard
    }

    /// Returns the number of the time window that contains `now`, counted since 1970.
    fn window(&self, now: Time) -> i64 {
        now.timestamp().div_euclid(self.length)
    }

    fn window_end(&self, now: Time) -> Time {
        let begin = DateTime::<Utc>::from_timestamp(self.window(now) * self.length, 0);
        begin.unwrap_or(now) + TimeDelta::seconds(self.length)
    }
}

impl<K: Eq + Hash> Shard<K> {
    /// Adds `more` requests to the counter of a key, and returns the new value.
    fn add(&mut self, key: K, more: u32, overflow: Overflow) -> u32 {
        let full = self.counts.len() >= KEYS_PER_SHARD;
        let count = match (self.counts.get_mut(&key), overflow) {
            (Some(count), _) => count,
            (None, Overflow::Shared) if full => &mut self.overflow,
            (None, Overflow::Admitted) if full => return more,
            (None, _) if more == 0 => return 0,
            (None, _) => self.counts.entry(key).or_default(),
        };
        *count = count.saturating_add(more);
        *count
    }

    /// Sets the counter of a key to at least `used`. Does nothing if the key is new and the table
    /// is full.
    fn raise(&mut self, key: K, used: u32) {
        if self.counts.len() < KEYS_PER_SHARD || self.counts.contains_key(&key) {
            let count = self.counts.entry(key).or_default();
            *count = used.max(*count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_window_takes_its_limit_and_no_more() {
        let limiter = RateLimiter::new(2);

        let admitted: Vec<_> =
            (0..3).map(|_| limiter.count("a", at(119)).unwrap().admitted).collect();

        assert_eq!(admitted, [true, true, false]);
        assert!(limiter.count("b", at(119)).unwrap().admitted);
    }

    #[test]
    fn each_key_has_a_counter_of_its_own() {
        let limiter = RateLimiter::new(1);
        // More keys than shards.
        let admitted = || (0..1_000).filter(|key| limiter.count(*key, at(0)).unwrap().admitted);

        assert_eq!(admitted().count(), 1_000);
        assert_eq!(admitted().count(), 0);
    }

    #[test]
    fn a_counter_can_be_raised_and_not_lowered() {
        let limiter = RateLimiter::new(5);
        let remaining = || limiter.peek("a", at(120)).unwrap().remaining;

        limiter.raise("a", at(120), 4);
        assert_eq!(remaining(), 1);
        limiter.raise("a", at(120), 2);
        assert_eq!(remaining(), 1);
        limiter.raise("a", at(119), 5);
        assert_eq!(remaining(), 1, "the number of the previous window");
        limiter.raise("a", at(120), 5);
        assert!(!limiter.count("a", at(120)).unwrap().admitted);
    }

    #[test]
    fn a_full_table_raises_counters_that_it_has() {
        let counts = (0..KEYS_PER_SHARD).map(|key| (key, 1)).collect();
        let mut shard = Shard { window: 0, counts, overflow: 0 };

        shard.raise(0, 7);
        shard.raise(KEYS_PER_SHARD, 7);

        assert_eq!((shard.counts[&0], shard.counts.len()), (7, KEYS_PER_SHARD));
        shard.counts.remove(&0);
        shard.raise(KEYS_PER_SHARD, 7);
        assert_eq!(shard.counts[&KEYS_PER_SHARD], 7);
    }

    #[test]
    fn a_window_begins_with_the_minute() {
        let limiter = RateLimiter::new(1);
        limiter.count("a", at(119));

        let window = limiter.count("a", at(120)).unwrap();

        assert!(window.admitted);
        assert_eq!((window.remaining, window.resets_at), (0, at(180)));
    }

    #[test]
    fn an_hourly_window_begins_with_the_hour() {
        let limiter = RateLimiter::hourly(1);
        limiter.count("a", at(3_600));

        let refused = limiter.count("a", at(7_199)).unwrap();

        assert_eq!((refused.admitted, refused.resets_at), (false, at(7_200)));
        assert!(limiter.count("a", at(7_200)).unwrap().admitted);
    }

    #[test]
    fn peek_returns_the_state_without_counting() {
        let limiter = RateLimiter::new(1);

        assert!(limiter.peek("a", at(0)).unwrap().admitted);
        limiter.count("a", at(0));
        assert!(!limiter.peek("a", at(0)).unwrap().admitted);
    }

    #[test]
    fn peek_takes_no_place_in_the_table() {
        let limiter = RateLimiter::new(1);

        limiter.peek("a", at(0));

        assert!(limiter.shards.iter().all(|shard| lock(shard).counts.is_empty()));
    }

    #[test]
    fn a_window_shows_the_requests_that_are_left() {
        let limiter = RateLimiter::new(3);

        let windows = (0..4).map(|_| limiter.count("a", at(59)).unwrap());
        let counted: Vec<_> = windows.map(|window| (window.limit, window.remaining)).collect();

        assert_eq!(counted, [(3, 2), (3, 1), (3, 0), (3, 0)]);
        assert_eq!(limiter.peek("a", at(59)).unwrap().remaining, 0);
        assert_eq!(limiter.peek("b", at(59)).unwrap().remaining, 3);
    }

    #[test]
    fn a_late_request_of_the_previous_window_counts_in_the_new_window() {
        let limiter = RateLimiter::new(2);
        limiter.count("a", at(120));

        let late = limiter.count("a", at(119)).unwrap();

        assert_eq!((late.remaining, late.resets_at), (0, at(120)));
        assert!(!limiter.count("a", at(120)).unwrap().admitted);
        assert!(limiter.count("a", at(240)).unwrap().admitted);
        assert!(limiter.count("a", at(60)).unwrap().admitted, "a clock that was set back");
    }

    #[test]
    fn a_flood_of_keys_is_limited_as_one() {
        let limiter = RateLimiter::new(1);

        let refused = (0..SHARDS * KEYS_PER_SHARD * 2)
            .filter(|key| !limiter.count(*key, at(0)).unwrap().admitted);

        assert!(refused.count() > SHARDS * KEYS_PER_SHARD / 2);
    }

    #[test]
    fn a_limiter_can_admit_new_keys_when_its_table_is_full() {
        let limiter = RateLimiter::new(1).admitting_overflow();
        let keys = 0..SHARDS * KEYS_PER_SHARD * 2;

        assert!(keys.clone().all(|key| limiter.count(key, at(0)).unwrap().admitted));

        let refused = keys.filter(|key| !limiter.count(*key, at(0)).unwrap().admitted).count();
        assert_eq!(refused, SHARDS * KEYS_PER_SHARD);
    }

    #[test]
    fn zero_counts_nothing() {
        assert_eq!(RateLimiter::new(0).count("a", at(0)), None);
    }
}
