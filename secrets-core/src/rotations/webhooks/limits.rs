//! Limits on concurrent deliveries per webhook host and per team.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::model::lock::lock;
use crate::model::{DeliveryId, TeamId};

/// Maximum number of concurrent deliveries to a webhook host, which may be a small server.
const MAX_PER_HOST: usize = 4;

/// Maximum number of concurrent deliveries of a team, so that the team's slow receivers do not
/// delay other teams.
const MAX_PER_TEAM: usize = 16;

/// Maximum number of deliveries remembered as waiting.
const MAX_WAITING: usize = 4_096;

/// Concurrent deliveries, counted per webhook host and per team.
#[derive(Default, Clone)]
pub(crate) struct DeliveryLimits(Arc<Mutex<InUse>>);

#[derive(Default)]
struct InUse {
    counts: BTreeMap<Place, usize>,
    /// Deliveries that were refused because of their places.
    waiting: BTreeMap<DeliveryId, Places>,
}

/// Places of a delivery: its host and its team.
type Places = [Place; 2];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Host(String),
    Team(TeamId),
}

/// Permit for one delivery. Released when dropped.
pub(super) struct Permit {
    receivers: DeliveryLimits,
    places: Places,
}

impl DeliveryLimits {
    /// True if a delivery was refused because of its places, and would be refused again. So its webhook
    /// need not be read and decrypted again and again.
    pub(super) fn must_wait(&self, delivery: DeliveryId) -> bool {
        let mut taken = lock(&self.0);
        let must_wait = taken.waiting.get(&delivery).is_some_and(|places| !taken.are_free(places));
        if !must_wait {
            taken.waiting.remove(&delivery);
        }
        must_wait
    }

    /// Forgets the waiting deliveries that are not among these candidates.
    pub(super) fn forget_others(&self, candidates: &BTreeSet<DeliveryId>) {
        lock(&self.0).waiting.retain(|delivery, _| candidates.contains(delivery));
    }

    /// Acquires a permit, if the limits of the webhook host and of the team allow it.
    pub(super) fn acquire(&self, delivery: DeliveryId, host: &str, team: TeamId) -> Option<Permit> {
        let places = [Place::Host(host.to_owned()), Place::Team(team)];
        let mut taken = lock(&self.0);
        if !taken.are_free(&places) {
            if taken.waiting.len() < MAX_WAITING {
                taken.waiting.insert(delivery, places);
            }
            return None;
        }
        for place in &places {
            *taken.counts.entry(place.clone()).or_default() += 1;
        }
        Some(Permit { receivers: self.clone(), places })
    }
}

impl InUse {
    fn are_free(&self, places: &Places) -> bool {
        let is_free =
            |place: &Place| self.counts.get(place).is_none_or(|count| *count < place.limit());
        places.iter().all(is_free)
    }
}

impl Place {
    fn limit(&self) -> usize {
        match self {
            Self::Host(_) => MAX_PER_HOST,
            Self::Team(_) => MAX_PER_TEAM,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = lock(&self.receivers.0);
        for place in &self.places {
            if let Some(count) = taken.counts.get_mut(place) {
                *count -= 1;
                if *count == 0 {
                    taken.counts.remove(place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn team(number: u128) -> TeamId {
        Uuid::from_u128(number).into()
    }

    fn delivery(number: u128) -> DeliveryId {
        Uuid::from_u128(number).into()
    }

    #[test]
    fn a_host_is_sent_four_at_once() {
        let receivers = DeliveryLimits::default();
        let acquire = |host, number| receivers.acquire(delivery(1), host, team(number));
        let mut taken: Vec<_> =
            (0..4).map(|number| acquire("a.example", number).unwrap()).collect();

        assert!(acquire("a.example", 9).is_none());
        assert!(acquire("b.example", 9).is_some());
        taken.pop();
        assert!(acquire("a.example", 9).is_some());
    }

    #[test]
    fn a_team_has_sixteen_under_way_at_once() {
        let receivers = DeliveryLimits::default();
        let acquire = |host: &str, number| receivers.acquire(delivery(1), host, team(number));
        let taken: Vec<_> =
            (0..16).map(|host| acquire(&format!("{host}.example"), 1).unwrap()).collect();

        assert!(acquire("new.example", 1).is_none());
        assert!(acquire("new.example", 2).is_some());
        drop(taken);
        assert!(lock(&receivers.0).counts.is_empty());
    }

    #[test]
    fn a_delivery_that_was_refused_waits_until_its_places_are_free() {
        let receivers = DeliveryLimits::default();
        let taken: Vec<_> = (0..4)
            .map(|number| receivers.acquire(delivery(number), "a.example", team(1)))
            .collect();
        assert!(receivers.acquire(delivery(4), "a.example", team(2)).is_none());

        assert!(receivers.must_wait(delivery(4)));
        assert!(!receivers.must_wait(delivery(5)));
        drop(taken);
        assert!(!receivers.must_wait(delivery(4)));
        assert!(lock(&receivers.0).waiting.is_empty());
    }
}
