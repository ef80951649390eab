//! Construction of routes. A route turns a request into an operation, and the operation's output
//! into a response.

use std::sync::Arc;
use std::time::Instant;

use secrets_core::Service;
use secrets_core::engine::{Caller, Task};
use secrets_core::model::Clock;
use secrets_core::runtime::WatchRegistry;
use warp::filters::BoxedFilter;
use warp::http::Method;
use warp::reply::Response;

use crate::openapi::Doc;
use crate::serve::accept::Stopping;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::fault::Fault;
use crate::serve::memory::{BodyMemory, MemoryBudget, Reservation};
use crate::serve::reply::{Envelope, Render};
use crate::serve::request::{Request, route_filter};
use crate::serve::router::Route;
use crate::serve::run_to_end::RunToEnd;

/// Factory for routes, and the objects that routes use.
#[derive(Clone)]
pub struct Api {
    /// Service that performs the operations.
    pub service: Arc<Service>,
    /// Clock that gives the current time.
    pub clock: Arc<dyn Clock>,
    /// Envelope setting: whether responses repeat their content in an additional field `data`.
    pub envelope: Envelope,
    /// True if the dashboard is served.
    pub has_dashboard: bool,
    /// Budget of memory for large request and response bodies.
    pub memory: Arc<MemoryBudget>,
    /// Environments and projects that clients watch, and the limit on open event streams.
    pub watches: Arc<WatchRegistry>,
    /// Configured sign-in method for browsers.
    pub sign_in: Arc<BrowserSignIn>,
    /// Flag that is set when the service begins to stop.
    pub stopping: Stopping,
}

impl Api {
    /// Creates a route that performs a task (an operation of `secrets-core`).
    ///
    /// `parse` turns a request into a future that yields the task. The future is awaited only if
    /// the kind of credential is permitted. So the responses 401 (no valid credential) and 403
    /// (wrong kind of credential) take precedence over the response to an invalid body.
    pub fn route<T, W>(
        &self,
        method: Method,
        template: &'static str,
        shape: impl Render<T::Output>,
        parse: impl Fn(Request) -> W + Send + Sync + 'static,
    ) -> Route
    where
        T: Task,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        Route {
            method,
            template,
            operation: T::NAME,
            callers: Some(T::CALLERS),
            has_large_output: T::HAS_LARGE_OUTPUT,
            doc: Doc::of(shape.answers()),
            is_path_shared: false,
            filter: self.answer(shape, parse),
        }
    }

    /// Creates a public route, which performs a task as an anonymous caller. No credential is
    /// required.
    pub fn public<T, W>(
        &self,
        method: Method,
        template: &'static str,
        shape: impl Render<T::Output>,
        parse: impl Fn(Request) -> W + Send + Sync + 'static,
    ) -> Route
    where
        T: Task,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let doc = Doc::of(shape.answers());
        let filter = self.answer(shape, parse);
        Route { doc, ..Route::public(method, template, T::NAME, filter) }
    }

    fn answer<T, W>(
        &self,
        shape: impl Render<T::Output>,
        parse: impl Fn(Request) -> W + Send + Sync + 'static,
    ) -> BoxedFilter<(Response,)>
    where
        T: Task,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let api = self.clone();
        route_filter(move |request| {
            let (api, shape) = (api.clone(), shape.clone());
            let (caller, memory) = (request.caller.clone(), request.memory.clone());
            let task = parse(request);
            async move {
                match api.perform_in_memory(task, caller, memory).await {
                    Ok((output, prepared)) => {
                        let mut response = shape.render(&output, api.envelope);
                        if let Some(prepared) = prepared {
                            prepared.put(response.extensions_mut());
                        }
                        response
                    }
                    Err(fault) => fault.into_response(api.clock.now()),
                }
            }
        })
    }

    /// Performs the task of a request as this caller. The future yields the task, for example after
    /// reading the body.
    pub async fn perform<T: Task>(
        &self,
        task: impl Future<Output = Result<T, Fault>> + Send,
        caller: Caller,
    ) -> Result<T::Output, Fault> {
        let (output, _) = self.perform_in_memory(task, caller, BodyMemory::default()).await?;
        Ok(output)
    }

    /// Performs the task of a request as this caller. `memory` is the memory for the request body
    /// that the future reads. Returns the output and, if the output can be large, the memory that
    /// is reserved for it.
    async fn perform_in_memory<T: Task>(
        &self,
        task: impl Future<Output = Result<T, Fault>> + Send,
        caller: Caller,
        memory: BodyMemory,
    ) -> Result<(T::Output, Option<Reservation>), Fault> {
        self.service.admit::<T>(&caller).await?;
        let account = caller.account();
        // Acquired before the body is read: of the waiting requests of an account, only one then
        // holds its body in memory. The permit for CPU-bound work is acquired later, because the
        // process has only a few: two slow clients could hold all of them while they send their
        // bodies (up to 30 seconds). A slow client that holds this turn delays only requests of its
        // own account.
        let turn = match account {
            Some(account) if T::IS_EXCLUSIVE => {
                let turn = self.memory.turn(account).await;
                Some(turn.map_err(|error| self.counted(error.into()))?)
            }
            _ => None,
        };
        if let Some(account) = account {
            memory.count_for(&self.memory, account);
        }
        let task = task.await.map_err(|fault| self.counted(fault))?;
        caller.origin.time_used.add(memory.waited());
        // Reserve the memory after the body was read, so that a slow client does not occupy one of
        // the few permits.
        let prepared = match account {
            Some(account) if T::HAS_LARGE_OUTPUT => {
                let began = Instant::now();
                let prepared = self.memory.prepare(account).await;
                caller.origin.time_used.add(began.elapsed());
                Some(prepared.map_err(|error| self.counted(error.into()))?)
            }
            _ => None,
        };
        let service = Arc::clone(&self.service);
        let work = async move {
            let output = service.run(&caller, task).await;
            drop((memory, turn));
            (output, prepared)
        };
        let (output, prepared) = RunToEnd::new(work).await;
        Ok((output?, prepared))
    }

    /// Counts a fault in the metrics of refused requests, if a limit caused it. Used for faults
    /// that occur before the operation is performed.
    fn counted(&self, fault: Fault) -> Fault {
        if let Some(bound) = fault.bound() {
            self.service.engine().refusals().count(bound);
        }
        fault
    }
}
