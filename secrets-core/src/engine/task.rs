//! Tasks: requests that consist of one operation, or of several.

use std::future::Future;

use serde::Serialize;

use super::Engine;
use crate::engine::{Caller, Callers, Operation};
use crate::model::Result;

/// A request that the host application runs: one [`Operation`], or several operations with waits
/// between them. Every operation is also a task.
pub trait Task: Send + Sized + 'static {
    /// Name of the task in logs and bindings: `noun.verb`.
    const NAME: &'static str;
    /// Kinds of callers that may run the task. Checked before anything else.
    const CALLERS: Callers;
    /// True if the output can be large ([`Operation::HAS_LARGE_OUTPUT`]).
    const HAS_LARGE_OUTPUT: bool = false;
    /// True if the task can take several seconds ([`Operation::IS_LONG`]). True for tasks of
    /// several operations.
    const IS_LONG: bool = true;
    /// True if an account runs one such task at a time, because the task is CPU-bound and its input
    /// can be large. A host application should read the input only when the account's previous task
    /// has ended, so that tasks that wait hold no input.
    const IS_EXCLUSIVE: bool = false;
    /// Result of a successful run.
    type Output: Serialize + Send + 'static;

    /// Runs the task. The caller must run the future to its end, so that a client that disconnects
    /// does not stop the task halfway.
    fn run(
        self,
        engine: &Engine,
        caller: &Caller,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

impl<O: Operation<Output: 'static> + 'static> Task for O {
    const NAME: &'static str = <O as Operation>::NAME;
    const CALLERS: Callers = <O as Operation>::CALLERS;
    const HAS_LARGE_OUTPUT: bool = <O as Operation>::HAS_LARGE_OUTPUT;
    const IS_LONG: bool = <O as Operation>::IS_LONG;
    type Output = <O as Operation>::Output;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<Self::Output> {
        engine.perform(caller, self).await
    }
}
