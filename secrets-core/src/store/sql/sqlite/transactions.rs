//! Transactions of an SQLite database, which can share a commit (group commit).
//!
//! SQLite has one writer at a time, and each commit waits for the disk. So a transaction that ends
//! while others wait to begin is not committed alone: the next one begins inside it, as a
//! savepoint, and so on. The last one commits the whole group. A transaction counts as committed
//! when its group is committed; if that commit fails, all transactions of the group fail.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqlx::Sqlite;
use sqlx_core::transaction::TransactionManager as _;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::super::cache::{Cache, CacheView};
use super::super::error::{broken, unavailable};
use super::tables::Pools;
use super::tables::pooled::{Connected, Manager, Pooled};
use super::tables::{Statement, failed};
use crate::model::lock::lock;
use crate::store::{StoreError, StoreResult};

/// SQL statement that begins a transaction and takes the database's write lock immediately, so that
/// no transaction fails later because it cannot get the lock.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";

/// SQL statement that begins a transaction inside a group, as a savepoint. The driver's own
/// savepoints are not used, because the driver does not record if a cancelled statement has run. A
/// savepoint is not released: a later one with the same name hides it, and the commit ends all
/// savepoints.
const SAVEPOINT: &str = "SAVEPOINT in_group";
const ROLL_BACK_TO: &str = "ROLLBACK TO in_group";

/// Maximum number of transactions in a group.
const MAX_MEMBERS: usize = 32;

/// Time after the end of the first transaction of a group during which other transactions can join.
/// This time and the end of one other short transaction are thus the longest delay of a commit.
const MAX_WAIT: Duration = Duration::from_millis(5);

/// Queue of the transactions that wait for the connection that writes.
#[derive(Default)]
pub(super) struct WriteQueue(Mutex<Waiting>);

/// Callers that wait for the connection that writes, in the order in which they began to wait.
#[derive(Default)]
struct Waiting {
    /// True while a caller has the turn: the right to use the connection that writes.
    is_taken: bool,
    /// Callers with an urgent SQL statement, which runs before all waiting transactions.
    urgent: VecDeque<Waiter>,
    transactions: VecDeque<Waiter>,
}

struct Waiter {
    /// True for a long transaction, which does not join a group.
    is_long: bool,
    sender: oneshot::Sender<Handed>,
}

/// Right to use the connection that writes. Dropping this value passes the right to the next caller
/// in the queue.
pub(super) struct Turn(Option<Arc<WriteQueue>>);

/// Right or group that is passed to a waiting caller.
enum Handed {
    /// The right to use the connection, which the caller must still acquire.
    Turn(Turn),
    /// The connection, with the right to use it, and perhaps with a group that the caller can join.
    Group(Box<Transaction>),
}

/// Kind of caller that waits for the connection that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// A statement that goes before all transactions.
    Urgent,
    /// A transaction that can share its commit.
    Short,
    /// A transaction that shares no commit, because others would have to wait too long for its end.
    Long,
}

/// A transaction. If it is dropped without a commit, it is rolled back.
pub(super) struct Transaction(Option<Group>);

/// A group: transactions that share a commit, and the connection that they use.
struct Group {
    pooled: Pooled,
    queue: Arc<WriteQueue>,
    cache: Option<Arc<Cache>>,
    /// True while a transaction of the database may be open.
    is_open: bool,
    /// True if the first transaction is long. No other transaction then joins the group.
    is_long: bool,
    /// True while the savepoint of a transaction that has not ended is open.
    has_savepoint: bool,
    /// Time at which the first transaction ended; `None` if none has ended.
    ended_since: Option<Instant>,
    /// Senders of the result of the commit, one for each transaction that has ended.
    members: Vec<oneshot::Sender<StoreResult<()>>>,
}

impl Waiting {
    /// Removes the next waiting caller from the queue and returns it. If `is_open`, a group has an
    /// open transaction; a long transaction cannot join the group and stays in the queue.
    fn next(&mut self, is_open: bool) -> Option<Waiter> {
        let urgent = self.urgent.pop_front();
        urgent.or_else(|| self.transactions.pop_front_if(|waiter| !(is_open && waiter.is_long)))
    }
}

impl WriteQueue {
    /// Creates an empty queue. Ignores the number of connections, which is always 1.
    pub(super) fn new(_: u32) -> Self {
        Self::default()
    }

