//! Observation of the calls to the database through one connection pool: whether the database
//! responds to them.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::model::lock::lock;

/// Time without a response after which a pool counts as stalled. Longer than the maximum wait for a
/// lock on PostgreSQL, which ends with a response.
const STALLED_AFTER: Duration = Duration::from_secs(3);

/// Calls through one connection pool (waits for a connection, and SQL statements), recorded to
/// detect that the database does not respond.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Number of calls in progress.
    waiting: u32,
    /// Time of the last response if other calls were in progress then; otherwise the start of the
    /// first call after that response. `None` if no call is in progress, unless there was no
    /// response for 3 seconds.
    since: Option<Instant>,
}

/// Call in progress. If it is dropped before [`answered`](Self::answered), it had no response.
pub(super) struct Call<'a>(&'a Answers);

impl Answers {
    /// Starts a call.
    pub(super) fn begin(&self) -> Call<'_> {
        let mut state = self.state();
        state.waiting += 1;
        state.since.get_or_insert_with(Instant::now);
        Call(self)
    }

    /// True if the database has not responded to any call for more than 3 seconds, although calls
    /// were made.
    pub(super) fn is_stalled(&self) -> bool {
        self.state().since.is_some_and(|since| since.elapsed() > STALLED_AFTER)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl Call<'_> {
    /// Ends the call, because the database has responded with a result or an error.
    pub(super) fn answered(self) {
        let mut state = self.0.state();
        // `waiting` still includes this call.
        state.since = (state.waiting > 1).then(Instant::now);
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting -= 1;
        // A call that was dropped early does not count: its caller did not wait for a response.
        let is_young = |since: &Instant| since.elapsed() < STALLED_AFTER;
        if state.waiting == 0 && state.since.as_ref().is_some_and(is_young) {
            state.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(answers: &Answers) {
        let mut state = answers.state();
        state.since = state.since.and_then(|since| since.checked_sub(2 * STALLED_AFTER));
    }

    #[test]
    fn calls_without_an_answer_stall_a_pool_until_the_next_answer() {
        let answers = Answers::default();
        let (first, second) = (answers.begin(), answers.begin());
        age(&answers);
        assert!(answers.is_stalled());

        drop(first);
        assert!(answers.is_stalled());
        drop(second);
        assert!(answers.is_stalled());

        answers.begin().answered();
        assert!(!answers.is_stalled());
    }

    #[test]
    fn a_pool_without_calls_does_not_stall() {
        let answers = Answers::default();
        answers.begin().answered();
        age(&answers);

        assert!(!answers.is_stalled());
    }

    #[test]
    fn a_call_that_takes_long_beside_others_does_not_stall_a_pool() {
        let answers = Answers::default();
        let _long = answers.begin();
        age(&answers);

        answers.begin().answered();

        assert!(!answers.is_stalled());
    }
}
