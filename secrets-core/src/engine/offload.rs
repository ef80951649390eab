//! Offloading of CPU-bound work, with a limit on concurrency, shared fairly between teams.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures_channel::oneshot;
use uuid::Uuid;

use super::{Caller, Engine};
use crate::model::lock::lock;
use crate::model::{Error, Result, TeamId};

/// Maximum number of concurrent works, because deriving an encryption key takes 64 MiB of memory.
const MAX_CONCURRENT: usize = 2;

/// Maximum number of callers that wait for a permit, each with its input in memory.
const MAX_WAITING: usize = 64;

/// Number of turns for which a team counts as recently served.
const REMEMBERED_TURNS: u64 = 256;

/// Owner of a work: a team, or the caller alone, and the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    team: Uuid,
    principal: Uuid,
}

/// Permits for CPU-bound work, at most one per principal. The next permit goes to the team that uses
/// the fewest, and among these to the team that was served longest ago.
#[derive(Default)]
pub(super) struct Permits(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    running: Vec<Share>,
    waiting: VecDeque<(Share, oneshot::Sender<Permit>)>,
    /// Turn in which a team was last served, if recently.
    served: HashMap<Uuid, u64>,
    turn: u64,
}

/// Permit to run one work. Dropping it admits the next.
struct Permit {
    queue: Arc<Mutex<Queue>>,
    share: Share,
}

impl Permits {
    /// Waits for a permit. Fails if too many callers wait already.
    async fn acquire(&self, share: Share) -> Result<Permit> {
        let (granted, permit) = oneshot::channel();
        {
            let mut queue = lock(&self.0);
            queue.waiting.retain(|(_, caller)| !caller.is_canceled());
            if queue.waiting.len() >= MAX_WAITING && !queue.make_room(share.team) {
                return Err(too_much_work());
            }
            queue.waiting.push_back((share, granted));
        }
        admit(&self.0);
        permit.await.map_err(|_| too_much_work())
    }
}

fn too_much_work() -> Error {
    Error::Unavailable("too much CPU-bound work is waiting".into())
}

/// Grants the free permits.
fn admit(queue: &Arc<Mutex<Queue>>) {
    loop {
        let Some((share, caller)) = lock(queue).next() else { return };
        // If the caller no longer waits, the returned permit is dropped, which admits the next.
        let unused = caller.send(Permit { queue: Arc::clone(queue), share });
        drop(unused);
    }
}

impl Queue {
    /// Removes the last waiting caller of the team with the most, for a caller of another team that
    /// has fewer. Returns false if there is no such team.
    fn make_room(&mut self, team: Uuid) -> bool {
        let mut counts = HashMap::<Uuid, usize>::new();
        for (share, _) in &self.waiting {
            *counts.entry(share.team).or_default() += 1;
        }
        let own = counts.get(&team).copied().unwrap_or_default();
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((largest, _)) = most.filter(|(_, count)| *count > own + 1) else { return false };
        let last = self.waiting.iter().rposition(|(share, _)| share.team == largest);
        last.is_some_and(|last| self.waiting.remove(last).is_some())
    }

    /// Removes the next caller from the queue and counts its work as running; `None` if there is no
    /// free permit, or no caller for it.
    fn next(&mut self) -> Option<(Share, oneshot::Sender<Permit>)> {
        if self.running.len() >= MAX_CONCURRENT {
            return None;
        }
        let is_free =
            |share: &Share| self.running.iter().all(|one| one.principal != share.principal);
        let of_team = |team| self.running.iter().filter(|one| one.team == team).count();
        let last = |team| self.served.get(team).copied().unwrap_or_default();
        let waiting = self.waiting.iter().enumerate().filter(|(_, (share, _))| is_free(share));
        let (place, _) =
            waiting.min_by_key(|(_, (share, _))| (of_team(share.team), last(&share.team)))?;
        let (share, caller) = self.waiting.remove(place)?;
        self.turn += 1;
        self.served.insert(share.team, self.turn);
        let oldest = self.turn.saturating_sub(REMEMBERED_TURNS);
        self.served.retain(|_, turn| *turn > oldest);
        self.running.push(share);
        Some((share, caller))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        {
            let mut queue = lock(&self.queue);
            if let Some(place) = queue.running.iter().position(|share| *share == self.share) {
                queue.running.swap_remove(place);
            }
        }
        admit(&self.queue);
    }
}

