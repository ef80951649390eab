//! Limits on concurrent deliveries per webhook host and per team.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::model::TeamId;
use crate::model::lock::lock;

/// Maximum number of concurrent deliveries to a webhook host, which may be a small server.
const MAX_PER_HOST: usize = 4;

/// Maximum number of concurrent deliveries of a team, so that the team's slow receivers do not
/// delay other teams.
const MAX_PER_TEAM: usize = 16;

/// Concurrent deliveries, counted per webhook host and per team.
#[derive(Default, Clone)]
pub(crate) struct DeliveryLimits(Arc<Mutex<BTreeMap<Place, usize>>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Host(String),
    Team(TeamId),
}

/// Permit for one delivery. Released when dropped.
pub(super) struct Permit {
    receivers: DeliveryLimits,
    places: [Place; 2],
}

impl DeliveryLimits {
    /// Acquires a permit, if the limits of the webhook host and of the team allow it.
    pub(super) fn acquire(&self, host: &str, team: TeamId) -> Option<Permit> {
        let places = [Place::Host(host.to_owned()), Place::Team(team)];
        let mut taken = lock(&self.0);
        let is_free = |place: &Place| taken.get(place).is_none_or(|count| *count < place.limit());
        if !places.iter().all(is_free) {
            return None;
        }
        for place in &places {
            *taken.entry(place.clone()).or_default() += 1;
        }
        Some(Permit { receivers: self.clone(), places })
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
            if let Some(count) = taken.get_mut(place) {
                *count -= 1;
                if *count == 0 {
                    taken.remove(place);
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

    #[test]
    fn a_host_is_sent_four_at_once() {
        let receivers = DeliveryLimits::default();
        let mut taken: Vec<_> =
            (0..4).map(|n| receivers.acquire("a.example", team(n)).unwrap()).collect();

        assert!(receivers.acquire("a.example", team(9)).is_none());
        assert!(receivers.acquire("b.example", team(9)).is_some());
        taken.pop();
        assert!(receivers.acquire("a.example", team(9)).is_some());
    }

    #[test]
    fn a_team_has_sixteen_under_way_at_once() {
        let receivers = DeliveryLimits::default();
        let host = |number: usize| format!("{number}.example");
        let taken: Vec<_> =
            (0..16).map(|n| receivers.acquire(&host(n), team(1)).unwrap()).collect();

        assert!(receivers.acquire("new.example", team(1)).is_none());
        assert!(receivers.acquire("new.example", team(2)).is_some());
        drop(taken);
        assert!(receivers.0.lock().unwrap().is_empty());
    }
}
