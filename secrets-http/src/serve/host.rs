//! Request pipeline between the connection and the route. It determines the client address, parses
//! the path, applies rate limits, authenticates the caller and calls the route. Then it adds common
//! headers and logs the request.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt as _;
use hyper::body::Body;
use secrets_core::engine::{Caller, Who};
use secrets_core::limits::Window;
use secrets_core::model::{
    Bound, Cause, Clock, Code, Error, Origin, RequestId, Subject, error_chain,
};
use tower_service::Service as _;
use tracing::Instrument as _;
use warp::http::header::{self, HeaderName, USER_AGENT};
use warp::http::{self, HeaderValue, Method, Request, StatusCode};
use warp::reply::Response;

use crate::routes;
use crate::serve::client_address::{self, Networks};
use crate::serve::fault::{Fault, Logged};
use crate::serve::gate::Authenticator;
use crate::serve::links::{Links, RequestBase};
use crate::serve::memory::{Parts, Reservation};
use crate::serve::path::{self, BadPath};
use crate::serve::reply::Immutable;
use crate::serve::request::{Destination, Head};
use crate::serve::router::{Route, RouteMatch, Router};
use crate::serve::spans;
use crate::serve::target::Target;

/// Handler of all HTTP requests: performs all steps before and after the route.
pub struct Host {
    router: Router,
    gate: Authenticator,
    clock: Arc<dyn Clock>,
    proxies: Networks,
    links: Arc<Links>,
}

/// Information about a request for the log: the path template of its route, the client address and
/// the caller. The path itself is not logged, because it may contain keys of secrets.
struct Logging {
    template: &'static str,
    /// Redacted form of a path for which there is no route. It contains only words from the paths
    /// of routes.
    unknown_path: Option<String>,
    address: Option<IpAddr>,
    caller: Option<Caller>,
}

/// Health check endpoints for orchestrators. Requests to them are counted but never refused.
const HEALTH: [&str; 2] = ["/health", "/health/live"];

/// Path prefix of the endpoints for External Secrets Operator in Kubernetes. They accept no session
/// cookies.
const ESO: &str = "/api/v1/eso/";

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

const MALFORMED_FORWARDING: Error = Error::Refused {
    code: Code::InvalidRequest,
    reason: Cow::Borrowed("X-Forwarded-For must be a list of addresses"),
};

const MALFORMED_PATH: Error = Error::Refused {
    code: Code::InvalidRequest,
    reason: Cow::Borrowed("the path must consist of unambiguous segments, percent-encoded once"),
};

impl Host {
    /// Creates a handler for requests to the routes of this router.
    pub fn new(
        router: Router,
        gate: Authenticator,
        clock: Arc<dyn Clock>,
        proxies: Networks,
        links: Links,
    ) -> Self {
        Self { router, gate, clock, proxies, links: Arc::new(links) }
    }

