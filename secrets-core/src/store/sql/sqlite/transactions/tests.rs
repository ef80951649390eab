use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use futures_util::poll;
use tempfile::TempDir;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use super::super::tables::SqlStore;
use super::*;
use crate::model::{EnvironmentId, UserId};
use crate::store::{EnvironmentRecord, Store, Timeouts, Tx, UserRecord};
use crate::testing::fixtures::{World, at, entry, secret, user};
use crate::testing::{folder, patient};

mod batches;

/// A store with users that tests insert and look for.
struct Test {
    store: Arc<SqlStore>,
    users: Vec<UserRecord>,
    _folder: TempDir,
}

impl Test {
    async fn open() -> Self {
        let folder = TempDir::new_in(folder()).unwrap();
        let store = super::super::open(&folder.path().join("secrets.db"), patient()).await.unwrap();
        let users = (0..200).map(|number| user(&format!("user{number}"))).collect();
        Self { store: Arc::new(store), users, _folder: folder }
    }

    async fn begin(&self) -> Box<dyn Tx> {
        self.store.begin_for_request(false).await.unwrap()
    }

    /// Starts a task that begins a transaction. Returns when the transaction is in the queue.
    async fn queue(&self, is_long: bool) -> tokio::task::JoinHandle<Box<dyn Tx>> {
        let waiting = || lock(&self.store.pools().queue.0).transactions.len();
        let before = waiting();
        let store = Arc::clone(&self.store);
        let task = tokio::spawn(async move { store.begin_for_request(is_long).await.unwrap() });
        while waiting() == before {
            yield_now().await;
        }
        task
    }

    /// Like `queue`, but calls `Transaction::begin` directly and returns at once.
    fn queue_bare(&self) -> tokio::task::JoinHandle<Transaction> {
        let (pools, Timeouts { acquire, write, .. }) = (self.store.pools(), patient().timeouts);
        tokio::spawn(
            async move { Transaction::begin(&pools, acquire, write, false).await.unwrap() },
        )
    }

    /// Waits until another transaction is in the queue. Returns the future that commits `tx`.
    async fn commit_when_joined(
        &self,
        tx: Box<dyn Tx>,
    ) -> impl Future<Output = StoreResult<()>> + use<> {
        while lock(&self.store.pools().queue.0).transactions.is_empty() {
            yield_now().await;
        }
        tx.commit()
    }

    /// Begins two transactions that share a commit: the first has inserted user 0 and waits for the
    /// end of the second. Returns the task of the first, and the second.
    async fn group(&self) -> (tokio::task::JoinHandle<StoreResult<()>>, Box<dyn Tx>) {
        let mut first = self.begin().await;
        let second = self.queue(false).await;
        self.insert(&mut first, 0).await;
        let first = tokio::spawn(first.commit());
        (first, second.await.unwrap())
    }

    async fn insert(&self, tx: &mut Box<dyn Tx>, number: usize) {
        tx.insert_user(&self.users[number]).await.unwrap();
    }

    /// Returns the numbers of the users that are committed.
    async fn committed(&self) -> Vec<usize> {
        let mut reads = self.store.read().await.unwrap();
        let mut found = Vec::new();
        for (number, user) in self.users.iter().enumerate() {
            if reads.user(user.id).await.unwrap().is_some() {
                found.push(number);
            }
        }
        found
    }

    /// Counts the commits of the connection that writes from now on. Returns the counter.
    async fn count_commits(&self) -> Arc<AtomicUsize> {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let mut connection = self.store.pools().writing().0.acquire().await.unwrap();
        connection.lock_handle().await.unwrap().set_commit_hook(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            true
        });
        count
    }
}

/// True if the transaction sees the user.
async fn sees(tx: &mut Box<dyn Tx>, user: UserId) -> bool {
    tx.user(user).await.unwrap().is_some()
}

