//! Time limit of requests: one limit for authentication, operation and commit.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};

use super::Engine;
use crate::model::{Bound, Error, Result, TimeUsed};
use crate::ports::timer::Timer;
use crate::store::Store;

/// Factor by which the time limit is multiplied for operations that can take several seconds
/// ([`Operation::IS_LONG`](super::Operation)).
const LONG_FACTOR: u32 = 8;

/// Additional time for the commit or the audit entries of an operation that is not long. An
/// operation that succeeds just before its time limit is therefore not undone.
const COMMIT_TIME: Duration = Duration::from_millis(500);

/// Interval between two checks that the store still responds, while a long operation waits to
/// start.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Time limit of a request. A long operation ([`Operation::IS_LONG`](super::Operation)) has eight
/// times the usual limit, and its commit has the usual limit in addition. A long operation that
/// waits to start fails as soon as the store no longer responds. The duration of each SQL statement
/// is limited by the store.
pub(crate) struct TimeLimit<'a> {
    /// Timer, and the time at which this part of the request (authentication or operation) started.
    /// `None` if the host application has no timer: then there is no limit.
    timer: Option<(&'a dyn Timer, Instant)>,
    /// Limit of a request whose operation is not long.
    limit: Duration,
    /// Time that earlier parts of the request, such as the authentication, have used.
    used: Duration,
    is_long: bool,
}

impl<'a> TimeLimit<'a> {
    /// Starts the time limit of an operation. The time that earlier parts of the request have used
    /// is deducted.
    pub(super) fn of_operation(engine: &'a Engine, used: &TimeUsed, is_long: bool) -> Self {
        Self { is_long, ..Self::new(engine, used.take()) }
    }

    fn new(engine: &'a Engine, used: Duration) -> Self {
        let timer = engine.ports.timer.as_deref().map(|timer| (timer, Instant::now()));
        Self { timer, limit: engine.options.time_limit, used, is_long: false }
    }

    /// Runs an operation, without its commit. At the limit, the operation is dropped and its
    /// transaction rolled back, so that nothing is changed.
    pub(super) async fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let factor = if self.is_long { LONG_FACTOR } else { 1 };
        let limit = (self.limit * factor).saturating_sub(self.used);
        let reached = || Err(Bound::OperationTime.reached("the operation reached its time limit"));
        timed(self.timer, limit, work).await.unwrap_or_else(reached)
    }

    /// Commits an operation that has run, or writes its audit entries. At the limit, it is unknown
    /// whether a write was committed.
    pub(super) async fn finish<T>(
        &self,
        is_write: bool,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let elapsed = self.timer.map_or(Duration::ZERO, |(_, began)| began.elapsed());
        let rest = self.limit.saturating_sub(self.used + elapsed);
        let limit = if self.is_long { self.limit } else { rest + COMMIT_TIME };
        let finished = timed(self.timer, limit, work).await;
        finished.unwrap_or_else(|| {
            let reached = Bound::OperationTime.reached("the commit reached its time limit");
            Err(if is_write { reached.unconfirmed() } else { reached })
        })
    }

    /// Waits for `turn`, a future that ends when the operation may start. For a long operation,
    /// fails as soon as the store no longer responds.
    pub(super) async fn wait<T>(
        &self,
        store: &dyn Store,
        turn: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some((timer, _)) = self.timer.filter(|_| self.is_long) else { return turn.await };
        let stalls = async {
            loop {
                timer.sleep(CHECK_INTERVAL).await;
                if store.is_stalled() {
                    return;
                }
            }
        };
        match select(pin!(turn), pin!(stalls)).await {
            Either::Left((turn, _)) => turn,
            Either::Right(_) => Err(Error::Unavailable("the store does not respond".into())),
        }
    }
}

