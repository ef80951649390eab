//! HTTP listener on which metrics are served.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use tokio::net::TcpListener;
use warp::http::header::CONTENT_TYPE;
use warp::http::{HeaderValue, Method, StatusCode};

use super::Scrape;
use crate::serve::accept::{self, AcceptOptions, RequestBody};

/// Path of the metrics endpoint.
const PATH: &str = "/metrics";

const FORMAT: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Maximum number of open connections to the metrics listener.
const MAX_CONNECTIONS: usize = 16;

/// Serves the metrics until `stop` completes.
pub async fn serve(listener: TcpListener, scrape: Scrape, stop: impl Future<Output = ()>) {
    let options = AcceptOptions {
        connections: MAX_CONNECTIONS,
        connections_per_address: MAX_CONNECTIONS,
        ..AcceptOptions::default()
    };
    let scrape = Arc::new(scrape);
    let answer = move |request: Request<RequestBody>, _: SocketAddr| {
        let scrape = Arc::clone(&scrape);
        async move { respond(&scrape, request.method(), request.uri().path()) }
    };
    accept::run(listener, None, options, answer, stop).await;
}

fn respond(scrape: &Scrape, method: &Method, path: &str) -> Response<Full<Bytes>> {
    let is_read = method == Method::GET || method == Method::HEAD;
    let (status, text) = match path {
        PATH if !is_read => (StatusCode::METHOD_NOT_ALLOWED, Some(String::new())),
        PATH => (StatusCode::OK, scrape.text()),
        _ => (StatusCode::NOT_FOUND, Some(String::new())),
    };
    let is_formatted = text.is_some();
    let mut response = Response::new(Full::new(Bytes::from(text.unwrap_or_default())));
    *response.status_mut() = if is_formatted { status } else { StatusCode::INTERNAL_SERVER_ERROR };
    response.headers_mut().insert(CONTENT_TYPE, FORMAT);
    response
}
