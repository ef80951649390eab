//! Memory for large bodies. Limits the requests that are received or performed, the responses that
//! are prepared, the responses that wait for their clients to read them, and work that needs many
//! megabytes.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Buf as _, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use secrets_core::limits::{Turn, Turns};
use secrets_core::model::lock::lock;
use secrets_core::model::{Bound, Error, UserId};
use secrets_core::ports::memory::{ReservedMemory, WorkMemory};
use secrets_core::store::ResolvedEnvironment;
use tokio::sync::Notify;
use tokio::time::timeout;
use warp::http::Extensions;

/// Maximum number of large responses of an account that are prepared at the same time. There is no
/// such limit for the process: the operations reserve the size of the secrets that they return.
const MAX_PREPARED_PER_ACCOUNT: usize = 2;

/// Divisor of the budget for one account: one account may use a quarter of the memory.
const SHARE: u64 = 4;

/// Maximum time that a request waits for free memory.
const WAIT: Duration = Duration::from_secs(3);

/// Maximum time that a request waits for an earlier exclusive task of its account.
const TURN_WAIT: Duration = Duration::from_secs(30);

/// Size of the parts in which a response is sent, in bytes. Smaller requests are not counted.
pub const PART: usize = 64 * 1024;

/// Memory budget for large request and response bodies, shared by all requests of the process.
pub struct MemoryBudget {
    /// Total size of the budget, in bytes.
    budget: u64,
    /// Maximum time that a request waits for free memory.
    wait: Duration,
    usage: Mutex<Usage>,
    released: Notify,
    /// Turns of exclusive tasks, by account.
    turns: Turns<UserId>,
}

/// Budget from which the service reserves the memory of CPU-bound work.
pub struct WorkBudget(pub Arc<MemoryBudget>);

#[derive(Default)]
struct Usage {
    all: Share,
    /// Work that is in no share of an account.
    work: Share,
    accounts: HashMap<UserId, Share>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Share {
    prepared: usize,
    bytes: u64,
}

/// Memory that is reserved for a body. Dropping the reservation releases the memory.
pub struct Reservation {
    budget: Arc<MemoryBudget>,
    /// Account whose share contains the memory; `None` if only the whole budget does.
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

    /// Returns the maximum size of the secrets that are returned at once, with a budget of this
    /// size: the share of an account. Otherwise a response could not be prepared within the budget.
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

    /// Reserves the preparation of a large response. Waits until the account may prepare another
    /// one; fails after three seconds.
    pub async fn prepare(self: &Arc<Self>, account: UserId) -> Result<Reservation, Error> {
        self.reserve(Some(account), Share { prepared: 1, bytes: 0 }).await
    }

    /// Reserves memory for a request body of `bytes` bytes. Waits until the account may use it;
    /// fails after three seconds.
    pub async fn receive(
        self: &Arc<Self>,
        account: UserId,
        bytes: u64,
    ) -> Result<Reservation, Error> {
        self.reserve(Some(account), Share { prepared: 0, bytes }).await
    }

    /// Waits until no other exclusive task of the account is received or performed. Fails after 30
    /// seconds.
    pub async fn turn(&self, account: UserId) -> Result<Turn<UserId>, Error> {
        let turn = timeout(TURN_WAIT, self.turns.acquire(account)).await;
        turn.map_err(|_| Bound::CpuQueue.reached("an earlier task of the account is not done"))
    }

    async fn reserve(
        self: &Arc<Self>,
        account: Option<UserId>,
        share: Share,
    ) -> Result<Reservation, Error> {
        let reserved = async {
            loop {
                let released = self.released.notified();
                if let Some(reserved) = self.try_reserve(account, share) {
                    return reserved;
                }
                released.await;
            }
        };
        let too_many = |_| Bound::Memory.reached("too many large bodies are in progress");
        timeout(self.wait, reserved).await.map_err(too_many)
    }

