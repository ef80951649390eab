//! Memory for large bodies. Limits the requests that are received or performed, the responses that
//! are prepared, the responses that wait for their clients to read them, and work that needs many
//! megabytes.

mod parts;
mod received;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use secrets_core::limits::{Turn, Turns};
use secrets_core::model::lock::lock;
use secrets_core::model::{Bound, Error, UserId};
use secrets_core::ports::memory::{ReservedMemory, WorkMemory};
use secrets_core::store::ResolvedEnvironment;
use tokio::sync::Notify;
use tokio::time::timeout;
use warp::http::Extensions;

pub use parts::{PART, Parts};
pub use received::BodyMemory;

/// Maximum number of large responses of an account that are prepared at the same time. There is no
/// such limit for the whole process, because the operations reserve memory for the secrets that
/// they return.
const MAX_PREPARED_PER_ACCOUNT: usize = 2;

/// Divisor of the budget for one account: one account may use a quarter of the memory.
const SHARE: u64 = 4;

/// Maximum time that a request waits for free memory.
const WAIT: Duration = Duration::from_secs(3);

/// Maximum time that a request waits for an earlier exclusive task of its account. An account runs
/// only one exclusive task, such as a scan, at a time.
const TURN_WAIT: Duration = Duration::from_secs(30);

/// Memory budget for large request and response bodies, shared by all requests of the process.
pub struct MemoryBudget {
    /// Total size of the budget, in bytes.
    budget: u64,
    /// Maximum time that a request waits for free memory.
    wait: Duration,
    usage: Mutex<Usage>,
    released: Notify,
    /// Queues in which the exclusive tasks of each account wait: an account runs only one at a
    /// time.
    turns: Turns<UserId>,
}

/// Budget from which the service reserves the memory of CPU-bound work, such as scans.
pub struct WorkBudget(pub Arc<MemoryBudget>);

#[derive(Default)]
struct Usage {
    all: Share,
    /// Memory reserved by work that is not counted for any account.
    work: Share,
    accounts: HashMap<UserId, Share>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Share {
    prepared: usize,
    bytes: u64,
    /// Bytes that clients have announced and not sent yet. They count for the account, but not for
    /// the whole budget: other accounts do not wait for a client that sends slowly.
    announced: u64,
}

/// Memory that is reserved for a body. Dropping the reservation releases the memory.
pub struct Reservation {
    budget: Arc<MemoryBudget>,
    /// Account for which the memory is counted; `None` for work that is not counted for any
    /// account.
    account: Option<UserId>,
    share: Share,
}

impl MemoryBudget {
    /// Creates a budget of this size, in bytes.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        let (usage, released, turns) = Default::default();
        Self { budget, wait: WAIT, usage, released, turns }
    }

    /// Returns the size of the budget, in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.budget
    }

    /// Returns the maximum size of the secrets that one response may contain, with a budget of this
    /// size: the share of an account, but at most [`ResolvedEnvironment::MAX_BYTES`]. All sizes are
    /// in bytes.
    #[must_use]
    pub fn max_answer_bytes(budget: u64) -> usize {
        let share = usize::try_from(budget / SHARE).unwrap_or(usize::MAX);
        share.min(ResolvedEnvironment::MAX_BYTES)
    }

    /// Returns the memory in use, in bytes.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.usage().all.bytes
    }

    /// Reserves the right to prepare a large response for the account. Waits until fewer than two
    /// large responses are being prepared for the account; fails after three seconds.
    pub async fn prepare(self: &Arc<Self>, account: UserId) -> Result<Reservation, Error> {
        self.reserve(Some(account), Share { prepared: 1, ..Share::default() }).await
    }

    /// Reserves a part of the account's share for a request body of `announced` bytes, before it
    /// arrives. Waits until the account may use it; fails after three seconds.
    async fn announce(
        self: &Arc<Self>,
        account: UserId,
        announced: u64,
    ) -> Result<Reservation, Error> {
        self.reserve(Some(account), Share { announced, ..Share::default() }).await
    }

    /// Waits until the account may run an exclusive task, such as a scan: until no earlier
    /// exclusive task of the account is being received or run. Fails after 30 seconds. The next
    /// task may run once the returned value is dropped.
    pub async fn turn(&self, account: UserId) -> Result<Turn<UserId>, Error> {
        let turn = timeout(TURN_WAIT, self.turns.acquire(account)).await;
        turn.map_err(|_| {
            Bound::CpuQueue.reached("timeout while waiting for an earlier scan of the account")
        })
    }

    async fn reserve(
        self: &Arc<Self>,
        account: Option<UserId>,
        share: Share,
    ) -> Result<Reservation, Error> {
        self.wait_until(self.wait, || self.try_reserve(account, share)).await
    }

    /// Waits until the attempt succeeds. Tries again whenever memory was released; fails after
    /// `wait`.
    async fn wait_until<T>(
        &self,
        wait: Duration,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Result<T, Error> {
        let reserved = async {
            loop {
                let released = self.released.notified();
                if let Some(reserved) = attempt() {
                    return reserved;
                }
                released.await;
            }
        };
        let too_many = |_| Bound::Memory.reached("not enough free memory");
        timeout(wait, reserved).await.map_err(too_many)
    }

    fn try_reserve(self: &Arc<Self>, account: Option<UserId>, share: Share) -> Option<Reservation> {
        let mut usage = self.usage();
        let (own, max) = match account {
            Some(account) => {
                (usage.accounts.get(&account).copied().unwrap_or_default(), self.budget / SHARE)
            }
            // Work that is not counted for an account may use half of the budget. The other half
            // remains for bodies.
            None => (usage.work, self.budget / 2),
        };
        let is_free = fits(own.bytes + own.announced, share.bytes + share.announced, max)
            && fits(usage.all.bytes, share.bytes, self.budget)
            && own.prepared + share.prepared <= MAX_PREPARED_PER_ACCOUNT;
        is_free.then(|| {
            usage.add(account, share);
            Reservation { budget: Arc::clone(self), account, share }
        })
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        lock(&self.usage)
    }
}