    /// Waits for the right to use the connection that writes.
    async fn wait(self: &Arc<Self>, wait: Wait) -> StoreResult<Handed> {
        let receiver = {
            let mut waiting = lock(&self.0);
            if !mem::replace(&mut waiting.is_taken, true) {
                return Ok(Handed::Turn(Turn(Some(Arc::clone(self)))));
            }
            let queue = match wait {
                Wait::Urgent => &mut waiting.urgent,
                Wait::Short | Wait::Long => &mut waiting.transactions,
            };
            queue.retain(|waiter| !waiter.sender.is_closed());
            let (sender, receiver) = oneshot::channel();
            queue.push_back(Waiter { is_long: wait == Wait::Long, sender });
            receiver
        };
        receiver.await.map_err(|_| unavailable("the database is closed"))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(mut queue) = self.0.take() else { return };
        loop {
            let next = {
                let mut waiting = lock(&queue.0);
                let next = waiting.next(false);
                waiting.is_taken = next.is_some();
                next
            };
            let Some(next) = next else { return };
            match next.sender.send(Handed::Turn(Self(Some(queue)))) {
                // The caller no longer waits.
                Err(Handed::Turn(mut turn)) => match turn.0.take() {
                    Some(returned) => queue = returned,
                    None => return,
                },
                _ => return,
            }
        }
    }
}

impl Transaction {
    /// True if no other transaction runs at the same time.
    pub(super) const IS_EXCLUSIVE: bool = true;

    /// Begins a transaction whose SQL statements have this timeout, after the transactions that
    /// began to wait before. A transaction that is not long can share a commit with others.
    pub(super) async fn begin(
        pools: &Pools,
        acquire: Duration,
        limit: Duration,
        is_long: bool,
    ) -> StoreResult<Self> {
        let wait = if is_long { Wait::Long } else { Wait::Short };
        let mut transaction = Self::wait(pools, wait, acquire, limit).await?;
        transaction.group()?.begin(is_long).await?;
        Ok(transaction)
    }

    /// Runs one SQL statement and commits it. Does not wait for transactions that have not begun.
    pub(super) async fn run_alone(
        pools: &Pools,
        acquire: Duration,
        limit: Duration,
        statement: Statement<'_>,
    ) -> StoreResult<()> {
        let mut transaction = Self::wait(pools, Wait::Urgent, acquire, limit).await?;
        let group = transaction.group()?;
        let (connection, limit) = group.pooled.parts();
        limit.apply(async { statement.execute(connection).await.map_err(failed) }).await?;
        if group.is_open { transaction.finish(Group::commit).await } else { Ok(()) }
    }

    /// Waits for the connection that writes, and acquires it. Does not begin the transaction.
    async fn wait(
        pools: &Pools,
        wait: Wait,
        acquire: Duration,
        limit: Duration,
    ) -> StoreResult<Self> {
        let handed = timeout(acquire, pools.queue.wait(wait)).await;
        match handed.map_err(|_| unavailable("too many writes are waiting"))?? {
            Handed::Group(mut transaction) => {
                let (_, statements) = transaction.group()?.pooled.parts();
                (statements.timeout, statements.has_failed) = (limit, false);
                Ok(*transaction)
            }
            Handed::Turn(turn) => Ok(Self(Some(Group {
                pooled: Pooled::acquire_in_turn(pools.writing(), limit, turn).await?,
                queue: Arc::clone(&pools.queue),
                cache: pools.cache.clone(),
                is_open: false,
                is_long: false,
                has_savepoint: false,
                ended_since: None,
                members: Vec::new(),
            }))),
        }
    }

    /// Commits the transaction, perhaps together with later ones of its group. Fails, and rolls the
    /// transaction back, if a statement has failed.
    pub(super) async fn commit(mut self) -> StoreResult<()> {
        self.group()?.pooled.check()?;
        let (group, result) = self.end()?;
        if let Some(group) = group.end() {
            tokio::spawn(group.commit());
        }
        result.await
    }

    /// Rolls the transaction back, and waits for the commit of the earlier ones of its group, whose
    /// changes it may have seen. Fails if this commit fails.
    pub(super) async fn roll_back(self) -> StoreResult<()> {
        self.finish(Group::roll_back).await
    }

    /// Ends the transaction with the function `end`, and waits for the result of the commit. `end`
    /// runs in its own task, so that other transactions of the group do not depend on this caller.
    async fn finish<F: Future<Output = ()> + Send + 'static>(
        self,
        end: fn(Group) -> F,
    ) -> StoreResult<()> {
        let (group, result) = self.end()?;
        tokio::spawn(end(group));
        result.await
    }

    /// Adds the transaction to the members of its group. Returns the group, and the result of its
    /// commit.
    fn end(mut self) -> StoreResult<(Group, impl Future<Output = StoreResult<()>>)> {
        let mut group = self.0.take().ok_or_else(ended)?;
        let (sender, receiver) = oneshot::channel();
        group.members.push(sender);
        let interrupted = |_| Err(unavailable("the commit was interrupted"));
        Ok((group, async move { receiver.await.unwrap_or_else(interrupted) }))
    }

    fn group(&mut self) -> StoreResult<&mut Group> {
        self.0.as_mut().ok_or_else(ended)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // Without a runtime, the connection is closed.
        if let (Some(group), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(group.roll_back());
        }
    }
}

