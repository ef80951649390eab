//! The table of routes: method, template, warp filter. All that is known of the interface at run
//! time (404, 405 with `Allow`, the template in the log) comes from it.

use std::collections::HashMap;

use matchit::Router as Templates;
use secrets_core::engine::Callers;
use warp::filters::BoxedFilter;
use warp::http::Method;
use warp::reply::Response;

use crate::openapi::Doc;

/// One endpoint.
pub struct Route {
    /// Its method.
    pub method: Method,
    /// Its path, with parameters in braces.
    pub template: &'static str,
    /// What it performs: an operation's name.
    pub operation: &'static str,
    /// Who may call it; `None` for whoever likes.
    pub callers: Option<Callers>,
    /// What the document of the interface tells of it.
    pub(crate) doc: Doc,
    /// Whether other methods of its path are those of the parameter in its place.
    pub(crate) is_beside_others: bool,
    pub(crate) filter: BoxedFilter<(Response,)>,
}

impl Route {
    /// A public endpoint: no credential is looked at.
    pub(crate) fn public(
        method: Method,
        template: &'static str,
        operation: &'static str,
        filter: BoxedFilter<(Response,)>,
    ) -> Self {
        let (doc, is_beside_others) = (Doc::default(), false);
        Self { method, template, operation, callers: None, doc, is_beside_others, filter }
    }

    /// Leaves the other methods of its path to the parameter that stands in its place elsewhere:
    /// `POST …/secrets/bundle` hides no secret of that name.
    pub(crate) fn beside_others(self) -> Self {
        Self { is_beside_others: true, ..self }
    }
}

/// The routes, found by path.
pub struct Router {
    routes: Vec<Route>,
    templates: Templates<HashMap<Method, usize>>,
}

/// What a path and a method lead to.
pub enum Found<'a> {
    /// An endpoint, and the parameters of its path.
    Route(&'a Route, Vec<(String, String)>),
    /// A path that has other methods.
    Method(&'static str, Vec<&'static str>),
    /// Nothing.
    Nothing,
}

impl Router {
    /// A router over these routes.
    ///
    /// # Errors
    ///
    /// When two templates exclude each other, which is a mistake in our table.
    pub fn new(routes: Vec<Route>) -> Result<Self, matchit::InsertError> {
        let mut methods: HashMap<&'static str, HashMap<Method, usize>> = HashMap::new();
        for (index, route) in routes.iter().enumerate() {
            methods.entry(route.template).or_default().insert(route.method.clone(), index);
        }
        for route in routes.iter().filter(|route| route.is_beside_others) {
            let others = methods.iter().find(|(other, _)| is_instead(other, route.template));
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
        Ok(Self { routes, templates })
    }

    /// The table.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// What decoded segments of a path lead to. A static segment goes before a parameter.
    #[must_use]
    pub fn find(&self, method: &Method, segments: &[String]) -> Found<'_> {
        // No decoded segment holds a `/`, so the joined path splits into the same segments again.
        let path = format!("/{}", segments.join("/"));
        let Ok(found) = self.templates.at(&path) else { return Found::Nothing };
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let Some(route) = found.value.get(wanted).and_then(|index| self.routes.get(*index)) else {
            let template = found.value.values().find_map(|index| self.routes.get(*index));
            return Found::Method(
                template.map_or("", |route| route.template),
                allowed(found.value),
            );
        };
        Found::Route(route, parameters(route.template, segments))
    }
}

/// What the segments of a path are called in a template. (Not what the templates found: a route may
/// be there for another template than its own.)
fn parameters(template: &str, segments: &[String]) -> Vec<(String, String)> {
    let parts = template.split('/').skip(1).zip(segments);
    parts.filter_map(|(part, value)| Some((parameter(part)?.to_owned(), value.clone()))).collect()
}

fn parameter(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// Whether a template has a parameter where another has a word, at the end of both.
fn is_instead(template: &str, other: &str) -> bool {
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
