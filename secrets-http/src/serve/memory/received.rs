//! Memory for the bodies of requests, reserved while they arrive.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use secrets_core::model::lock::lock;
use secrets_core::model::{Error, UserId};

use super::{MemoryBudget, PART, Reservation};

/// Memory for the body of a request. The size that the client announces is counted for its account
/// only. The whole budget is charged in steps of [`PART`] bytes as the body arrives, so that a
/// client that announces much and sends little does not keep others waiting. The memory is released
/// when the last clone is dropped.
#[derive(Clone, Default)]
pub struct BodyMemory(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    state: State,
    /// Total time of all waits for free memory.
    waited: Duration,
}

#[derive(Default)]
enum State {
    /// The body is not counted, because the caller has no account or is not authenticated yet.
    #[default]
    Uncounted,
    /// The body will be counted for this account when it is announced. A small body, of at most
    /// [`PART`] bytes, is never announced.
    Expected(Arc<MemoryBudget>, UserId),
    /// A reservation is changing. Its memory is released if the request is canceled meanwhile.
    Waiting,
    Reserved(Reservation),
}

impl BodyMemory {
    /// Counts the body for this account from now on.
    pub fn count_for(&self, budget: &Arc<MemoryBudget>, account: UserId) {
        lock(&self.0).state = State::Expected(Arc::clone(budget), account);
    }

    /// Returns the total time that the body has waited for free memory.
    #[must_use]
    pub fn waited(&self) -> Duration {
        lock(&self.0).waited
    }

    /// Announces a body of at most `size` bytes. Waits until the account may receive it; fails
    /// after three seconds.
    pub async fn announce(&self, size: u64) -> Result<(), Error> {
        if size <= PART as u64 {
            return Ok(());
        }
        self.change(async |state, _| match state {
            State::Expected(budget, account) => {
                Ok(State::Reserved(budget.announce(account, size).await?))
            }
            state => Ok(state),
        })
        .await
    }

    /// Reserves the memory for a body of which `size` bytes have arrived. Waits until it is free;
    /// fails after three seconds, counting all waits of the body.
    pub async fn receive(&self, size: usize) -> Result<(), Error> {
        self.change(async |mut state, waited| {
            if let State::Reserved(reserved) = &mut state {
                reserved.receive_up_to(size.next_multiple_of(PART) as u64, waited).await?;
            }
            Ok(state)
        })
        .await
    }

    /// Replaces the state with the result of `change`, and adds the duration of `change` to the
    /// total waiting time. `change` receives the old state and the total waiting time so far.
    async fn change(
        &self,
        change: impl AsyncFnOnce(State, Duration) -> Result<State, Error>,
    ) -> Result<(), Error> {
        let (state, waited) = {
            let mut inner = lock(&self.0);
            (std::mem::replace(&mut inner.state, State::Waiting), inner.waited)
        };
        let began = Instant::now();
        let changed = change(state, waited).await;
        let mut inner = lock(&self.0);
        inner.waited = waited + began.elapsed();
        inner.state = changed?;
        Ok(())
    }
}
