//! Memory for the bodies of requests, reserved while they arrive.

use std::sync::{Arc, Mutex};

use secrets_core::model::lock::lock;
use secrets_core::model::{Error, UserId};

use super::{MemoryBudget, PART, Reservation};

/// Memory for the body of a request. The size that the client announces is counted for its account
/// only. The whole budget is charged in steps of [`PART`] bytes as the body arrives, so that a
/// client that announces much and sends little does not keep others waiting. The memory is released
/// when the last clone is dropped.
#[derive(Clone, Default)]
pub struct BodyMemory(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    /// The body is not counted, because the caller has no account or the body is small.
    #[default]
    Uncounted,
    /// The body has not been announced.
    Expected(Arc<MemoryBudget>, UserId),
    /// A reservation is changing. Its memory is released if the request is canceled meanwhile.
    Waiting,
    Reserved(Reservation),
}

impl BodyMemory {
    /// Counts the body for this account from now on.
    pub fn count_for(&self, budget: &Arc<MemoryBudget>, account: UserId) {
        *lock(&self.0) = State::Expected(Arc::clone(budget), account);
    }

    /// Announces a body of at most `size` bytes. Waits until the account may receive it; fails
    /// after three seconds.
    pub async fn announce(&self, size: u64) -> Result<(), Error> {
        if size <= PART as u64 {
            return Ok(());
        }
        let state = self.take();
        let state = match state {
            State::Expected(budget, account) => {
                State::Reserved(budget.announce(account, size).await?)
            }
            state => state,
        };
        *lock(&self.0) = state;
        Ok(())
    }

    /// Reserves the memory for a body of which `size` bytes have arrived. Waits until it is free;
    /// fails after three seconds.
    pub async fn receive(&self, size: usize) -> Result<(), Error> {
        let mut state = self.take();
        if let State::Reserved(reserved) = &mut state {
            reserved.receive_up_to(size.next_multiple_of(PART) as u64).await?;
        }
        *lock(&self.0) = state;
        Ok(())
    }

    fn take(&self) -> State {
        std::mem::replace(&mut *lock(&self.0), State::Waiting)
    }
}
