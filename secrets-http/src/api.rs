//! From an endpoint to an operation and back: the one passage that every route takes.

use std::sync::Arc;

use secrets_core::caller::{Caller, Origin};
use secrets_core::clock::Clock;
use secrets_core::error::Error;
use secrets_core::{Operation, Service};
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
}

impl Api {
    /// A route that performs an operation.
    ///
    /// `request` says what a request means: it gives a future of the operation, which is awaited
    /// only for a caller of the right kind. So a body is not read before that is known, and what
    /// is wrong with it is told after 401 and 403 of the kind of credential.
    pub fn route<O, F, W>(
        &self,
        method: Method,
        template: &'static str,
        shape: impl Render<O::Output>,
        request: F,
    ) -> Route
    where
        O: Operation + 'static,
        F: Filter<Extract = (W,), Error = Rejection> + Clone + Send + Sync + 'static,
        W: Future<Output = Result<O, Fault>> + Send + 'static,
    {
        Route {
            method,
            template,
            operation: O::NAME,
            callers: Some(O::CALLERS),
            doc: Doc::of(shape.answers()),
            filter: self.answer(shape, request, warp::ext::get::<Caller>()),
        }
    }

    /// A route for whoever likes, which performs an operation as nobody.
    pub fn public<O, F, W>(
        &self,
        method: Method,
        template: &'static str,
        shape: impl Render<O::Output>,
        request: F,
    ) -> Route
    where
        O: Operation + 'static,
        F: Filter<Extract = (W,), Error = Rejection> + Clone + Send + Sync + 'static,
        W: Future<Output = Result<O, Fault>> + Send + 'static,
    {
        let nobody = warp::ext::get::<Origin>().map(Caller::anonymous);
        let doc = Doc::of(shape.answers());
        let filter = self.answer(shape, request, nobody);
        Route { doc, ..Route::public(method, template, O::NAME, filter) }
    }

    fn answer<O, F, W>(
        &self,
        shape: impl Render<O::Output>,
        request: F,
        caller: impl Filter<Extract = (Caller,), Error = Rejection> + Clone + Send + Sync + 'static,
    ) -> BoxedFilter<(Response,)>
    where
        O: Operation + 'static,
        F: Filter<Extract = (W,), Error = Rejection> + Clone + Send + Sync + 'static,
        W: Future<Output = Result<O, Fault>> + Send + 'static,
    {
        let api = self.clone();
        request
            .and(caller)
            .then(move |operation: W, caller: Caller| {
                let (api, shape) = (api.clone(), shape.clone());
                async move {
                    match api.perform(operation, caller).await {
                        Ok(output) => shape.render(&output, api.envelope),
                        Err(fault) => fault.into_response(api.clock.now()),
                    }
                }
            })
            .boxed()
    }

    /// Performs what a request means, for this caller.
    pub async fn perform<O>(
        &self,
        operation: impl Future<Output = Result<O, Fault>> + Send,
        caller: Caller,
    ) -> Result<O::Output, Fault>
    where
        O: Operation + 'static,
    {
        O::CALLERS.admit(&caller)?;
        let operation = operation.await?;
        let service = Arc::clone(&self.service);
        // A task of its own: a client that hangs up does not stop it half-way.
        let done = tokio::spawn(async move { service.perform(&caller, operation).await });
        Ok(done.await.map_err(Error::internal)??)
    }
}
