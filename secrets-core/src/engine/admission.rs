//! Admission control: a limit on the number of operations that each account has in progress.
//!
//! An account is a user together with the service tokens that the user created, so that creating
//! tokens or teams does not raise the limit. If an account is at its limit, its further operations
//! wait; the operations of other accounts do not wait for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_lock::{Semaphore, SemaphoreGuardArc};

use super::Caller;
use crate::model::lock::lock;
use crate::model::{Bound, Result, UserId};

/// Maximum number of operations of an account that run at the same time.
const MAX_RUNNING: usize = 32;
/// Maximum number of write operations of an account that run at the same time.
const MAX_WRITING: usize = 4;

/// Maximum number of operations of an account that run or wait at the same time.
const MAX_PRESENT: usize = 4_096;

/// Operations in progress of each account.
#[derive(Default)]
pub(super) struct Admission(Mutex<HashMap<UserId, Account>>);

struct Account {
    /// Number of operations of the account that run or wait.
    present: usize,
    running: Arc<Semaphore>,
    writing: Arc<Semaphore>,
}

/// Permission for one operation to run, held until the operation has ended.
#[derive(Default)]
pub(super) struct Admitted<'a> {
    // Fields are dropped, and so released, in this order.
    _permits: [Option<SemaphoreGuardArc>; 2],
    _present: Option<Present<'a>>,
}

/// Registration of an operation that runs or waits. The operation is counted until this value is
/// dropped.
struct Present<'a> {
    admission: &'a Admission,
    account: UserId,
}

impl Admission {
    /// Waits until the caller's account may run another operation. Fails if 4,096 operations of the
    /// account run or wait. Callers without an account do not wait.
    pub(super) async fn admit(&self, caller: &Caller, is_write: bool) -> Result<Admitted<'_>> {
        let Some(account) = caller.account() else { return Ok(Admitted::default()) };
        let (present, running, writing) = self.enter(account)?;
        // Acquire the scarcer write permit first, so that an operation that waits for it does not
        // hold a permit to run meanwhile.
        let write = if is_write { Some(writing.acquire_arc().await) } else { None };
        let permits = [write, Some(running.acquire_arc().await)];
        Ok(Admitted { _permits: permits, _present: Some(present) })
    }

    fn enter(&self, account: UserId) -> Result<(Present<'_>, Arc<Semaphore>, Arc<Semaphore>)> {
        let mut accounts = lock(&self.0);
        let entry = accounts.entry(account).or_default();
        if entry.present >= MAX_PRESENT {
            let reason = "too many operations of an account are waiting";
            return Err(Bound::AccountOperations.reached(reason));
        }
        entry.present += 1;
        let present = Present { admission: self, account };
        Ok((present, Arc::clone(&entry.running), Arc::clone(&entry.writing)))
    }
}

impl Default for Account {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { present: 0, running: semaphore(MAX_RUNNING), writing: semaphore(MAX_WRITING) }
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        let mut accounts = lock(&self.admission.0);
        if let Some(account) = accounts.get_mut(&self.account) {
            account.present -= 1;
            if account.present == 0 {
                accounts.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::engine::{Person, Who};
    use crate::model::{Error, Identity, Origin};
    use crate::testing::fixtures::user;

    fn caller(subject: &str) -> Caller {
        let user = user(subject);
        let identity = Identity::new(&user.issuer, &user.subject, &user.email);
        let person = Person { user, identity, session: None };
        Caller::new(Who::Person(Arc::new(person)), Origin::default())
    }

    /// Admits operations of the caller until the next operation would have to wait.
    fn fill<'a>(admission: &'a Admission, caller: &Caller, is_write: bool) -> Vec<Admitted<'a>> {
        let next = || admission.admit(caller, is_write).now_or_never().map(Result::unwrap);
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn an_account_has_four_writes_and_thirty_two_operations() {
        let (admission, alice) = (Admission::default(), caller("alice"));

        let writes = fill(&admission, &alice, true);
        let reads = fill(&admission, &alice, false);

        assert_eq!((writes.len(), reads.len()), (4, 28));
        drop(writes);
        assert_eq!(fill(&admission, &alice, true).len(), 4);
    }

    #[test]
    fn an_account_does_not_wait_for_another() {
        let (admission, alice, bob) = (Admission::default(), caller("alice"), caller("bob"));
        let _hers = fill(&admission, &alice, false);

        assert_eq!(fill(&admission, &bob, false).len(), 32);
    }

    #[test]
    fn a_write_that_waits_keeps_no_read_from_running() {
        let (admission, alice) = (Admission::default(), caller("alice"));
        let _writes = fill(&admission, &alice, true);
        let mut waiting: Vec<_> =
            (0..100).map(|_| Box::pin(admission.admit(&alice, true))).collect();
        for write in &mut waiting {
            assert!(write.now_or_never().is_none());
        }

        assert_eq!(fill(&admission, &alice, false).len(), 28);
    }

    #[test]
    fn waiting_is_bounded_and_an_idle_account_takes_no_memory() {
        let (admission, alice) = (Admission::default(), caller("alice"));
        let mut waiting: Vec<_> =
            (0..MAX_PRESENT).map(|_| Box::pin(admission.admit(&alice, true))).collect();
        let admitted: Vec<_> = waiting.iter_mut().filter_map(FutureExt::now_or_never).collect();

        let refused = admission.admit(&alice, false).now_or_never().unwrap();

        assert!(matches!(refused, Err(Error::Unavailable(_))));
        drop((waiting, admitted));
        assert!(lock(&admission.0).is_empty());
    }
}