    /// Returns the table of routes.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        self.router.routes()
    }

    /// Handles a request and returns its response. `peer` is the client or a trusted proxy.
    pub async fn answer<B>(
        &self,
        request: Request<B>,
        peer: IpAddr,
    ) -> http::Response<impl Body<Data = Bytes, Error: Into<Cause>> + Send + use<B>>
    where
        B: Body + Send + Sync + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let _in_flight = self.gate.metrics().begin();
        let (began, id) = (Instant::now(), RequestId::draw(self.clock.now()));
        let method = method_name(request.method());
        let mut logging = Logging { template: "", unknown_path: None, address: None, caller: None };
        let span = spans::begin(method, request.headers(), &id);
        let answered = {
            // Pinned, because each combinator would copy the future, which is large.
            let answer = pin!(self.route(request, peer, id, &mut logging));
            AssertUnwindSafe(answer.instrument(span.clone())).catch_unwind().await
        };
        let (mut response, window) = answered.unwrap_or_else(|_| {
            let fault = Fault::Operation(Error::internal("a request panicked"));
            (fault.into_response(self.clock.now()), None)
        });
        self.add_headers(&mut response, id, window);
        spans::end(&span, method, logging.template, response.status());
        self.gate.metrics().record(method, logging.template, response.status(), began.elapsed());
        log(method, &logging, &response, began, id);
        let memory = Reservation::take(response.extensions_mut());
        response.map(|body| Parts::new(body, memory))
    }

    async fn route<B>(
        &self,
        request: Request<B>,
        peer: IpAddr,
        id: RequestId,
        logging: &mut Logging,
    ) -> (Response, Option<Window>)
    where
        B: Body + Send + Sync + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Ok(address) = client_address::client(&self.proxies, peer, request.headers()) else {
            return (Fault::from(MALFORMED_FORWARDING).into_response(self.clock.now()), None);
        };
        logging.address = Some(address);
        let base = RequestBase::new(&self.links, self.proxies.contain(peer));
        let found = self.find(&request, logging);
        let origin = origin(&request, address, id);
        let found = match found {
            Ok(RouteMatch::Route(route, parameters)) if route.callers.is_none() => {
                logging.template = route.template;
                let target = Target::new(parameters, request.uri().query());
                return self
                    .answer_public(route, request, Destination { target, base }, origin)
                    .await;
            }
            found => found,
        };
        let team = origin.team_window.clone();
        let cookie_base = accepts_cookies(&found).then_some(&base);
        let admission = self.gate.admit(request.headers(), cookie_base, address, origin).await;
        let answer = match (admission.caller, found) {
            (Err(error @ Error::RateLimited { .. }), _) => Err(error.into()),
            (_, Err(BadPath::Malformed)) => Err(MALFORMED_PATH.into()),
            (_, Err(BadPath::TrailingSlash) | Ok(RouteMatch::Nothing)) => {
                Err(Error::NotFound(Subject::Resource).into())
            }
            (_, Ok(RouteMatch::Method(template, allowed))) => {
                logging.template = template;
                Err(Fault::Method(allowed))
            }
            (Err(error), Ok(RouteMatch::Route(route, _))) => {
                logging.template = route.template;
                Err(error.into())
            }
            (Ok(caller), Ok(RouteMatch::Route(route, parameters))) => {
                logging.template = route.template;
                logging.caller = Some(caller.clone());
                let target = Target::new(parameters, request.uri().query());
                Ok(call_route(route, request, Destination { target, base }, caller).await)
            }
        };
        let response = answer.unwrap_or_else(|fault| fault.into_response(self.clock.now()));
        (response, tighter(admission.window, team.get()))
    }

    /// Finds the route of a request. If there is none for its path, the redacted path is logged.
    fn find<B>(
        &self,
        request: &Request<B>,
        logging: &mut Logging,
    ) -> Result<RouteMatch<'_>, BadPath> {
        let segments = path::segments(request.uri().path())?;
        let found = self.router.find(request.method(), &segments);
        if let RouteMatch::Nothing = found {
            logging.unknown_path = Some(self.router.redacted(&segments));
        }
        Ok(found)
    }

    /// Handles a request to a public endpoint. The request is counted for its IP address, except
    /// for assets of the dashboard. Health checks are counted but never refused, because
    /// orchestrators restart a service whose health check fails.
    async fn answer_public<B>(
        &self,
        route: &Route,
        request: Request<B>,
        destination: Destination,
        origin: Origin,
    ) -> (Response, Option<Window>)
    where
        B: Body + Send + Sync + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let counted = origin.address.filter(|_| route.template != routes::ASSET);
        let window = match counted {
            Some(address) => self.gate.count(address).await,
            None => None,
        };
        if let Err(error) = Bound::Address.check(window)
            && !HEALTH.contains(&route.template)
        {
            self.gate.count_refusal(Bound::Address);
            return (Fault::from(error).into_response(self.clock.now()), window);
        }
        (call_route(route, request, destination, Caller::anonymous(origin)).await, window)
    }

    /// Adds the headers that all responses have.
    fn add_headers(&self, response: &mut Response, id: RequestId, window: Option<Window>) {
        const ALWAYS: [(HeaderName, HeaderValue); 5] = [
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (
                header::CONTENT_SECURITY_POLICY,
                HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
            ),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-site")),
        ];
        // Enough for all headers of most responses.
        const USUAL_HEADERS: usize = 12;
        // Headers that HTML pages and their files can set themselves.
        const OWN: [HeaderName; 2] =
            [header::CONTENT_SECURITY_POLICY, CROSS_ORIGIN_RESOURCE_POLICY];
        let is_immutable = response.extensions().get::<Immutable>().is_some();
        let headers = response.headers_mut();
        headers.reserve(USUAL_HEADERS);
        for (name, value) in ALWAYS {
            if !OWN.contains(&name) || !headers.contains_key(&name) {
                headers.insert(name, value);
            }
        }
        if is_immutable {
            let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
            headers.insert(header::CACHE_CONTROL, forever);
        }
        if self.links.is_tls {
            let value = HeaderValue::from_static("max-age=63072000; includeSubDomains");
            headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
        }
        if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(window) = window {
            headers.insert(RATE_LIMIT, window.limit.into());
            headers.insert(RATE_LIMIT_REMAINING, window.remaining.into());
            headers.insert(RATE_LIMIT_RESET, window.resets_at.timestamp().into());
        }
    }
}

