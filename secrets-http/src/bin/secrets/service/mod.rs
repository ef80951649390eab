//! HTTP client for the service.

mod response;
mod retry;

use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Certificate, Method, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;
use zeroize::Zeroizing;

pub(crate) use response::Response;

use crate::failure::{Exit, Failure};
use crate::output::printable;
use crate::settings::Server;

/// Client of one service, with one credential. It does not follow redirects. Clones share the
/// connections.
#[derive(Clone)]
pub(crate) struct Service {
    http: reqwest::Client,
    server: Server,
    authorization: Option<HeaderValue>,
    timeout: Duration,
    prints_requests: bool,
}

/// Options of a client.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// Time limit for each request, including the waits before it is sent again.
    pub(crate) timeout: Duration,
    /// PEM file with an additional certificate authority.
    pub(crate) ca_file: Option<&'a Path>,
    /// Time limit for connecting. It is part of the time limit of a request.
    pub(crate) connect_timeout: Duration,
    /// True to print each request to standard error, without values.
    pub(crate) prints_requests: bool,
}

/// Request to the service.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    method: Method,
    path: Vec<&'a str>,
    query: Vec<(&'a str, String)>,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

enum Body {
    None,
    Json(Zeroizing<Vec<u8>>),
    Text(Zeroizing<Vec<u8>>, String),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Body(..)")
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("server", &self.server).finish_non_exhaustive()
    }
}

