//! Offloading of CPU-bound work, with a limit on concurrency, shared fairly between accounts.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use futures_channel::oneshot;
use futures_util::FutureExt as _;
use uuid::Uuid;

use super::{Caller, Engine};
use crate::model::lock::lock;
use crate::model::{Bound, Error, Result, UserId};
use crate::ports::memory::ReservedMemory;

/// Maximum number of callers that wait for a permit. The input of each is kept in memory.
const MAX_WAITING: usize = 64;

/// Number of most recent permits whose accounts are remembered. An account without any of these
/// permits is treated as one that never had a permit.
const REMEMBERED_PERMITS: u64 = 256;

/// Permits for CPU-bound work, at most one per account. A free permit goes to the waiting account
/// that got its last permit longest ago.
pub(super) struct CpuPermits(Arc<Mutex<Queue>>);

struct Queue {
    /// Maximum number of CPU-bound jobs that run at the same time.
    limit: usize,
    running: Vec<Uuid>,
    waiting: VecDeque<(Uuid, oneshot::Sender<Permit>)>,
    /// Sequence number of the last permit of each account. Contains only accounts that got one of
    /// the last 256 permits.
    served: HashMap<Uuid, u64>,
    /// Number of permits granted so far.
    granted: u64,
}

/// Permit to run one CPU-bound job. Dropping the permit lets the next waiting caller run.
struct Permit {
    queue: Arc<Mutex<Queue>>,
    account: Uuid,
}

impl Default for CpuPermits {
    /// Creates permits for half as many concurrent jobs as there are processors, at least 2 and at
    /// most 8. There are not more, because deriving an encryption key takes 64 MiB of memory.
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self::new((processors / 2).clamp(2, 8))
    }
}

impl CpuPermits {
    fn new(limit: usize) -> Self {
        let (running, waiting, served) = Default::default();
        Self(Arc::new(Mutex::new(Queue { limit, running, waiting, served, granted: 0 })))
    }

    /// Waits for a permit for this account. Fails if too many callers are already waiting.
    async fn acquire(&self, account: Uuid) -> Result<Permit> {
        let (granted, permit) = oneshot::channel();
        {
            let mut queue = lock(&self.0);
            queue.waiting.retain(|(_, caller)| !caller.is_canceled());
            if queue.waiting.len() >= MAX_WAITING && !queue.make_room(account) {
                return Err(too_much_work());
            }
            queue.waiting.push_back((account, granted));
        }
        admit(&self.0);
        permit.await.map_err(|_| too_much_work())
    }
}

fn too_much_work() -> Error {
    Bound::CpuQueue.reached("too much CPU-bound work is waiting")
}

/// Grants the free permits to waiting callers.
fn admit(queue: &Arc<Mutex<Queue>>) {
    loop {
        let Some((account, caller)) = lock(queue).next() else { return };
        // If the caller no longer waits, the returned permit is dropped, which admits the next.
        let unused = caller.send(Permit { queue: Arc::clone(queue), account });
        drop(unused);
    }
}

impl Queue {
    /// Makes room in the full queue for a caller of `account`: removes the last waiting caller of
    /// the account that has the most waiting callers. Returns false, and removes nobody, if that
    /// account would then have fewer waiting callers than `account`.
    fn make_room(&mut self, account: Uuid) -> bool {
        let mut counts = HashMap::<Uuid, usize>::new();
        for (waiting, _) in &self.waiting {
            *counts.entry(*waiting).or_default() += 1;
        }
        let own = counts.get(&account).copied().unwrap_or_default();
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((largest, _)) = most.filter(|(_, count)| *count > own + 1) else { return false };
        let last = self.waiting.iter().rposition(|(waiting, _)| *waiting == largest);
        last.is_some_and(|last| self.waiting.remove(last).is_some())
    }

    /// Removes the next waiting caller from the queue, and counts the caller's job as running.
    /// Returns `None` if no permit is free, or if each waiting caller's account already has a
    /// permit.
    fn next(&mut self) -> Option<(Uuid, oneshot::Sender<Permit>)> {
        if self.running.len() >= self.limit {
            return None;
        }
        let last = |account| self.served.get(account).copied().unwrap_or_default();
        let waiting = self.waiting.iter().enumerate();
        let waiting = waiting.filter(|(_, (account, _))| !self.running.contains(account));
        let (place, _) = waiting.min_by_key(|(_, (account, _))| last(account))?;
        let (account, caller) = self.waiting.remove(place)?;
        self.granted += 1;
        self.served.insert(account, self.granted);
        let oldest = self.granted.saturating_sub(REMEMBERED_PERMITS);
        self.served.retain(|_, granted| *granted > oldest);
        self.running.push(account);
        Some((account, caller))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.queue).running.retain(|account| *account != self.account);
        admit(&self.queue);
    }
}

