//! From an endpoint to an operation and back: the one passage that every route takes.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread::available_parallelism;

use secrets_core::engine::{Caller, Task};
use secrets_core::model::{Clock, Error, Origin};
use secrets_core::service::Service;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use warp::filters::BoxedFilter;
use warp::http::Method;
use warp::reply::Response;
use warp::{Filter, Rejection};

use crate::fault::Fault;
use crate::openapi::Doc;
use crate::reply::{Envelope, Render};
use crate::router::Route;

/// Makes routes.
#[derive(Clone)]
pub struct Api {
    /// The service behind them.
    pub service: Arc<Service>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Under which names clients find what answers hold.
    pub envelope: Envelope,
    /// For tasks that are long.
    seats: Arc<Semaphore>,
}

/// How many tasks that are long run at once: as many as half the processors, within these bounds.
/// One that derives a key takes 64 MiB.
const SEATS: RangeInclusive<usize> = 2..=8;

impl Api {
    /// What makes routes to a service.
    #[must_use]
    pub fn new(service: Arc<Service>, clock: Arc<dyn Clock>, envelope: Envelope) -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        let seats = (processors / 2).clamp(*SEATS.start(), *SEATS.end());
        Self { service, clock, envelope, seats: Arc::new(Semaphore::new(seats)) }
    }

    /// A route that does a task.
    ///
    /// `request` says what a request means: it gives a future of the task, which is awaited
    /// only for a caller of the right kind. So a body is not read before that is known, and what
    /// is wrong with it is told after 401 and 403 of the kind of credential.
    pub fn route<T, F, W>(
        &self,
        method: Method,
        template: &'static str,
        shape: impl Render<T::Output>,
        request: F,
    ) -> Route
    where
        T: Task,
        F: Filter<Extract = (W,), Error = Rejection> + Clone + Send + Sync + 'static,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        Route {
            method,
            template,
            operation: T::NAME,
            callers: Some(T::CALLERS),
            doc: Doc::of(shape.answers()),
            is_beside_others: false,
            filter: self.answer(shape, request, warp::ext::get::<Caller>()),
        }
    }

    /// A route for whoever likes, which does a task as nobody.
    pub fn public<T, F, W>(
        &self,
        method: Method,
        template: &'static str,
        shape: impl Render<T::Output>,
        request: F,
    ) -> Route
    where
        T: Task,
        F: Filter<Extract = (W,), Error = Rejection> + Clone + Send + Sync + 'static,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let nobody = warp::ext::get::<Origin>().map(Caller::anonymous);
        let doc = Doc::of(shape.answers());
        let filter = self.answer(shape, request, nobody);
        Route { doc, ..Route::public(method, template, T::NAME, filter) }
    }

    fn answer<T, F, W>(
        &self,
        shape: impl Render<T::Output>,
        request: F,
        caller: impl Filter<Extract = (Caller,), Error = Rejection> + Clone + Send + Sync + 'static,
    ) -> BoxedFilter<(Response,)>
    where
        T: Task,
        F: Filter<Extract = (W,), Error = Rejection> + Clone + Send + Sync + 'static,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let api = self.clone();
        request
            .and(caller)
            .then(move |task: W, caller: Caller| {
                let (api, shape) = (api.clone(), shape.clone());
                async move {
                    match api.perform(task, caller).await {
                        Ok(output) => shape.render(&output, api.envelope),
                        Err(fault) => fault.into_response(api.clock.now()),
                    }
                }
            })
            .boxed()
    }

    /// Does what a request means, for this caller.
    pub async fn perform<T: Task>(
        &self,
        task: impl Future<Output = Result<T, Fault>> + Send,
        caller: Caller,
    ) -> Result<T::Output, Fault> {
        T::CALLERS.admit(&caller)?;
        let task = task.await?;
        let service = Arc::clone(&self.service);
        let run = async move { task.run(&service, &caller).await };
        // Spawned: a client that hangs up does not stop it half-way.
        let done = if T::IS_LONG {
            let seat = Arc::clone(&self.seats).acquire_owned().await.map_err(Error::internal)?;
            let runtime = Handle::current();
            spawn_blocking(move || {
                // It goes with the work: whoever hangs up does not make room for more of it.
                let _seat = seat;
                runtime.block_on(run)
            })
        } else {
            tokio::spawn(run)
        };
        Ok(done.await.map_err(Error::internal)??)
    }
}