/// Runs work until a time limit. Returns `None` at the limit. Without a timer, there is no limit.
async fn timed<T>(
    timer: Option<(&dyn Timer, Instant)>,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let Some((timer, _)) = timer else { return Some(work.await) };
    match select(pin!(work), timer.sleep(limit)).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

/// Runs a part of a request that precedes the operation, such as the authentication, and ends it at
/// the time limit of the request. The operation gets the time that is left.
pub(crate) fn run_before<'a, T: 'a>(
    engine: &'a Engine,
    used: &'a TimeUsed,
    work: impl Future<Output = Result<T>> + 'a,
) -> impl Future<Output = Result<T>> {
    // Boxed, because a function that awaits a future stores it twice.
    let work = Box::pin(work);
    async move {
        let limit = TimeLimit::new(engine, used.get());
        let result = limit.run(work).await;
        if let Some((_, began)) = limit.timer {
            used.add(began.elapsed());
        }
        result
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::future::pending;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use futures_executor::block_on;

    use super::*;
    use crate::Service;
    use crate::crypto::Key;
    use crate::engine::{Audit, Caller, Callers, Context, Operation, Write};
    use crate::model::{Error, Origin, Time};
    use crate::store::{MemoryStore, Reads, Store, StoreResult, Tx};
    use crate::testing::fixtures::user;

    /// Timer whose waits end immediately, and that records the requested durations.
    #[derive(Default)]
    struct Hurried(Mutex<Vec<Duration>>);

    #[async_trait]
    impl Timer for Hurried {
        async fn sleep(&self, duration: Duration) {
            self.0.lock().unwrap().push(duration);
        }
    }

    /// Operation that inserts a user and then never ends. `LONG` is the value of `IS_LONG`.
    struct Endless<const LONG: bool>;

    impl<const LONG: bool> Operation for Endless<LONG> {
        const NAME: &'static str = "test.endless";
        const CALLERS: Callers = Callers::Public;
        const AUDIT: Audit = Audit::Nothing;
        const IS_LONG: bool = LONG;
        type Access = Write;
        type Output = ();

        async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
            cx.tx().insert_user(&user("alice")).await?;
            pending().await
        }
    }

    /// Store that does not respond.
    struct Stalled;

    #[async_trait]
    impl Store for Stalled {
        async fn read(&self) -> StoreResult<Box<dyn Reads>> {
            pending().await
        }

        async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
            pending().await
        }

        async fn ping(&self) -> StoreResult<Option<Time>> {
            pending().await
        }

        fn is_stalled(&self) -> bool {
            true
        }
    }

    fn limit(timer: &Hurried, is_long: bool) -> TimeLimit<'_> {
        let (limit, used) = (Duration::from_secs(4), Duration::from_secs(1));
        TimeLimit { timer: Some((timer, Instant::now())), limit, used, is_long }
    }

    #[test]
    fn a_commit_has_the_rest_of_the_limit_and_half_a_second() {
        let timer = Hurried::default();

        let reached = [false, true]
            .map(|is_long| block_on(limit(&timer, is_long).finish(true, pending::<Result<()>>())));

        assert!(reached.iter().all(|reached| matches!(reached, Err(Error::Unconfirmed(_)))));
        let [short, long] = timer.0.lock().unwrap()[..] else { panic!("two waits") };
        // Some of the limit passes before the commit.
        let most = Duration::from_millis(3_500);
        assert!(short <= most && short > most / 2, "{short:?}");
        assert_eq!(long, Duration::from_secs(4));
    }

    #[test]
    fn only_a_long_operation_gives_up_its_turn_if_the_store_stalls() {
        let timer = Hurried::default();
        let turn = || async { Ok(()) };

        let stalled = block_on(limit(&timer, true).wait(&Stalled, pending::<Result<()>>()));
        let healthy = MemoryStore::new();
        let granted = block_on(limit(&timer, true).wait(&healthy, turn()));
        let short = block_on(limit(&timer, false).wait(&Stalled, turn()));

        assert!(matches!(stalled, Err(Error::Unavailable(_))), "{stalled:?}");
        assert!(granted.is_ok() && short.is_ok());
    }

    #[test]
    fn an_operation_that_reaches_its_limit_changes_nothing_and_holds_nothing() {
        let (store, timer) = (MemoryStore::new(), Arc::new(Hurried::default()));
        let service =
            Service::builder(Arc::new(store.clone()), &Key::generate()).timer(timer.clone());
        let service = block_on(service.build()).unwrap();
        let caller = Caller::anonymous(Origin::default());

        let first = block_on(service.perform(&caller, Endless::<false>));
        let second = block_on(service.perform(&caller, Endless::<true>));

        assert!(matches!(first, Err(Error::Unavailable(_))), "{first:?}");
        assert!(matches!(second, Err(Error::Unavailable(_))), "{second:?}");
        let limits = [Duration::from_secs(4), Duration::from_secs(32)];
        assert_eq!(*timer.0.lock().unwrap(), limits);
        let found = block_on(async {
            let mut tx = store.begin().await.unwrap();
            tx.user_by_subject(&user("alice").issuer, &user("alice").subject).await.unwrap()
        });
        assert_eq!(found, None);
    }
}
