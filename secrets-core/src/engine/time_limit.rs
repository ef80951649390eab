//! Time limit of operations.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};

use crate::model::{Bound, Result};
use crate::ports::timer::Timer;

/// Factor by which the time limit is multiplied for operations that can take long
/// ([`Operation::IS_LONG`](super::Operation)).
const LONG_FACTOR: u32 = 8;

/// Runs an operation, but not its commit, until the time limit. At the limit, the operation is
/// cancelled and its transaction rolled back, so that nothing is changed.
pub(super) async fn run<T>(
    timer: Option<&dyn Timer>,
    (limit, is_long): (Duration, bool),
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(timer) = timer else { return work.await };
    let limit = if is_long { limit * LONG_FACTOR } else { limit };
    match select(pin!(work), timer.sleep(limit)).await {
        Either::Left((output, _)) => output,
        Either::Right(_) => {
            Err(Bound::OperationTime.reached("the operation reached its time limit"))
        }
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
    use crate::model::{Error, Origin};
    use crate::store::{MemoryStore, Store};
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

    #[test]
    fn an_operation_that_reaches_its_limit_changes_nothing_and_holds_nothing() {
        let (store, timer) = (MemoryStore::new(), Arc::new(Hurried::default()));
        let service = Service::builder(Arc::new(store.clone()))
            .root_key(&Key::generate())
            .timer(timer.clone());
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
