//! How many rotations a node works on at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The most scheduled rotations at once; those that people wait for come beside them.
const SCHEDULED: usize = 4;

/// The most rotations at once that people wait for.
const AWAITED: usize = 8;

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The schedule.
    Schedule,
    /// Somebody who waits.
    Person,
}

/// The rotations that this node works on: never two at one host.
#[derive(Debug, Default)]
pub(crate) struct Seats(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    hosts: BTreeSet<String>,
    scheduled: usize,
    awaited: usize,
}

/// The right to work on a rotation at a host; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    host: String,
    asker: Asker,
}

impl Seats {
    /// Whether another scheduled rotation may begin.
    pub(super) fn has_room(&self) -> bool {
        self.taken(|taken| taken.scheduled < SCHEDULED)
    }

    /// A seat at a host, if nobody has it and there is room.
    pub(super) fn take(self: &Arc<Self>, host: &str, asker: Asker) -> Option<Seat> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_taken = self.taken(|taken| {
            let (count, most) = match asker {
                Asker::Schedule => (&mut taken.scheduled, SCHEDULED),
                Asker::Person => (&mut taken.awaited, AWAITED),
            };
            if *count >= most || !taken.hosts.insert(host.clone()) {
                return false;
            }
            *count += 1;
            true
        });
        is_taken.then(|| Seat { seats: Arc::clone(self), host, asker })
    }

    fn taken<T>(&self, look: impl FnOnce(&mut Taken) -> T) -> T {
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
