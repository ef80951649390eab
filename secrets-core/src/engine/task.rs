//! Tasks: what a host is asked for, an operation or what takes several of them.

use std::future::Future;

use serde::Serialize;

use super::Engine;
use crate::engine::{Caller, Callers, Operation};
use crate::model::Result;

/// What a request asks for: an operation, or what takes several of them and waits in between.
pub trait Task: Send + Sized + 'static {
    /// Its name in logs and bindings: `noun.verb`.
    const NAME: &'static str;
    /// Who may ask, before anything else is looked at.
    const CALLERS: Callers;
    /// Whether it keeps the thread on which it runs busy for long: it derives keys from passphrases
    /// (a good part of a second and 64 MiB each) or searches texts. A host runs such a task where no
    /// other waits, and few at a time.
    const IS_LONG: bool = false;
    /// What it gives.
    type Output: Serialize + Send + 'static;

    /// Does it. A host spawns it, so that a client that hangs up does not stop it half-way.
    fn run(
        self,
        engine: &Engine,
        caller: &Caller,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

impl<O: Operation<Output: 'static> + 'static> Task for O {
    const NAME: &'static str = <O as Operation>::NAME;
    const CALLERS: Callers = <O as Operation>::CALLERS;
    type Output = <O as Operation>::Output;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<Self::Output> {
        engine.perform(caller, self).await
    }
}
