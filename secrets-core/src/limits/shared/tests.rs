//! Tests of counters that several nodes share.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use uuid::Uuid;

use super::*;
use crate::limits::AddressLimiter;
use crate::model::lock::lock;

/// Shared counters in memory for tests. They can be made unavailable.
#[derive(Default)]
struct MemoryCounters {
    counts: Mutex<HashMap<[u8; 16], u32>>,
    is_away: AtomicBool,
    accesses: AtomicU64,
    failures: AtomicU64,
}

#[async_trait]
impl SharedCounters for MemoryCounters {
    async fn add(&self, counters: &[SharedCounter]) -> Option<Vec<u32>> {
        self.accesses.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let mut counts = lock(&self.counts);
        let with_one = |counter: &SharedCounter| 1 + counts.get(&counter.id).unwrap_or(&0);
        let values: Vec<u32> = counters.iter().map(with_one).collect();
        if counters.iter().zip(&values).all(|(counter, value)| *value <= counter.limit) {
            counts.extend(counters.iter().map(|counter| counter.id).zip(values.clone()));
        }
        Some(values)
    }

    fn is_available(&self) -> bool {
        !self.is_away.load(Ordering::Relaxed)
    }

    fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

fn at(seconds: i64) -> Time {
    Time::from_timestamp(seconds, 0).unwrap()
}

/// Creates the counters of two nodes that share one set of shared counters.
async fn two_nodes() -> (Arc<MemoryCounters>, [SharedWindows; 2]) {
    let (counters, keyring) = (Arc::new(MemoryCounters::default()), Keyring::generate().await);
    let node = || SharedWindows::new(Some(counters.clone()), &keyring);
    let nodes = [node(), node()];
    (counters, nodes)
}

#[tokio::test]
async fn two_nodes_share_a_window() {
    let (_, [one, other]) = two_nodes().await;
    let (here, there) = (RateLimiter::<u64>::new(3), RateLimiter::<u64>::new(3));

    let mut windows = Vec::new();
    for _ in 0..2 {
        windows.push(here.count_shared(one.named("test"), 7, at(0)).await.unwrap());
        windows.push(there.count_shared(other.named("test"), 7, at(0)).await.unwrap());
    }

    let seen: Vec<_> = windows.iter().map(|w| (w.remaining, w.admitted)).collect();
    assert_eq!(seen, [(2, true), (1, true), (0, true), (0, false)]);
    assert!(there.count_shared(other.named("test"), 7, at(60)).await.unwrap().admitted);
}

#[tokio::test]
async fn a_request_over_the_limit_of_a_node_costs_no_access() {
    let (counters, [one, _]) = two_nodes().await;
    let limiter = RateLimiter::<u64>::new(1);

    for _ in 0..5 {
        limiter.count_shared(one.named("test"), 7, at(0)).await;
    }

    assert_eq!(counters.accesses.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_node_that_has_seen_a_full_window_refuses_by_itself() {
    let (counters, [one, other]) = two_nodes().await;
    let (here, there) = (RateLimiter::<u64>::new(1), RateLimiter::<u64>::new(1));
    here.count_shared(one.named("test"), 7, at(0)).await;
    there.count_shared(other.named("test"), 7, at(0)).await;
    assert_eq!(other.state(), SharedState::Available);

    counters.is_away.store(true, Ordering::Relaxed);

    assert!(!there.peek(7, at(0)).unwrap().admitted);
    assert_eq!(other.state(), SharedState::Unavailable);
}

#[tokio::test]
async fn a_late_request_does_not_use_up_the_next_window() {
    let (_, [one, other]) = two_nodes().await;
    let (here, there) = (RateLimiter::<u64>::new(5), RateLimiter::<u64>::new(5));
    for _ in 0..4 {
        here.count_shared(one.named("test"), 7, at(59)).await;
    }
    there.count_shared(other.named("test"), 7, at(60)).await;

    let late = there.count_shared(other.named("test"), 7, at(59)).await.unwrap();

    assert_eq!(late.remaining, 0);
    // The node counts the late request once, in its current window.
    assert_eq!(there.peek(7, at(60)).unwrap().remaining, 3);
}

#[tokio::test]
async fn without_the_shared_counters_a_node_counts_by_itself() {
    let (counters, [one, other]) = two_nodes().await;
    let (here, there) = (RateLimiter::<u64>::new(1), RateLimiter::<u64>::new(1));
    counters.is_away.store(true, Ordering::Relaxed);

    let first = here.count_shared(one.named("test"), 7, at(0)).await.unwrap();
    let second = there.count_shared(other.named("test"), 7, at(0)).await.unwrap();

    assert!(first.admitted && second.admitted);
    assert_eq!(one.failures(), 2);
    assert!(!here.count_shared(one.named("test"), 7, at(0)).await.unwrap().admitted);
}

#[tokio::test]
async fn purposes_keys_and_instances_have_counters_of_their_own() {
    let (_, [one, _]) = two_nodes().await;
    let elsewhere = SharedWindows::new(None, &Keyring::generate().await);
    let limiter = RateLimiter::<u64>::new(1);
    let id = |windows: &SharedWindows, purpose, key| {
        limiter.shared_counter(windows.named(purpose), &key, at(0)).id
    };

    let own = id(&one, "test", 7);

    assert_eq!(own, id(&one, "test", 7));
    for other in [id(&one, "other", 7), id(&one, "test", 8), id(&elsewhere, "test", 7)] {
        assert_ne!(own, other);
    }
    let part = limiter.shared_counter(one.named("test").table("part"), &7, at(0));
    assert_ne!(own, part.id);
    let later = limiter.shared_counter(one.named("test"), &7, at(60));
    assert_ne!(own, later.id);
    assert_eq!(later.expires_in, Duration::from_mins(2));
}

/// Returns the IDs of the shared counters of two keys.
fn ids<K: Eq + Hash + Copy + SharedKey>(windows: &SharedWindows, keys: [K; 2]) -> [[u8; 16]; 2] {
    let limiter = RateLimiter::new(1);
    keys.map(|key| limiter.shared_counter(windows.named("test"), &key, at(0)).id)
}

#[tokio::test]
async fn different_keys_of_a_type_have_different_counters() {
    let (_, [windows, _]) = two_nodes().await;

    for [one, other] in [
        ids(&windows, [[192, 0, 2, 1], [192, 0, 2, 2]].map(Ipv4Addr::from)),
        ids(&windows, [1_u64, 2]),
        ids(&windows, [[1_u8; 16], [2; 16]]),
        ids(&windows, [1, 2].map(Uuid::from_u128).map(UserId::from)),
    ] {
        assert_ne!(one, other);
    }
}

#[tokio::test]
async fn nodes_share_the_windows_of_addresses_and_of_their_sites() {
    let (_, [one, other]) = two_nodes().await;
    let (here, there) = (AddressLimiter::new(1), AddressLimiter::new(1));
    let ip = |number: u8| format!("2001:db8:1:{number:x}::1").parse::<IpAddr>().unwrap();
    let count = async |number, now| {
        let (limiter, windows) = if number % 2 == 0 { (&here, &one) } else { (&there, &other) };
        limiter.count_shared(windows.named("test"), ip(number), now).await.unwrap().admitted
    };

    assert!(count(0, at(0)).await);
    let again = there.count_shared(other.named("test"), ip(0), at(0)).await.unwrap();
    assert!(!again.admitted, "the other node has counted the address");
    let mut admitted = 0;
    for number in 0..40 {
        admitted += u32::from(count(number, at(60)).await);
    }
    assert_eq!(admitted, 16, "a site has 16 times the limit");
    let v4: IpAddr = "192.0.2.1".parse().unwrap();
    assert!(here.count_shared(one.named("test"), v4, at(0)).await.unwrap().admitted);
    assert!(!there.count_shared(other.named("test"), v4, at(0)).await.unwrap().admitted);
}