async fn call_route<B>(
    route: &Route,
    request: Request<B>,
    destination: Destination,
    caller: Caller,
) -> Response
where
    B: Body + Send + Sync + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut parts, body) = request.into_parts();
    let head = Head::take(&mut parts, destination, caller);
    parts.extensions.insert(Arc::new(head));
    let request = Request::from_parts(parts, body);
    let answered: Result<Response, Infallible> =
        warp::service(route.filter.clone()).call(request).await;
    answered.unwrap_or_else(|never| match never {})
}

/// True if the route accepts session cookies.
fn accepts_cookies(found: &Result<RouteMatch<'_>, BadPath>) -> bool {
    !matches!(found, Ok(RouteMatch::Route(route, _)) if route.template.starts_with(ESO))
}

/// Returns the rate-limit window with fewer remaining requests: that of the principal or that of
/// the team.
fn tighter(principal: Option<Window>, team: Option<Window>) -> Option<Window> {
    let key = |window: &Window| (window.admitted, window.remaining);
    principal.into_iter().chain(team).min_by_key(key)
}

/// Maximum length of the `User-Agent` header in the audit log, in characters.
const MAX_AGENT: usize = 128;

fn origin<B>(request: &Request<B>, address: IpAddr, id: RequestId) -> Origin {
    // ASCII, so that each character is a byte.
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    Origin {
        address: Some(address),
        agent: agent.map(|agent| agent.get(..MAX_AGENT).unwrap_or(agent).into()),
        request: Some(id.uuid()),
        ..Origin::default()
    }
}

/// Returns the name of an HTTP method for logs and metrics. Clients can send any word as the
/// method: unknown words become `other`.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Writes the log line of a request. The line contains no names, values or credentials. It contains
/// the client address only for unauthenticated requests, so that operators find clients that send
/// wrong credentials.
fn log(method: &str, logging: &Logging, response: &Response, began: Instant, id: RequestId) {
    let caller = logging.caller.as_ref();
    let kind = caller.map_or("none", |caller| match caller.who {
        Who::Person(_) => "user",
        Who::Token(_) => "service_token",
        Who::Unsynced(_) => "unsynced",
        Who::Anonymous | Who::System => "none",
    });
    let actor = caller.and_then(Caller::actor).map(tracing::field::display);
    let (status, micros) = (response.status(), began.elapsed().as_micros());
    let path = logging.unknown_path.as_deref();
    let address = logging.address.filter(|_| status == StatusCode::UNAUTHORIZED);
    let address = address.map(tracing::field::display);
    if status == StatusCode::INTERNAL_SERVER_ERROR || status == StatusCode::SERVICE_UNAVAILABLE {
        let cause = response.extensions().get::<Logged>().map(|logged| error_chain(&logged.0));
        tracing::error!(request = %id, route = logging.template, status = status.as_u16(), cause, "failed");
    }
    tracing::info!(
        request = %id, method, route = logging.template, path, status = status.as_u16(), micros, caller = kind, actor,
        address,
        "answered"
    );
}