/// True if a body of `bytes` bytes fits into a budget of which other bodies use `used` bytes. A
/// body larger than the budget is received only while no other memory is in use.
fn fits(used: u64, bytes: u64, budget: u64) -> bool {
    used < budget && (used == 0 || used.saturating_add(bytes) <= budget)
}

impl Usage {
    fn add(&mut self, account: Option<UserId>, share: Share) {
        for usage in self.shares(account) {
            usage.prepared += share.prepared;
            usage.bytes += share.bytes;
            usage.announced += share.announced;
        }
    }

    fn remove(&mut self, account: Option<UserId>, share: Share) {
        for usage in self.shares(account) {
            usage.prepared -= share.prepared;
            usage.bytes -= share.bytes;
            usage.announced -= share.announced;
        }
        if let Some(account) = account
            && self.accounts.get(&account) == Some(&Share::default())
        {
            self.accounts.remove(&account);
        }
    }

    /// Returns the usage of the whole budget, and the usage of the account (for `None`, the usage
    /// of work that is not counted for any account).
    fn shares(&mut self, account: Option<UserId>) -> [&mut Share; 2] {
        let own = match account {
            Some(account) => self.accounts.entry(account).or_default(),
            None => &mut self.work,
        };
        [&mut self.all, own]
    }
}

impl Reservation {
    /// Moves the reservation into the extensions of a response.
    pub fn put(self, extensions: &mut Extensions) {
        extensions.insert(Arc::new(self));
    }

    /// Removes the reservation from the extensions of a response, and returns it.
    pub fn take(extensions: &mut Extensions) -> Option<Self> {
        Arc::into_inner(extensions.remove::<Arc<Self>>()?)
    }

    /// Converts a reservation for preparing a response to a reservation for the prepared body of
    /// `bytes` bytes, which lasts until the body was sent.
    #[must_use]
    fn hold(mut self, bytes: u64) -> Self {
        let budget = Arc::clone(&self.budget);
        self.replace(&mut budget.usage(), Share { bytes, ..Share::default() });
        budget.released.notify_waiters();
        self
    }

    /// Reserves memory for the first `size` bytes of an announced body. Waits until it is free;
    /// fails after three seconds, including the time that the body has already waited.
    async fn receive_up_to(&mut self, size: u64, waited: Duration) -> Result<(), Error> {
        let missing = size.saturating_sub(self.share.bytes);
        if missing == 0 {
            return Ok(());
        }
        let budget = Arc::clone(&self.budget);
        let wait = budget.wait.saturating_sub(waited);
        budget.wait_until(wait, || self.try_receive(missing)).await
    }

    fn try_receive(&mut self, bytes: u64) -> Option<()> {
        let budget = Arc::clone(&self.budget);
        let mut usage = budget.usage();
        let share = Share {
            bytes: self.share.bytes + bytes,
            announced: self.share.announced.saturating_sub(bytes),
            ..self.share
        };
        let others = usage.all.bytes - self.share.bytes;
        fits(others, share.bytes, budget.budget).then(|| self.replace(&mut usage, share))
    }

    fn replace(&mut self, usage: &mut Usage, share: Share) {
        usage.add(self.account, share);
        usage.remove(self.account, self.share);
        self.share = share;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.usage().remove(self.account, self.share);
        self.budget.released.notify_waiters();
    }
}

#[async_trait]
impl WorkMemory for WorkBudget {
    async fn reserve(&self, account: Option<UserId>, bytes: u64) -> Result<ReservedMemory, Error> {
        Ok(Box::new(self.0.reserve(account, Share { bytes, ..Share::default() }).await?))
    }
}
