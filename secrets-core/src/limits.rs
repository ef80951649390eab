//! Rate limits: requests per minute or hour, in fixed windows aligned to the minute or hour.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::Time;
use crate::model::lock::lock;

const SHARDS: usize = 16;

/// Maximum number of counters per shard in one window. Further callers share one counter, so that a
/// flood of addresses uses bounded memory and is limited as a whole.
const KEYS_PER_SHARD: usize = 8_192;

/// Fixed-window request counters: one for each `K`, such as an IP address or user ID. All counters
/// share the same windows, so all are dropped when a window ends.
pub struct RateLimiter<K> {
    limit: u32,
    /// Window length in seconds.
    length: i64,
    hasher: RandomState,
    shards: [Mutex<Shard<K>>; SHARDS],
}

struct Shard<K> {
    window: i64,
    counts: HashMap<K, u32>,
    overflow: u32,
}

/// State of one counter in the current window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Requests allowed per window.
    pub limit: u32,
    /// Requests left in this window.
    pub remaining: u32,
    /// Start of the next window, in which the count starts again.
    pub resets_at: Time,
    /// True if this request was within the limit.
    pub admitted: bool,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// Creates a limiter that allows `limit` requests per minute for each `K`. 0 means unlimited.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self::within(60, limit)
    }

    /// Creates a limiter that allows `limit` requests per hour for each `K`. 0 means unlimited.
    #[must_use]
    pub fn hourly(limit: u32) -> Self {
        Self::within(3_600, limit)
    }

    fn within(length: i64, limit: u32) -> Self {
        let shards = std::array::from_fn(|_| {
            Mutex::new(Shard { window: i64::MIN, counts: HashMap::new(), overflow: 0 })
        });
        Self { limit, length, hasher: RandomState::new(), shards }
    }

    /// Counts a request of `key` and returns the state of its counter; `None` if unlimited.
    pub fn count(&self, key: K, now: Time) -> Option<Window> {
        self.at(key, now, 1)
    }

    /// Returns the state of the counter of `key` without counting a request; `admitted` is true if
    /// one more request would be allowed.
    pub fn look(&self, key: K, now: Time) -> Option<Window> {
        self.at(key, now, 0)
    }

    fn at(&self, key: K, now: Time, more: u32) -> Option<Window> {
        if self.limit == 0 {
            return None;
        }
        let window = now.timestamp().div_euclid(self.length);
        let index = usize::try_from(self.hasher.hash_one(&key) % SHARDS as u64).unwrap_or_default();
        let mut shard = lock(&self.shards[index]);
        if shard.window != window {
            *shard = Shard { window, counts: HashMap::new(), overflow: 0 };
        }
        let used = shard.add(key, more);
        Some(Window {
            limit: self.limit,
            remaining: self.limit.saturating_sub(used),
            resets_at: DateTime::<Utc>::from_timestamp(window * self.length, 0).unwrap_or(now)
                + TimeDelta::seconds(self.length),
            admitted: used <= self.limit - u32::from(more == 0),
        })
    }
}

impl<K: Eq + Hash> Shard<K> {
    fn add(&mut self, key: K, more: u32) -> u32 {
        let full = self.counts.len() >= KEYS_PER_SHARD;
        let count = match self.counts.get_mut(&key) {
            Some(count) => count,
            None if full => &mut self.overflow,
            None => self.counts.entry(key).or_default(),
        };
        *count = count.saturating_add(more);
        *count
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
    fn looking_does_not_count_and_tells_whether_one_more_would_pass() {
        let limiter = RateLimiter::new(1);

        assert!(limiter.look("a", at(0)).unwrap().admitted);
        limiter.count("a", at(0));
        assert!(!limiter.look("a", at(0)).unwrap().admitted);
    }

    #[test]
    fn a_flood_of_keys_is_limited_as_one() {
        let limiter = RateLimiter::new(1);

        let refused = (0..SHARDS * KEYS_PER_SHARD * 2)
            .filter(|key| !limiter.count(*key, at(0)).unwrap().admitted);

        assert!(refused.count() > SHARDS * KEYS_PER_SHARD / 2);
    }

    #[test]
    fn zero_counts_nothing() {
        assert_eq!(RateLimiter::new(0).count("a", at(0)), None);
    }
}