    fn try_reserve(self: &Arc<Self>, account: Option<UserId>, share: Share) -> Option<Reservation> {
        let mut usage = self.usage();
        let (own, max) = match account {
            Some(account) => {
                (usage.accounts.get(&account).copied().unwrap_or_default(), self.budget / SHARE)
            }
            // Work of all accounts leaves half of the budget to bodies.
            None => (usage.work, self.budget / 2),
        };
        // A body larger than the budget is received only while no other memory is in use.
        let fits = |used: u64, budget: u64| {
            used < budget && (used == 0 || used.saturating_add(share.bytes) <= budget)
        };
        let is_free = fits(own.bytes, max)
            && fits(usage.all.bytes, self.budget)
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

impl Usage {
    fn add(&mut self, account: Option<UserId>, share: Share) {
        for usage in self.shares(account) {
            usage.prepared += share.prepared;
            usage.bytes += share.bytes;
        }
    }

    fn remove(&mut self, account: Option<UserId>, share: Share) {
        for usage in self.shares(account) {
            usage.prepared -= share.prepared;
            usage.bytes -= share.bytes;
        }
        if let Some(account) = account
            && self.accounts.get(&account) == Some(&Share::default())
        {
            self.accounts.remove(&account);
        }
    }

    /// Returns the usage of the whole budget, and of the account or of work without an account.
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
        let share = Share { prepared: 0, bytes };
        let mut usage = self.budget.usage();
        usage.add(self.account, share);
        usage.remove(self.account, self.share);
        drop(usage);
        self.share = share;
        self.budget.released.notify_waiters();
        self
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
        Ok(Box::new(self.0.reserve(account, Share { prepared: 0, bytes }).await?))
    }
}

/// Body of a response that is sent in parts. Each part is a copy, so that the connection never
/// holds the whole body. The reserved memory is released when the whole body was sent.
pub struct Parts<B> {
    body: B,
    rest: Bytes,
    _memory: Option<Reservation>,
}

impl<B: Body> Parts<B> {
    /// Wraps the body of a response, with the memory reserved for it.
    pub fn new(body: B, memory: Option<Reservation>) -> Self {
        let size = body.size_hint().lower();
        let memory = memory.map(|memory| memory.hold(size));
        Self { body, rest: Bytes::new(), _memory: memory }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Parts<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) if frame.data_ref().is_some_and(|data| data.len() > PART) => {
                    self.rest = frame.into_data().unwrap_or_default();
                }
                next => return Poll::Ready(next),
            }
        }
        let part = Bytes::copy_from_slice(&self.rest[..self.rest.len().min(PART)]);
        self.rest.advance(part.len());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, self.body.size_hint());
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + rest);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::{BodyExt as _, Full};
    use uuid::Uuid;

    use super::*;

    fn account(number: u128) -> UserId {
        Uuid::from_u128(number).into()
    }

    fn prepare(budget: &Arc<MemoryBudget>, number: u128) -> Option<Reservation> {
        budget.prepare(account(number)).now_or_never().map(Result::unwrap)
    }

    #[tokio::test]
    async fn two_responses_of_an_account_are_prepared_at_once() {
        let budget = Arc::new(MemoryBudget::new(1_000));

        let prepared: Vec<_> = [1, 1, 1, 2, 2, 2, 3].map(|number| prepare(&budget, number)).into();

        let is_prepared: Vec<_> = prepared.iter().map(Option::is_some).collect();
        assert_eq!(is_prepared, [true, true, false, true, true, false, true]);
        drop(prepared);
        assert!(prepare(&budget, 1).is_some());
        assert!(budget.usage().accounts.is_empty());
    }

    #[tokio::test]
    async fn an_account_that_does_not_read_waits_for_itself_only() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let unread = prepare(&budget, 1).unwrap().hold(250);

        assert!(prepare(&budget, 1).is_none());
        assert!(prepare(&budget, 2).is_some());
        drop(unread);
        assert!(prepare(&budget, 1).is_some());
    }

    #[tokio::test]
    async fn all_responses_share_the_budget() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let unread: Vec<_> =
            (1..=4).map(|number| prepare(&budget, number).unwrap().hold(250)).collect();

        assert!(prepare(&budget, 5).is_none());
        drop(unread);
        assert!(prepare(&budget, 5).is_some());
    }

    #[tokio::test]
    async fn the_wait_ends_when_memory_is_released_or_after_a_time() {
        let wait = Duration::from_millis(10);
        let budget = Arc::new(MemoryBudget { wait, ..MemoryBudget::new(1_000) });
        let _unread = prepare(&budget, 1).unwrap().hold(250);
        assert!(matches!(budget.prepare(account(1)).await, Err(Error::Unavailable(_))));

        let budget = Arc::new(MemoryBudget::new(1_000));
        let unread = prepare(&budget, 1).unwrap().hold(250);
        let mut waiting = Box::pin(budget.prepare(account(1)));
        assert!((&mut waiting).now_or_never().is_none());
        drop(unread);

        assert!(waiting.now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn requests_use_the_same_budget() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let receive = |number, bytes| {
            budget.receive(account(number), bytes).now_or_never().map(Result::unwrap)
        };

        let large = receive(1, 5_000);
        assert!(large.is_some(), "a body larger than the budget is received alone");
        assert!(receive(1, 1).is_none() && receive(2, 1).is_none());
        assert!(prepare(&budget, 2).is_none());
        drop(large);
        let _shares = [receive(1, 100).unwrap(), receive(1, 150).unwrap()];
        assert!(receive(1, 1).is_none());
        assert!(prepare(&budget, 1).is_none());
        assert!(receive(2, 250).is_some());
    }

    #[tokio::test]
    async fn work_uses_the_same_budget_and_no_share_of_an_account() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let work = WorkBudget(Arc::clone(&budget));
        let reserve = |bytes| work.reserve(None, bytes).now_or_never().map(Result::unwrap);
        let _unread = prepare(&budget, 1).unwrap().hold(250);

        let running = reserve(500).unwrap();

        assert_eq!(budget.used(), 750);
        assert!(reserve(1).is_none(), "work uses half of the budget");
        drop(running);
        assert_eq!(budget.used(), 250);
        assert!(reserve(500).is_some());
    }

    #[tokio::test]
    async fn responses_in_preparation_count_with_their_size() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let work = WorkBudget(Arc::clone(&budget));
        let reserve = |number, bytes| {
            work.reserve(Some(account(number)), bytes).now_or_never().map(Result::unwrap)
        };

        let first = reserve(1, 200).unwrap();

        assert!(reserve(1, 100).is_none(), "the share of an account is 250 bytes");
        assert!(reserve(1, 50).is_some() && reserve(2, 250).is_some());
        drop(first);
        assert!(reserve(1, 100).is_some());
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn an_account_has_one_turn_at_a_time() {
        let budget = Arc::new(MemoryBudget::new(1_000));
        let turn = |number| budget.turn(account(number)).now_or_never().map(Result::unwrap);

        let first = turn(1);

        assert!(first.is_some() && turn(1).is_none() && turn(2).is_some());
        drop(first);
        assert!(turn(1).is_some());
    }

    #[tokio::test]
    async fn a_body_is_sent_in_parts_and_its_memory_is_held_until_the_end() {
        let budget = Arc::new(MemoryBudget::new(1_000_000));
        let text: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let answer = prepare(&budget, 1);
        let mut body = Parts::new(Full::new(Bytes::from(text.clone())), answer);
        assert_eq!(body.size_hint().exact(), Some(200_000));
        assert_eq!(budget.usage().all, Share { prepared: 0, bytes: 200_000 });

        let mut sent = Vec::new();
        while let Some(part) = body.frame().await {
            let part = part.unwrap().into_data().unwrap();
            assert!(part.len() <= PART);
            sent.extend_from_slice(&part);
            assert_eq!(body.size_hint().exact(), Some((200_000 - sent.len()) as u64));
        }

        assert!(sent == text);
        assert!(body.is_end_stream());
        drop(body);
        assert_eq!(budget.usage().all, Share::default());
    }
}