impl<'a> Request<'a> {
    /// Creates a request to a path below `/api/v1`, given as segments. Each segment is
    /// percent-encoded.
    pub(crate) fn new(method: Method, path: &[&'a str]) -> Self {
        let mut segments = vec!["api", "v1"];
        segments.extend(path);
        Self::at(method, &segments)
    }

    /// Creates a request to a path given as segments, without the prefix `/api/v1`. Each segment is
    /// percent-encoded.
    pub(crate) fn at(method: Method, path: &[&'a str]) -> Self {
        let path = path.to_vec();
        Self { method, path, query: Vec::new(), headers: Vec::new(), body: Body::None }
    }

    /// Adds a query parameter.
    pub(crate) fn query(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sets a JSON body.
    pub(crate) fn json(mut self, body: &impl Serialize) -> Result<Self, Failure> {
        let text = serde_json::to_vec(body).map(Zeroizing::new);
        self.body = Body::Json(text.map_err(|error| {
            Failure::new(Exit::Defect, format!("cannot write the request: {error}"))
        })?);
        Ok(self)
    }

    /// Sets a text body with its media type.
    pub(crate) fn text(mut self, body: Zeroizing<Vec<u8>>, media_type: impl Into<String>) -> Self {
        self.body = Body::Text(body, media_type.into());
        self
    }
}

impl Service {
    /// Creates a client. If there is a token, every request is sent with it.
    pub(crate) fn new(
        server: Server,
        token: Option<&str>,
        options: &Options<'_>,
    ) -> Result<Self, Failure> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("secrets/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(options.connect_timeout.min(options.timeout))
            .tcp_nodelay(true);
        // A proxy must not see plain HTTP to this machine.
        if server.is_loopback() {
            builder = builder.no_proxy();
        }
        if let Some(path) = options.ca_file {
            for certificate in certificates(path)? {
                builder = builder.add_root_certificate(certificate);
            }
        }
        let http = builder.build().map_err(|error| {
            Failure::configuration(format!("cannot create the HTTP client: {error}"))
        })?;
        let authorization = token.map(authorization).transpose()?;
        let (timeout, prints_requests) = (options.timeout, options.prints_requests);
        Ok(Self { http, server, authorization, timeout, prints_requests })
    }

    /// Changes the time limit of each request.
    pub(crate) fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns the address of the service.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Sends a GET request, and parses the JSON response.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Failure> {
        self.send(Request::new(Method::GET, path)).await?.json()
    }

    /// Sends a request with a JSON body, and parses the JSON response.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.send(Request::new(method, path).json(body)?).await?.json()
    }

    /// Sends a DELETE request.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<(), Failure> {
        self.send(Request::new(Method::DELETE, path)).await.map(drop)
    }

    /// Sends a GET request, and returns the JSON response. The field `data` is removed if the
    /// service repeats the whole response in it.
    pub(crate) async fn value(&self, path: &[&str]) -> Result<Value, Failure> {
        self.get(path).await
    }

    /// Sends a request, and returns the response if its status is successful. If the service is
    /// overloaded and the response has a `Retry-After` header, waits and sends the request again.
    pub(crate) async fn send(&self, request: Request<'_>) -> Result<Response, Failure> {
        let until = Instant::now() + self.timeout;
        loop {
            let response = self.send_once(&request, until).await?;
            let Some(wait) = retry::wait(&request.method, &response, until) else {
                return response.checked();
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends a request once and returns the response, even if its status is an error.
    pub(crate) async fn send_once(
        &self,
        request: &Request<'_>,
        until: Instant,
    ) -> Result<Response, Failure> {
        let started = Instant::now();
        let prepared = self.prepared(request)?;
        let reading = async {
            let response = prepared.send().await?;
            Response::read(response).await
        };
        let result = match tokio::time::timeout_at(until, reading).await {
            Ok(Ok(Some(response))) => Ok(response),
            Ok(Ok(None)) => Err(self.too_large()),
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => {
                let message = format!("{}: no response in time", self.server);
                Err(Failure::new(Exit::Unavailable, message))
            }
        };
        if self.prints_requests {
            let status = result
                .as_ref()
                .map_or("no response".to_owned(), |response| response.status().as_str().to_owned());
            let path = printable(&request.path.join("/"));
            let (method, elapsed) = (&request.method, started.elapsed().as_millis());
            anstream::eprintln!("secrets: {method} /{path}: {status}, {elapsed} ms");
        }
        result
    }

    /// Sends a request, and returns the response as soon as its headers have arrived. Used for
    /// bodies that do not end.
    pub(crate) async fn open(&self, request: &Request<'_>) -> Result<reqwest::Response, Failure> {
        let sending = self.prepared(request)?.send();
        match tokio::time::timeout(self.timeout, sending).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => {
                let message = format!("{}: no response in time", self.server);
                Err(Failure::new(Exit::Unavailable, message))
            }
        }
    }

    /// Sends a request, and returns the response as soon as its headers have arrived, if its status
    /// is successful. Used for bodies that do not end.
    pub(crate) async fn stream(&self, request: &Request<'_>) -> Result<reqwest::Response, Failure> {
        let response = self.open(request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        match tokio::time::timeout(self.timeout, Response::read(response)).await {
            Ok(Ok(Some(response))) => Err(response.failure()),
            Ok(Ok(None)) => Err(self.too_large()),
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => {
                let message = format!("{}: no response in time", self.server);
                Err(Failure::new(Exit::Unavailable, message))
            }
        }
    }

    fn prepared(&self, request: &Request<'_>) -> Result<reqwest::RequestBuilder, Failure> {
        let url = self.server.url(&request.path)?;
        let mut builder = self.http.request(request.method.clone(), url);
        if !request.query.is_empty() {
            builder = builder.query(&request.query);
        }
        if let Some(authorization) = &self.authorization {
            builder = builder.header(AUTHORIZATION, authorization.clone());
        }
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        if !request.headers.iter().any(|(name, _)| *name == "accept") {
            builder = builder.header(ACCEPT, "application/json");
        }
        Ok(match &request.body {
            Body::None => builder,
            Body::Json(text) => {
                builder.header("content-type", "application/json").body(text.to_vec())
            }
            Body::Text(text, media_type) => {
                builder.header("content-type", media_type).body(text.to_vec())
            }
        })
    }

    fn too_large(&self) -> Failure {
        let message = format!("{}: the response is larger than any of the service", self.server);
        Failure::new(Exit::Protocol, message)
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let mut reason = innermost(error);
        if error.is_timeout() {
            "no response in time".clone_into(&mut reason);
        }
        Failure::new(Exit::Unavailable, format!("{}: {reason}", self.server))
    }
}

/// Returns the text of an error's innermost cause. It does not contain the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn authorization(token: &str) -> Result<HeaderValue, Failure> {
    let text = Zeroizing::new(format!("Bearer {token}"));
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| Failure::configuration("the token contains characters that no token has"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, Failure> {
    let pem = fs::read(path)
        .map_err(|error| Failure::new(Exit::NoInput, format!("{}: {error}", path.display())))?;
    let certificates = Certificate::from_pem_bundle(&pem).ok().filter(|list| !list.is_empty());
    certificates.ok_or_else(|| {
        Failure::configuration(format!(
            "{}: must contain certificates in PEM format",
            path.display()
        ))
    })
}
