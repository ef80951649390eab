//! Limits on the number of rotations that a node works on concurrently.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::model::lock::lock;

/// Maximum number of concurrent scheduled rotations. Manual rotations are counted separately.
pub(super) const MAX_SCHEDULED: usize = 4;

/// Maximum number of concurrent manual rotations.
const MAX_AWAITED: usize = 8;

/// Origin of a request for a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermitKind {
    /// The schedule.
    Schedule,
    /// A user who waits for the result.
    Person,
}

/// Rotations that this node is working on: at most one per database host.
#[derive(Debug, Default)]
pub(crate) struct RotationPermits(Mutex<InUse>);

#[derive(Debug, Default)]
struct InUse {
    hosts: BTreeSet<String>,
    scheduled: usize,
    awaited: usize,
}

/// Permit to work on one rotation. Reserves the database host for this node and counts towards the
/// limit of concurrent rotations. Released when dropped.
#[derive(Debug)]
pub(crate) struct RotationPermit {
    permits: Arc<RotationPermits>,
    host: String,
    kind: PermitKind,
}

impl RotationPermits {
    /// True if another scheduled rotation may start.
    pub(super) fn is_available(&self) -> bool {
        self.taken(|taken| taken.scheduled < MAX_SCHEDULED)
    }

    /// Acquires a permit, if the database host is free and the limit is not reached.
    pub(super) fn acquire(
        self: &Arc<Self>,
        host: &str,
        kind: PermitKind,
    ) -> Option<RotationPermit> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_taken = self.taken(|taken| {
            let (count, limit) = match kind {
                PermitKind::Schedule => (&mut taken.scheduled, MAX_SCHEDULED),
                PermitKind::Person => (&mut taken.awaited, MAX_AWAITED),
            };
            if *count >= limit || !taken.hosts.insert(host.clone()) {
                return false;
            }
            *count += 1;
            true
        });
        is_taken.then(|| RotationPermit { permits: Arc::clone(self), host, kind })
    }

    fn taken<T>(&self, look: impl FnOnce(&mut InUse) -> T) -> T {
        look(&mut lock(&self.0))
    }
}

impl Drop for RotationPermit {
    fn drop(&mut self) {
        self.permits.taken(|taken| {
            taken.hosts.remove(&self.host);
            match self.kind {
                PermitKind::Schedule => taken.scheduled -= 1,
                PermitKind::Person => taken.awaited -= 1,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_works_on_four_at_once_and_never_on_two_at_one_host() {
        let permits = Arc::new(RotationPermits::default());
        let first = permits.acquire("db.example.com", PermitKind::Schedule);
        assert!(first.is_some());
        assert!(permits.acquire("DB.example.com.", PermitKind::Person).is_none());

        let more: Vec<_> =
            ["b", "c", "d", "e"].map(|host| permits.acquire(host, PermitKind::Schedule)).into();
        assert_eq!(more.iter().flatten().count(), 3);
        assert!(!permits.is_available());
        assert!(permits.acquire("f", PermitKind::Person).is_some());

        drop(first);
        assert!(permits.is_available());
        assert!(permits.acquire("db.example.com", PermitKind::Person).is_some());
    }
}