impl Engine {
    /// Runs CPU-bound work through the [`Offload`](crate::ports::offload::Offload) port, once a
    /// permit is free. The permit is held until the work ends, even if the returned future is
    /// dropped before. Fails with [`Error::Unavailable`] if too many callers wait; then the team with
    /// the most gives way.
    pub(crate) async fn offload<T: Send + 'static>(
        &self,
        caller: &Caller,
        team: Option<TeamId>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let principal = caller.actor().unwrap_or_default();
        let team = team.map_or(principal, TeamId::uuid);
        let permit = self.permits.acquire(Share { team, principal }).await?;
        let (done, result) = oneshot::channel();
        let work = move || {
            // Fails only if the receiving future was dropped.
            drop(done.send(work()));
            drop(permit);
        };
        self.ports.offload.run(Box::new(work)).await;
        result.await.map_err(|_| Error::internal("offloaded work panicked"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;

    use super::*;

    /// Starts to wait for a permit, as a principal of a team.
    fn wait(permits: &Permits, team: u128, principal: u128) -> BoxFuture<'_, Result<Permit>> {
        let share = Share { team: Uuid::from_u128(team), principal: Uuid::from_u128(principal) };
        permits.acquire(share).boxed()
    }

    /// Returns the permit, if it was granted.
    fn granted(waiting: &mut BoxFuture<'_, Result<Permit>>) -> Option<Permit> {
        waiting.now_or_never().map(|permit| permit.ok().unwrap())
    }

    #[test]
    fn a_principal_has_one_permit_and_the_process_two() {
        let permits = Permits::default();

        let first = granted(&mut wait(&permits, 1, 1)).unwrap();
        let mut second = wait(&permits, 1, 1);
        assert!(granted(&mut second).is_none());
        let other = granted(&mut wait(&permits, 1, 2)).unwrap();
        let mut third = wait(&permits, 2, 3);
        assert!(granted(&mut third).is_none());

        drop(first);
        assert!(granted(&mut second).is_none(), "another team has the next turn");
        let third = granted(&mut third).unwrap();
        drop((other, third));
        assert!(granted(&mut second).is_some());
    }

    #[test]
    fn teams_take_turns() {
        let permits = Permits::default();
        let running = [granted(&mut wait(&permits, 1, 1)), granted(&mut wait(&permits, 2, 2))];
        let mut many: Vec<_> = (10..26).map(|principal| wait(&permits, 1, principal)).collect();
        assert!(many.iter_mut().all(|one| granted(one).is_none()));
        let mut one = wait(&permits, 3, 3);
        assert!(granted(&mut one).is_none());

        let [first, _second] = running;
        drop(first);

        assert!(granted(&mut one).is_some());
    }

    #[test]
    fn a_team_cannot_fill_the_queue() {
        let permits = Permits::default();
        let _running = [granted(&mut wait(&permits, 1, 1)), granted(&mut wait(&permits, 1, 2))];
        let mut many: Vec<_> = (0..MAX_WAITING).map(|_| wait(&permits, 1, 1)).collect();
        assert!(many.iter_mut().all(|one| granted(one).is_none()));

        let refused = wait(&permits, 1, 1).now_or_never().unwrap();
        let mut other = wait(&permits, 2, 3);
        assert!(granted(&mut other).is_none());

        assert!(matches!(refused, Err(Error::Unavailable(_))));
        let displaced = many.pop().unwrap().now_or_never().unwrap();
        assert!(matches!(displaced, Err(Error::Unavailable(_))));
    }

    #[test]
    fn a_caller_that_no_longer_waits_is_skipped() {
        let permits = Permits::default();
        let running = [granted(&mut wait(&permits, 1, 1)), granted(&mut wait(&permits, 1, 2))];
        let mut gone = wait(&permits, 2, 3);
        assert!(granted(&mut gone).is_none());
        let mut next = wait(&permits, 2, 4);
        assert!(granted(&mut next).is_none());

        drop(gone);
        drop(running);

        assert!(granted(&mut next).is_some());
        assert!(lock(&permits.0).running.is_empty());
    }
}
