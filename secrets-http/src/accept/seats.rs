//! How many connections an address has.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::client_address::rate_key;

/// Who has how many connections, and how many one may have.
pub(super) struct Seats {
    most: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection's place, free again when it is dropped.
pub(super) struct Seat(Option<(Arc<Seats>, IpAddr)>);

impl Seats {
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Mutex::default() }
    }

    /// A place for a connection from this address, if it may have another.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr, counted: bool) -> Option<Seat> {
        if !counted {
            return Some(Seat(None));
        }
        let key = rate_key(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(key).or_default();
        if *count >= self.most {
            tracing::debug!(%address, "has too many connections");
            return None;
        }
        *count += 1;
        Some(Seat(Some((Arc::clone(self), key))))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some((seats, key)) = self.0.take() else { return };
        let mut taken = seats.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&key) {
            *count -= 1;
            // Or every address that ever called would be remembered.
            if *count == 0 {
                taken.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_and_then_no_more_until_one_is_free() {
        let seats = Arc::new(Seats::new(2));
        let take = |address: &str| seats.take(address.parse().unwrap(), true);

        let first = take("2001:db8::1").unwrap();
        let _second = take("2001:db8::2").unwrap();

        assert!(take("2001:db8::3").is_none());
        assert!(take("2001:db8:0:1::1").is_some());
        assert!(take("192.0.2.1").is_some());
        assert!(seats.take("2001:db8::3".parse().unwrap(), false).is_some());
        drop(first);
        assert!(take("2001:db8::3").is_some());
    }

    #[test]
    fn an_address_without_connections_is_forgotten() {
        let seats = Arc::new(Seats::new(1));

        drop(seats.take("192.0.2.1".parse().unwrap(), true));

        assert!(seats.taken.lock().unwrap().is_empty());
    }
}