impl Engine {
    /// Runs CPU-bound work through the [`Offload`](crate::ports::offload::Offload) port, once a
    /// permit and `memory` bytes are free. Both are held until the work ends, even if the returned
    /// future is dropped earlier. Fails with [`Error::Unavailable`] if too many callers wait,
    /// unless another account has more waiting callers: then the last caller of that account fails
    /// instead.
    pub(crate) async fn offload<T: Send + 'static>(
        &self,
        caller: &Caller,
        memory: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.offload_prepared(caller, memory, async { Ok(work) }).await
    }

    /// Runs CPU-bound work like [`offload`](Self::offload), but prepares the work only once a
    /// permit is free. Callers that wait therefore do not hold the input of the work in memory.
    pub(crate) async fn offload_prepared<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
        &self,
        caller: &Caller,
        memory: u64,
        work: impl Future<Output = Result<W>> + Send,
    ) -> Result<T> {
        let account = caller.account().map(UserId::uuid).unwrap_or_default();
        let permit = self.permits.acquire(account).await;
        let permit = permit.inspect_err(|_| self.refusals().count(Bound::CpuQueue))?;
        // After the permit, so that callers that wait for a permit reserve nothing.
        let reserved = self.reserve_memory(None, memory).await?;
        let work = work.await?;
        let (done, result) = oneshot::channel();
        let work = move || {
            // Fails only if the receiving future was dropped.
            drop(done.send(work()));
            drop((reserved, permit));
        };
        self.ports.offload.run(Box::new(work)).await;
        result.await.map_err(|_| Error::internal("offloaded work panicked"))
    }

    /// Reserves memory through the [`WorkMemory`](crate::ports::memory::WorkMemory) port, if there
    /// is one.
    pub(super) async fn reserve_memory(
        &self,
        account: Option<UserId>,
        bytes: u64,
    ) -> Result<Option<ReservedMemory>> {
        let Some(memory) = self.ports.memory.as_ref().filter(|_| bytes > 0) else {
            return Ok(None);
        };
        let reserved = memory.reserve(account, bytes).await;
        reserved.map(Some).inspect_err(|_| self.refusals().count(Bound::Memory))
    }

    /// Reserves memory like [`reserve_memory`](Self::reserve_memory), but fails immediately if not
    /// enough memory is free.
    pub(super) fn try_reserve_memory(
        &self,
        account: Option<UserId>,
        bytes: u64,
    ) -> Result<Option<ReservedMemory>> {
        self.reserve_memory(account, bytes).now_or_never().unwrap_or_else(|| {
            self.refusals().count(Bound::Memory);
            Err(Bound::Memory.reached("not enough free memory"))
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::*;

    /// Starts to wait for a permit on behalf of an account. The returned future ends when the
    /// permit is granted.
    fn wait(permits: &CpuPermits, account: u128) -> BoxFuture<'_, Result<Permit>> {
        permits.acquire(Uuid::from_u128(account)).boxed()
    }

    /// Polls a waiting caller. Returns the permit if it has been granted.
    fn granted(waiting: &mut BoxFuture<'_, Result<Permit>>) -> Option<Permit> {
        waiting.now_or_never().map(|permit| permit.ok().unwrap())
    }

    #[test]
    fn an_account_has_one_permit_and_the_process_two() {
        let permits = CpuPermits::new(2);

        let first = granted(&mut wait(&permits, 1)).unwrap();
        let mut second = wait(&permits, 1);
        assert!(granted(&mut second).is_none());
        let other = granted(&mut wait(&permits, 2)).unwrap();
        let mut third = wait(&permits, 3);
        assert!(granted(&mut third).is_none());

        drop(first);
        assert!(granted(&mut second).is_none(), "another account has the next turn");
        let third = granted(&mut third).unwrap();
        drop((other, third));
        assert!(granted(&mut second).is_some());
    }

    #[test]
    fn accounts_take_turns() {
        let permits = CpuPermits::new(2);
        let [first, _second] = [1, 2].map(|account| granted(&mut wait(&permits, account)));
        let mut many: Vec<_> = (0..16).map(|_| wait(&permits, 1)).collect();
        assert!(many.iter_mut().all(|one| granted(one).is_none()));
        let mut one = wait(&permits, 3);
        assert!(granted(&mut one).is_none());

        drop(first);

        assert!(granted(&mut one).is_some());
    }

    #[test]
    fn an_account_cannot_fill_the_queue() {
        let permits = CpuPermits::new(2);
        let _running = [1, 2].map(|account| granted(&mut wait(&permits, account)));
        let mut many: Vec<_> = (0..MAX_WAITING).map(|_| wait(&permits, 1)).collect();
        assert!(many.iter_mut().all(|one| granted(one).is_none()));

        let refused = wait(&permits, 1).now_or_never().unwrap();
        let mut other = wait(&permits, 3);
        assert!(granted(&mut other).is_none());

        assert!(matches!(refused, Err(Error::Unavailable(_))));
        let displaced = many.pop().unwrap().now_or_never().unwrap();
        assert!(matches!(displaced, Err(Error::Unavailable(_))));
    }

    #[test]
    fn a_caller_that_no_longer_waits_is_skipped() {
        let permits = CpuPermits::new(2);
        let running = [1, 2].map(|account| granted(&mut wait(&permits, account)));
        let mut gone = wait(&permits, 3);
        assert!(granted(&mut gone).is_none());
        let mut next = wait(&permits, 4);
        assert!(granted(&mut next).is_none());

        drop(gone);
        drop(running);

        assert!(granted(&mut next).is_some());
        assert!(lock(&permits.0).running.is_empty());
    }
}
