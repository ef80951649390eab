//! Limits on the number of rotations that a node works on at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of scheduled rotations at once. Manual rotations are counted separately.
const MAX_SCHEDULED: usize = 4;

/// Maximum number of manual rotations at once.
const MAX_AWAITED: usize = 8;

/// Origin of a request for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The schedule.
    Schedule,
    /// A user who waits for the result.
    Person,
}

/// Rotations that this node is working on. Never two at the same host.
#[derive(Debug, Default)]
pub(crate) struct Seats(Mutex<InUse>);

#[derive(Debug, Default)]
struct InUse {
    hosts: BTreeSet<String>,
    scheduled: usize,
    awaited: usize,
}

/// Permit to work on a rotation at a host. Released when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    host: String,
    asker: Asker,
}

impl Seats {
    /// True if another scheduled rotation may start.
    pub(super) fn has_room(&self) -> bool {
        self.taken(|taken| taken.scheduled < MAX_SCHEDULED)
    }

    /// Acquires a permit, if the host is free and the limit is not reached.
    pub(super) fn take(self: &Arc<Self>, host: &str, asker: Asker) -> Option<Seat> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_taken = self.taken(|taken| {
            let (count, limit) = match asker {
                Asker::Schedule => (&mut taken.scheduled, MAX_SCHEDULED),
                Asker::Person => (&mut taken.awaited, MAX_AWAITED),
            };
            if *count >= limit || !taken.hosts.insert(host.clone()) {
                return false;
            }
            *count += 1;
            true
        });
        is_taken.then(|| Seat { seats: Arc::clone(self), host, asker })
    }

    fn taken<T>(&self, look: impl FnOnce(&mut InUse) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken(|taken| {
            taken.hosts.remove(&self.host);
            match self.asker {
                Asker::Schedule => taken.scheduled -= 1,
                Asker::Person => taken.awaited -= 1,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_works_on_four_at_once_and_never_on_two_at_one_host() {
        let seats = Arc::new(Seats::default());
        let first = seats.take("db.example.com", Asker::Schedule);
        assert!(first.is_some());
        assert!(seats.take("DB.example.com.", Asker::Person).is_none());

        let more: Vec<_> =
            ["b", "c", "d", "e"].map(|host| seats.take(host, Asker::Schedule)).into();
        assert_eq!(more.iter().flatten().count(), 3);
        assert!(!seats.has_room());
        assert!(seats.take("f", Asker::Person).is_some());

        drop(first);
        assert!(seats.has_room());
        assert!(seats.take("db.example.com", Asker::Person).is_some());
    }
}
