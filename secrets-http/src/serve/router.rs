//! Table of routes (method, path template, warp filter), and the search for the route of a request.
//! The table also determines the responses 404 and 405 with `Allow`, the template in the log, and
//! the OpenAPI document.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use matchit::Router as Templates;
use secrets_core::engine::Callers;
use warp::filters::BoxedFilter;
use warp::http::Method;
use warp::reply::Response;

use crate::openapi::Doc;
use crate::similar::closest;

/// Route of one endpoint: one method of one path template.
pub struct Route {
    /// HTTP method.
    pub method: Method,
    /// Path template, with parameters in braces.
    pub template: &'static str,
    /// Name of the operation that the route performs.
    pub operation: &'static str,
    /// Kinds of callers that may use the route; `None` for a public endpoint.
    pub callers: Option<Callers>,
    /// True if the response can be many megabytes in size.
    pub has_large_output: bool,
    /// Documentation of the route for the OpenAPI document.
    pub(crate) doc: Doc,
    /// True if requests to this path with another method are handled by the fallback route, whose
    /// last segment is a parameter.
    pub(crate) is_path_shared: bool,
    pub(crate) filter: BoxedFilter<(Response,)>,
}

impl Route {
    /// Creates the route of a public endpoint, which ignores credentials.
    pub(crate) fn public(
        method: Method,
        template: &'static str,
        operation: &'static str,
        filter: BoxedFilter<(Response,)>,
    ) -> Self {
        Self {
            method,
            template,
            operation,
            callers: None,
            has_large_output: false,
            doc: Doc::default(),
            is_path_shared: false,
            filter,
        }
    }

    /// Creates the route of an endpoint for these kinds of callers.
    pub(crate) fn for_callers(
        callers: Callers,
        method: Method,
        template: &'static str,
        operation: &'static str,
        filter: BoxedFilter<(Response,)>,
    ) -> Self {
        Self { callers: Some(callers), ..Self::public(method, template, operation, filter) }
    }

    /// Lets requests to this path with another method be handled by the fallback route, whose last
    /// segment is a parameter. So the route `POST …/secrets/bundle` does not prevent access to a
    /// secret with the key `bundle`.
    pub(crate) fn shares_path(self) -> Self {
        Self { is_path_shared: true, ..self }
    }
}

/// Router: finds the route for a path and a method.
pub struct Router {
    routes: Vec<Route>,
    /// Parameters of the templates of the routes, in the order of `routes`.
    parameters: Vec<Vec<Parameter>>,
    /// Fixed segments of all path templates, used by [`redacted`](Self::redacted).
    words: BTreeSet<&'static str>,
    templates: Templates<HashMap<Method, usize>>,
}

/// Parameter of a path template.
struct Parameter {
    name: &'static str,
    /// Number of segments before the parameter.
    place: usize,
    /// True if the value of the parameter consists of all remaining segments.
    is_rest: bool,
}

/// Result of the search for a route.
pub enum RouteMatch<'a> {
    /// There is a route with this path and method. Contains the path parameters by name.
    Route(&'a Route, Vec<(&'static str, String)>),
    /// The path has routes, but not with this method. Contains the path template and its allowed
    /// methods.
    Method(&'static str, Vec<&'static str>),
    /// There is no route with this path.
    Nothing,
}

impl Router {
    /// Creates a router for these routes.
    ///
    /// # Errors
    ///
    /// Fails if two templates conflict, which is a bug in the table of routes.
    pub fn new(routes: Vec<Route>) -> Result<Self, matchit::InsertError> {
        let mut methods: HashMap<&'static str, HashMap<Method, usize>> = HashMap::new();
        for (index, route) in routes.iter().enumerate() {
            methods.entry(route.template).or_default().insert(route.method.clone(), index);
        }
        for route in routes.iter().filter(|route| route.is_path_shared) {
            let others = methods.iter().find(|(other, _)| is_fallback_of(other, route.template));
            let others = others.map(|(_, methods)| methods.clone()).unwrap_or_default();
            let own = methods.entry(route.template).or_default();
            for (method, index) in others {
                own.entry(method).or_insert(index);
            }
        }
        let mut templates = Templates::new();
        for (template, methods) in methods {
            templates.insert(template, methods)?;
        }
        let segments = routes.iter().flat_map(|route| route.template.split('/'));
        let words = segments.filter(|word| !word.is_empty() && parameter(word).is_none());
        let words = words.collect();
        let parameters = routes.iter().map(|route| parameters_of(route.template)).collect();
        Ok(Self { routes, parameters, words, templates })
    }

