//! The table of routes: method, template, warp filter. All that is known of the interface at run
//! time (404, 405 with `Allow`, the template in the log) comes from it.

use std::collections::HashMap;

use matchit::Router as Templates;
use secrets_core::caller::Callers;
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
        Self { method, template, operation, callers: None, doc: Doc::default(), filter }
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
        let parameters =
            found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Found::Route(route, parameters.collect())
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