impl Connected for Transaction {
    async fn pooled(&mut self) -> StoreResult<&mut Pooled> {
        Ok(&mut self.group()?.pooled)
    }

    /// Returns a view of the cache without the records that this transaction or its group has
    /// changed.
    async fn cache(&mut self) -> StoreResult<Option<CacheView>> {
        Ok(self.group()?.cache.as_ref().map(Cache::view_in_transaction))
    }
}

impl Group {
    /// Begins the first transaction of the group, or the next one as a savepoint.
    async fn begin(&mut self, is_long: bool) -> StoreResult<()> {
        if self.is_open {
            // If this fails or is cancelled, there is nothing to undo, and `ROLLBACK TO` would find
            // the savepoint of another transaction.
            self.run(SAVEPOINT).await?;
            self.has_savepoint = true;
            return Ok(());
        }
        (self.is_open, self.is_long) = (true, is_long);
        self.pooled.begin(BEGIN, self.cache.as_ref()).await
    }

    /// Ends a transaction: lets the next transaction join the group and commit later. Returns the
    /// group if it must be committed now.
    fn end(mut self) -> Option<Self> {
        self.has_savepoint = false;
        let waited = self.ended_since.get_or_insert_with(Instant::now).elapsed();
        let can_wait = !self.is_long && waited < MAX_WAIT && self.members.len() < MAX_MEMBERS;
        if can_wait { self.hand_over() } else { Some(self) }
    }

    /// Commits the group and reports the result to its members.
    async fn commit(mut self) {
        match self.pooled.commit(self.cache.as_ref()).await {
            Ok(()) => self.succeed(),
            Err(error) => self.fail(&error),
        }
    }

    /// Rolls back the transaction that has not ended, and commits the earlier ones of the group.
    async fn roll_back(mut self) {
        if mem::take(&mut self.has_savepoint)
            && let Err(error) = self.run(ROLL_BACK_TO).await
        {
            // Either SQLite does not answer, or it has rolled back everything by itself, for example
            // because the disk is full.
            return self.fail(&error);
        }
        if self.ended_since.is_some() {
            return self.commit().await;
        }
        if self.is_open {
            let (connection, limit) = self.pooled.parts();
            let rolled_back = async { Manager::rollback(connection).await.map_err(failed) };
            if limit.apply(rolled_back).await.is_ok() {
                self.succeed();
            }
        }
    }

    /// Reports the success to all members, and [releases](Self::release) the connection.
    fn succeed(mut self) {
        for member in self.members.drain(..) {
            member.send(Ok(())).ok();
        }
        self.release();
    }

    /// Reports an error to all members. The connection is rolled back and returned, or closed if
    /// its state is unknown.
    fn fail(mut self, error: &StoreError) {
        self.pooled.start_rollback();
        for member in self.members.drain(..) {
            let copy = match error {
                StoreError::Corrupt(cause) => broken(cause.to_string()),
                StoreError::Unavailable(cause) => unavailable(cause.to_string()),
                other => broken(other.to_string()),
            };
            member.send(Err(copy)).ok();
        }
    }

    /// Passes the connection, which has no open transaction any more, to the next waiting caller or
    /// back to the pool.
    fn release(mut self) {
        (self.is_open, self.ended_since) = (false, None);
        drop(self.hand_over());
    }

    /// Passes the group to the next waiting caller. Returns the group if no waiting caller can join
    /// it.
    fn hand_over(self) -> Option<Self> {
        let queue = Arc::clone(&self.queue);
        let mut group = self;
        loop {
            let next = lock(&queue.0).next(group.is_open);
            let Some(next) = next else { return Some(group) };
            match next.sender.send(Handed::Group(Box::new(Transaction(Some(group))))) {
                // The caller no longer waits.
                Err(Handed::Group(mut transaction)) => group = transaction.0.take()?,
                _ => return None,
            }
        }
    }

    async fn run(&mut self, statement: &'static str) -> StoreResult<()> {
        let (connection, limit) = self.pooled.parts();
        let statement = sqlx::query::<Sqlite>(statement).execute(connection);
        limit.apply(async { statement.await.map_err(failed) }).await.map(drop)
    }
}

fn ended() -> StoreError {
    broken("the transaction has ended")
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;