    /// Returns the table of routes.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Returns a redacted form of an unknown path for the log. A segment that equals a fixed
    /// segment of a template stays; a segment that is only similar is replaced by the fixed segment
    /// and a question mark. All other segments may be names or values, and are replaced by `*`.
    #[must_use]
    pub fn redacted(&self, segments: &[Cow<'_, str>]) -> String {
        let redact = |segment: &Cow<'_, str>| {
            let word = Some(segment).filter(|segment| segment.len() <= MAX_WORD);
            match word.and_then(|word| closest(word, self.words.iter().copied())) {
                Some(word) if word == segment => word.to_owned(),
                Some(word) => format!("{word}?"),
                None => "*".to_owned(),
            }
        };
        let shown: Vec<_> = segments.iter().take(MAX_LOGGED_SEGMENTS).map(redact).collect();
        let rest = if segments.len() > MAX_LOGGED_SEGMENTS { "/…" } else { "" };
        format!("/{}{rest}", shown.join("/"))
    }

    /// Finds the route for a method and the decoded segments of a path. A static segment takes
    /// precedence over a parameter. `HEAD` is routed as `GET`.
    #[must_use]
    pub fn find(&self, method: &Method, segments: &[Cow<'_, str>]) -> RouteMatch<'_> {
        // No decoded segment contains a `/`, so the joined path splits into the same segments
        // again.
        let mut path = String::with_capacity(USUAL_PATH_LENGTH);
        for segment in segments {
            path.extend(["/", segment]);
        }
        let path = if path.is_empty() { "/" } else { &path };
        let Ok(found) = self.templates.at(path) else { return RouteMatch::Nothing };
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let route = found
            .value
            .get(wanted)
            .and_then(|index| Some((self.routes.get(*index)?, self.parameters.get(*index)?)));
        let Some((route, parameters)) = route else {
            let template = found.value.values().find_map(|index| self.routes.get(*index));
            return RouteMatch::Method(
                template.map_or("", |route| route.template),
                allowed(found.value),
            );
        };
        let values = parameters.iter().map(|parameter| parameter.with_value(segments));
        RouteMatch::Route(route, values.collect())
    }
}

/// Maximum number of path segments that are logged.
const MAX_LOGGED_SEGMENTS: usize = 12;

/// Maximum length, in bytes, of a path segment for which a similar fixed segment is searched when
/// an unknown path is logged. Longer segments are logged as `*`.
const MAX_WORD: usize = 32;

/// Length in bytes that the paths of most requests do not exceed.
const USUAL_PATH_LENGTH: usize = 160;

impl Parameter {
    /// Returns the name of the parameter, and its value in a path with these segments. The
    /// parameters that the search has found are not used, because the path may have matched a
    /// template of another route.
    fn with_value(&self, segments: &[Cow<'_, str>]) -> (&'static str, String) {
        let value = if self.is_rest {
            segments.get(self.place..).map(|rest| rest.join("/"))
        } else {
            segments.get(self.place).map(ToString::to_string)
        };
        (self.name, value.unwrap_or_default())
    }
}

/// Returns the parameters of a template.
fn parameters_of(template: &'static str) -> Vec<Parameter> {
    let parts = template.split('/').skip(1).enumerate();
    let found = parts.filter_map(|(place, part)| {
        Some(Parameter { name: parameter(part)?, place, is_rest: part.starts_with("{*") })
    });
    found.collect()
}

/// Returns the name of the parameter in a part of a template: for one segment (`{name}`) or for all
/// remaining segments (`{*name}`). Returns `None` for fixed text.
fn parameter(part: &str) -> Option<&str> {
    let name = part.strip_prefix('{')?.strip_suffix('}')?;
    Some(name.strip_prefix('*').unwrap_or(name))
}

/// True if `template` is equal to `other` except for the last segment, which is a parameter in
/// `template`.
fn is_fallback_of(template: &str, other: &str) -> bool {
    match (template.rsplit_once('/'), other.rsplit_once('/')) {
        (Some((one, last)), Some((two, _))) => one == two && parameter(last).is_some(),
        _ => false,
    }
}

fn allowed(methods: &HashMap<Method, usize>) -> Vec<&'static str> {
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let names = ["GET, HEAD", "POST", "PUT", "PATCH", "DELETE"];
    known
        .iter()
        .zip(names)
        .filter_map(|(method, name)| methods.contains_key(method).then_some(name))
        .collect()
}
