//! Minimal servers, called limits: they do only what every server must do to send the same
//! response. The service can hardly be faster.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::TcpListener;
use warp::Filter as _;

use crate::Failure;
use crate::server::ADDRESS;

/// Number of secrets in the list that the minimal warp server returns.
pub(crate) const ITEMS: u64 = 10_000;

/// Secret in a response, with fields like those in a response of the service.
#[derive(Clone, Serialize)]
struct Secret {
    id: &'static str,
    key: String,
    value: &'static str,
    description: Option<&'static str>,
    version: u32,
    created_by: &'static str,
    created_at: &'static str,
    updated_at: &'static str,
}

impl Secret {
    fn new(key: String) -> Self {
        Self {
            id: "019a0000-0000-7000-8000-000000000000",
            key,
            value: "postgres://app:0123456789abcdef0123456789abcdef@db.internal/app",
            description: None,
            version: 1,
            created_by: "019a0000-0000-7000-8000-000000000001",
            created_at: "2026-11-23T12:00:00.000Z",
            updated_at: "2026-11-23T12:00:00.000Z",
        }
    }
}

/// Serves the response of one secret with hyper, until the process is killed.
pub(crate) async fn hyper() -> Result<(), Failure> {
    let body = Bytes::from(serde_json::to_vec(&Secret::new("KEY_0000".into()))?);
    let listener = listen().await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let service = service_fn(move |_: Request<_>| {
                let response = Response::new(Full::new(body.clone()));
                async move { Ok::<_, Infallible>(response) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

/// Serves one secret at `/secret/KEY` and a list at `/list` with warp, until the process is killed.
pub(crate) async fn warp() -> Result<(), Failure> {
    let secret = warp::path!("secret" / String)
        .and(warp::header::<String>("authorization"))
        .map(|key, _| warp::reply::json(&Secret::new(key)));
    let items = (0..ITEMS).map(|number| Secret::new(format!("KEY_{number:04}")));
    // Shared, since warp copies a filter for each request.
    let items: Arc<[Secret]> = items.collect();
    let list = warp::path!("list").map(move || warp::reply::json(&&*items));
    let listener = listen().await?;
    warp::serve(secret.or(list)).incoming(listener).run().await;
    Ok(())
}

async fn listen() -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    eprintln!("{ADDRESS}{}", listener.local_addr()?);
    Ok(listener)
}
