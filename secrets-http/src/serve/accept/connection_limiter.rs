//! Limit on the number of connections per IP address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use secrets_core::limits::network_of;
use secrets_core::model::lock::lock;

/// Counts the open connections of each IP address, and limits their number.
pub(super) struct ConnectionLimiter {
    max: usize,
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// Permit of one connection. Dropping it releases the permit.
pub(super) struct ConnectionPermit(Option<(Arc<ConnectionLimiter>, IpAddr)>);

impl ConnectionLimiter {
    pub(super) fn new(max: usize) -> Self {
        Self { max, counts: Mutex::default() }
    }

    /// Acquires a permit for a connection from this address, or returns `None` if the address
    /// already has the maximum number of connections.
    ///
    /// If `counted` is false, the connection is not counted and always gets a permit.
    pub(super) fn take(
        self: &Arc<Self>,
        address: IpAddr,
        counted: bool,
    ) -> Option<ConnectionPermit> {
        if !counted {
            return Some(ConnectionPermit(None));
        }
        let key = network_of(address);
        let mut counts = lock(&self.counts);
        let count = counts.entry(key).or_default();
        if *count >= self.max {
            tracing::debug!(%address, "refused a connection: too many from this address");
            return None;
        }
        *count += 1;
        Some(ConnectionPermit(Some((Arc::clone(self), key))))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some((limiter, key)) = self.0.take() else { return };
        let mut counts = lock(&limiter.counts);
        if let Some(count) = counts.get_mut(&key) {
            *count -= 1;
            // Remove the entry, so that the map does not grow with every address ever seen.
            if *count == 0 {
                counts.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_limited_number_of_connections() {
        let limiter = Arc::new(ConnectionLimiter::new(2));
        let take = |address: &str| limiter.take(address.parse().unwrap(), true);

        let first = take("2001:db8::1").unwrap();
        let _second = take("2001:db8::2").unwrap();

        assert!(take("2001:db8::3").is_none());
        assert!(take("2001:db8:0:1::1").is_some());
        assert!(take("192.0.2.1").is_some());
        assert!(limiter.take("2001:db8::3".parse().unwrap(), false).is_some());
        drop(first);
        assert!(take("2001:db8::3").is_some());
    }

    #[test]
    fn an_address_without_connections_is_forgotten() {
        let limiter = Arc::new(ConnectionLimiter::new(1));

        drop(limiter.take("192.0.2.1".parse().unwrap(), true));

        assert!(limiter.counts.lock().unwrap().is_empty());
    }
}
