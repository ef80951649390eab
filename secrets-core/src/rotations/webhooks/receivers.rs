//! How many deliveries are under way at once to one host, and for one team.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::TeamId;

/// At once to one host: it may be small.
const PER_HOST: usize = 4;

/// At once for one team: others' deliveries do not wait for its slow receivers.
const PER_TEAM: usize = 16;

/// Who is under way.
#[derive(Default, Clone)]
pub(crate) struct Receivers(Arc<Mutex<BTreeMap<Place, usize>>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Host(String),
    Team(TeamId),
}

/// The right to be under way, until it is dropped.
pub(super) struct Seat {
    receivers: Receivers,
    places: [Place; 2],
}

impl Receivers {
    /// A seat, if there is one at the host and one for the team.
    pub(super) fn take(&self, host: &str, team: TeamId) -> Option<Seat> {
        let places = [Place::Host(host.to_owned()), Place::Team(team)];
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |place: &Place| taken.get(place).is_none_or(|count| *count < place.most());
        if !places.iter().all(is_free) {
            return None;
        }
        for place in &places {
            *taken.entry(place.clone()).or_default() += 1;
        }
        Some(Seat { receivers: self.clone(), places })
    }
}

impl Place {
    fn most(&self) -> usize {
        match self {
            Self::Host(_) => PER_HOST,
            Self::Team(_) => PER_TEAM,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.receivers.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let receivers = Receivers::default();
        let mut taken: Vec<_> =
            (0..4).map(|n| receivers.take("a.example", team(n)).unwrap()).collect();

        assert!(receivers.take("a.example", team(9)).is_none());
        assert!(receivers.take("b.example", team(9)).is_some());
        taken.pop();
        assert!(receivers.take("a.example", team(9)).is_some());
    }

    #[test]
    fn a_team_has_sixteen_under_way_at_once() {
        let receivers = Receivers::default();
        let host = |number: usize| format!("{number}.example");
        let taken: Vec<_> = (0..16).map(|n| receivers.take(&host(n), team(1)).unwrap()).collect();

        assert!(receivers.take("new.example", team(1)).is_none());
        assert!(receivers.take("new.example", team(2)).is_some());
        drop(taken);
        assert!(receivers.0.lock().unwrap().is_empty());
    }
}
