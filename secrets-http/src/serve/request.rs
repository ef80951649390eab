//! Request of a route: parameters, headers, caller, and the body, which has not been read.

use std::ops::Deref;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use secrets_core::engine::Caller;
use secrets_core::model::{BaseUrl, Error};
use warp::Filter as _;
use warp::filters::BoxedFilter;
use warp::http::request::Parts;
use warp::http::{HeaderMap, Method};
use warp::reply::Response;

use crate::serve::body::Body;
use crate::serve::links::RequestBase;
use crate::serve::memory::BodyMemory;
use crate::serve::target::Target;

/// Request of a route. Its body is read later, if the caller may perform the operation.
pub struct Request {
    head: Arc<Head>,
    /// Frames of the body.
    pub(super) frames: BoxStream<'static, Result<Bytes, warp::Error>>,
    /// Memory that is counted for the body.
    pub(super) memory: BodyMemory,
}

/// Request without its body.
pub struct Head {
    /// Path parameters and query parameters.
    pub target: Target,
    /// HTTP method.
    pub method: Method,
    /// Headers.
    pub headers: HeaderMap,
    /// Authenticated caller; on a public route, the anonymous caller.
    pub caller: Caller,
    base: RequestBase,
}

/// Path and query parameters of a request, and the base URL of the links in its response.
pub(crate) struct Destination {
    pub(crate) target: Target,
    pub(crate) base: RequestBase,
}

type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;

/// Returns the warp filter of a route, which responds to each request with the result of `handler`.
///
/// The filters of all routes have the same type, because each further type of composed filters
/// takes about 0.8 seconds to compile (`docs/decisions/0071`).
pub(crate) fn route_filter<R>(
    handler: impl Fn(Request) -> R + Send + Sync + 'static,
) -> BoxedFilter<(Response,)>
where
    R: Future<Output = Response> + Send + 'static,
{
    filter(Arc::new(move |request| Box::pin(handler(request))))
}

fn filter(handler: Handler) -> BoxedFilter<(Response,)> {
    warp::ext::get::<Arc<Head>>()
        .and(warp::body::stream())
        .then(move |head, stream| handler(Request::new(head, stream)))
        .boxed()
}

impl Head {
    /// Takes the parts of an HTTP request that its route uses.
    pub(crate) fn take(
        parts: &mut Parts,
        Destination { target, base }: Destination,
        caller: Caller,
    ) -> Self {
        Self {
            target,
            method: parts.method.clone(),
            headers: std::mem::take(&mut parts.headers),
            caller,
            base,
        }
    }

    /// Returns the base URL of links; `None` if no base URL is configured and the request has no
    /// usable `Host` header.
    pub fn base(&self) -> Option<&BaseUrl> {
        self.base.get(&self.headers)
    }

    /// Returns the base URL of links. Fails with 400 if no base URL is configured and the request
    /// has no usable `Host` header.
    pub fn base_url(&self) -> Result<BaseUrl, Error> {
        self.base().cloned().ok_or_else(|| Error::invalid("Host", "must name this server"))
    }
}

impl Request {
    fn new(
        head: Arc<Head>,
        stream: impl Stream<Item = Result<impl Buf, warp::Error>> + Send + 'static,
    ) -> Self {
        let frames = stream.map_ok(|mut frame| frame.copy_to_bytes(frame.remaining())).boxed();
        Self { head, frames, memory: BodyMemory::default() }
    }

    /// Returns the body, with a size limit in bytes.
    pub fn body(self, limit: usize) -> Body {
        Body::new(self, limit)
    }

    /// Returns the request without its body.
    pub fn head(&self) -> Arc<Head> {
        Arc::clone(&self.head)
    }
}

impl Deref for Request {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}