#[tokio::test]
async fn a_transaction_is_committed_with_the_next_one() {
    let test = Test::open().await;
    let commits = test.count_commits().await;

    let (first, mut second) = test.group().await;
    assert!(sees(&mut second, test.users[0].id).await);
    assert!(test.committed().await.is_empty());
    test.insert(&mut second, 1).await;
    assert!(!first.is_finished());
    second.commit().await.unwrap();

    first.await.unwrap().unwrap();
    assert_eq!(test.committed().await, [0, 1]);
    assert_eq!(commits.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_transaction_that_is_rolled_back_leaves_its_group() {
    let test = Test::open().await;
    let (first, mut second) = test.group().await;
    test.insert(&mut second, 1).await;

    drop(second);

    first.await.unwrap().unwrap();
    assert_eq!(test.committed().await, [0]);
}

#[tokio::test]
async fn a_rollback_waits_for_the_commit_of_changes_that_the_transaction_has_seen() {
    let test = Test::open().await;
    let (first, mut second) = test.group().await;
    assert!(sees(&mut second, test.users[0].id).await);
    assert!(test.committed().await.is_empty());

    second.roll_back().await.unwrap();

    assert_eq!(test.committed().await, [0]);
    first.await.unwrap().unwrap();
    let mut alone = test.begin().await;
    test.insert(&mut alone, 1).await;
    alone.roll_back().await.unwrap();
    assert_eq!(test.committed().await, [0]);
}

#[tokio::test]
async fn a_cancelled_statement_is_rolled_back_without_its_group() {
    let test = Test::open().await;
    let mut first = test.begin().await;
    let second = test.queue_bare();
    test.insert(&mut first, 0).await;
    let first = tokio::spawn(test.commit_when_joined(first).await);
    let mut second = second.await.unwrap();

    // The statement is sent, and takes too long to be answered at once.
    let (connection, limit) = second.pooled().await.unwrap().parts();
    let statement = sqlx::raw_sql(
        "CREATE TABLE cancelled AS
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
         SELECT i FROM n",
    );
    let running = limit.apply(async { statement.execute(connection).await.map_err(failed) });
    assert!(running.now_or_never().is_none());
    drop(second);

    first.await.unwrap().unwrap();
    assert_eq!(test.committed().await, [0]);
    let tables = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'cancelled'";
    let tables = sqlx::query_scalar::<_, i64>(tables).fetch_one(&test.store.pools().readers).await;
    assert_eq!(tables.unwrap(), 0);
}

#[tokio::test]
async fn a_caller_that_goes_away_during_a_write_of_several_rows_fails_no_other() {
    let test = Test::open().await;
    let world = World::build(&*test.store).await;
    let secrets = ["ONE", "TWO", "THREE"].map(|key| secret(&world.staging, key));
    for polls in 0..12 {
        let mut first = test.begin().await;
        let second = test.queue(false).await;
        test.insert(&mut first, polls).await;
        let first = tokio::spawn(first.commit());
        let mut second = second.await.unwrap();

        let mut writing = second.insert_secrets(&secrets);
        for _ in 0..polls {
            if poll!(&mut writing).is_ready() {
                break;
            }
            sleep(Duration::from_micros(200)).await;
        }
        drop(writing);
        drop(second);

        first.await.unwrap().unwrap();
    }
    assert_eq!(test.committed().await, (0..12).collect::<Vec<_>>());
    let mut reads = test.store.read().await.unwrap();
    assert_eq!(reads.count_secrets(world.staging.id).await.unwrap(), 0);
}

#[tokio::test]
async fn a_waiter_that_gives_up_after_its_turn_came_leaves_the_commit_to_others() {
    let test = Test::open().await;
    let mut first = test.begin().await;
    test.insert(&mut first, 0).await;
    let mut second = Box::pin(test.store.begin_for_request(false));
    assert!(second.as_mut().now_or_never().is_none());

    let first = tokio::spawn(first.commit());
    // The group is handed over to the second transaction, which does not run.
    while !lock(&test.store.pools().queue.0).transactions.is_empty() {
        yield_now().await;
    }
    drop(second);

    first.await.unwrap().unwrap();
    assert_eq!(test.committed().await, [0]);
    test.begin().await.commit().await.unwrap();
}

#[tokio::test]
async fn nobody_waits_for_the_end_of_a_long_transaction() {
    let test = Test::open().await;
    let mut first = test.begin().await;
    let long = test.queue(true).await;
    test.insert(&mut first, 0).await;

    first.commit().await.unwrap();

    let mut long = long.await.unwrap();
    assert_eq!(test.committed().await, [0]);
    test.insert(&mut long, 1).await;
    long.commit().await.unwrap();
    assert_eq!(test.committed().await, [0, 1]);
}

#[tokio::test]
async fn a_group_whose_commit_fails_fails_as_a_whole() {
    for is_rolled_back in [false, true] {
        let test = Test::open().await;
        let mut first = test.begin().await;
        test.insert(&mut first, 0).await;
        let second = test.queue_bare();
        let first = tokio::spawn(test.commit_when_joined(first).await);
        let mut second = second.await.unwrap();

        // SQLite does this by itself in the worst cases of a full disk.
        let (connection, _) = second.pooled().await.unwrap().parts();
        sqlx::raw_sql("ROLLBACK").execute(connection).await.unwrap();

        let ended = if is_rolled_back { second.roll_back().await } else { second.commit().await };
        ended.unwrap_err();
        first.await.unwrap().unwrap_err();
        assert!(test.committed().await.is_empty());
        let mut next = test.begin().await;
        test.insert(&mut next, 2).await;
        next.commit().await.unwrap();
        assert_eq!(test.committed().await, [2]);
    }
}

#[tokio::test]
async fn a_transaction_with_a_failed_statement_is_not_committed() {
    let test = Test::open().await;
    let world = World::build(&*test.store).await;
    let unknown = EnvironmentRecord { id: EnvironmentId::draw(at(0)), ..world.staging.clone() };
    for is_in_group in [false, true] {
        let mut tx = test.begin().await;
        let mut joined = None;
        if is_in_group {
            let second = test.queue(false).await;
            test.insert(&mut tx, 0).await;
            joined = Some(tokio::spawn(tx.commit()));
            tx = second.await.unwrap();
        }

        test.insert(&mut tx, 1).await;
        tx.insert_secrets(&[secret(&unknown, "KEY")]).await.unwrap_err();

        tx.commit().await.unwrap_err();
        if let Some(first) = joined {
            first.await.unwrap().unwrap();
        }
    }
    assert_eq!(test.committed().await, [0]);
}

#[tokio::test]
async fn a_transaction_sees_its_changes_and_those_of_its_group_although_a_cache_exists() {
    let test = Test::open().await;
    let mut first = test.begin().await;
    test.insert(&mut first, 0).await;
    first.commit().await.unwrap();
    let UserRecord { issuer, subject, .. } = test.users[0].clone();
    let renamed = UserRecord { email: "new@example.com".into(), ..test.users[0].clone() };
    let cached = test.store.read().await.unwrap().user_by_subject(&issuer, &subject).await;
    assert_eq!(cached.unwrap().as_ref(), Some(&test.users[0]));

    let mut first = test.begin().await;
    let second = test.queue(false).await;
    first.update_user(&renamed).await.unwrap();
    let own = first.user_by_subject(&issuer, &subject).await.unwrap();
    let first = tokio::spawn(first.commit());
    let mut second = second.await.unwrap();
    let of_group = second.user_by_subject(&issuer, &subject).await.unwrap();
    let before = test.store.read().await.unwrap().user_by_subject(&issuer, &subject).await;
    drop(second);
    first.await.unwrap().unwrap();

    assert_eq!([own, of_group], [Some(renamed.clone()), Some(renamed.clone())]);
    assert_eq!(before.unwrap().as_ref(), Some(&test.users[0]));
    let after = test.store.read().await.unwrap().user_by_subject(&issuer, &subject).await;
    assert_eq!(after.unwrap(), Some(renamed));
}

#[tokio::test]
async fn many_transactions_share_commits_in_bounded_groups() {
    let test = Test::open().await;
    let commits = test.count_commits().await;
    let held = test.begin().await;
    let mut tasks = Vec::new();
    for number in 0..100 {
        let begun = test.queue(false).await;
        let user = test.users[number].clone();
        tasks.push(tokio::spawn(async move {
            let mut tx = begun.await.unwrap();
            tx.insert_user(&user).await.unwrap();
            tx.commit().await.unwrap();
        }));
    }

    drop(held);
    for ended in join_all(tasks).await {
        ended.unwrap();
    }

    assert_eq!(test.committed().await, (0..100).collect::<Vec<_>>());
    let commits = commits.load(Ordering::Relaxed);
    assert!((4..100).contains(&commits), "{commits}");
}

/// Runs concurrent transactions, which are committed, rolled back or cancelled at any point.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_confirmed_transaction_is_stored_and_none_that_was_rolled_back() {
    let test = Arc::new(Test::open().await);
    let tasks = (0..test.users.len()).map(|number| {
        let test = Arc::clone(&test);
        tokio::spawn(async move {
            let user = &test.users[number];
            let work = async {
                let mut tx = test.store.begin_for_request(number % 7 == 0).await.unwrap();
                tx.insert_user(user).await.unwrap();
                if number % 5 == 0 { None } else { Some(tx.commit().await.is_ok()) }
            };
            // Most end before; the others are cancelled while they wait, write or commit.
            let limit = if number % 3 == 0 { number as u64 * 300 } else { 60_000_000 };
            timeout(Duration::from_micros(limit), work).await
        })
    });
    let results = join_all(tasks).await;

    let committed = test.committed().await;
    for (number, result) in results.into_iter().enumerate() {
        match result.unwrap() {
            Ok(Some(is_confirmed)) => assert!(is_confirmed && committed.contains(&number)),
            Ok(None) => assert!(!committed.contains(&number), "{number} was rolled back"),
            // Cancelled, perhaps during the commit.
            Err(_) => {}
        }
    }
    test.begin().await.commit().await.unwrap();
}
