//! Webhook deliveries over HTTP.
//!
//! Tenants choose the URLs, so all connections go through the [`Dialer`], which applies the egress
//! policy (protection against SSRF). Redirects are not followed, proxies are not used, and
//! connections are not reused.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::{Either, select};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use secrets_core::egress::{DialError, Dialer};
use secrets_core::ports::webhook_url::WebhookUrl;
use secrets_core::ports::webhooks::{SendError, WebhookAnswer, WebhookRequest, WebhookSender};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::adapters::fetch;

/// Timeout of a delivery, from name resolution to the last byte of the response.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum number of bytes read from a response body. The body is discarded; reading it lets the
/// receiver finish its response.
const MAX_BODY_BYTES: usize = 65_536;

/// Maximum size of the head of a response, in bytes.
const MAX_HEAD_BYTES: usize = 65_536;

/// Sends webhook deliveries over connections made by a [`Dialer`].
pub struct HyperSender {
    gate: Dialer,
    tls: TlsConnector,
    timeout: Duration,
}

impl HyperSender {
    /// Creates a sender that trusts the certificate authorities of the operating system.
    pub fn new(gate: Dialer) -> Result<Self, rustls::Error> {
        Ok(Self::trusting(gate, fetch::tls()?))
    }

    /// Creates a sender with the TLS configuration `tls`.
    #[must_use]
    pub fn trusting(gate: Dialer, tls: ClientConfig) -> Self {
        Self { gate, tls: TlsConnector::from(Arc::new(tls)), timeout: DELIVERY_TIMEOUT }
    }

    async fn exchange(
        &self,
        request: &WebhookRequest,
        end: Instant,
    ) -> Result<WebhookAnswer, SendError> {
        let url = &request.url;
        let dialled = self.gate.dial(url.host(), url.port(), self.timeout).await;
        let stream = dialled.map_err(|refused| match refused {
            DialError::NotAllowed => SendError::NotAllowed,
            DialError::Unreachable | DialError::Unresolved => SendError::Unreachable,
        })?;
        let peer = stream.peer_addr().map_err(|_| SendError::Unreachable)?;
        self.exchange_over(stream, peer.ip(), request, end).await
    }

    /// Sends a delivery over an open connection to the address `peer`, until the deadline `end`.
    async fn exchange_over(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        request: &WebhookRequest,
        end: Instant,
    ) -> Result<WebhookAnswer, SendError> {
        let url = &request.url;
        let message = message(request).ok_or(SendError::Unreachable)?;
        if !url.is_encrypted() {
            self.admit_plaintext(url, peer)?;
            return talk(stream, message, end).await;
        }
        let name = url.host().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name).map_err(|_| SendError::Tls)?;
        let stream = self.tls.connect(name, stream).await.map_err(|_| SendError::Tls)?;
        talk(stream, message, end).await
    }

    /// Checks that the egress policy permits an unencrypted connection to the host of this URL at
    /// the address `peer`. The policy or the DNS record may have changed since the webhook was
    /// created.
    fn admit_plaintext(&self, url: &WebhookUrl, peer: IpAddr) -> Result<(), SendError> {
        let is_permitted = self.gate.policy().permits_plaintext(url.host(), peer);
        if is_permitted { Ok(()) } else { Err(SendError::NotAllowed) }
    }
}

#[async_trait]
impl WebhookSender for HyperSender {
    async fn send(&self, request: &WebhookRequest) -> Result<WebhookAnswer, SendError> {
        let end = Instant::now() + self.timeout;
        let answer = timeout_at(end, self.exchange(request, end)).await;
        answer.unwrap_or(Err(SendError::TimedOut))
    }
}

fn message(request: &WebhookRequest) -> Option<Request<Full<Bytes>>> {
    let mut message = Request::builder()
        .method(Method::POST)
        .uri(request.url.path_and_query())
        .header(HOST, request.url.authority());
    for (name, value) in &request.headers {
        message = message.header(*name, HeaderValue::from_str(value).ok()?);
    }
    message.body(Full::new(request.body.clone().into())).ok()
}

/// Sends an HTTP request over a connection, and returns the status and the `Retry-After` header of
/// the response.
async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send>(
    stream: S,
    message: Request<Full<Bytes>>,
    end: Instant,
) -> Result<WebhookAnswer, SendError> {
    let mut client = http1::Builder::new();
    client.max_buf_size(MAX_HEAD_BYTES);
    let (mut requests, connection) =
        client.handshake(TokioIo::new(stream)).await.map_err(|_| SendError::Unreachable)?;
    let exchange = pin!(async {
        let response = requests.send_request(message).await;
        let response = response.map_err(|_| SendError::Unreachable)?;
        let answer = answer(&response);
        // The result is known, so an error while reading the body is ignored.
        let _ = timeout_at(end, discard_body(response.into_body())).await;
        Ok(answer)
    });
    match select(exchange, pin!(connection)).await {
        Either::Left((answer, _)) => answer,
        // The receiver has closed the connection, but its response may still be buffered.
        Either::Right((_, exchange)) => exchange.await,
    }
}

fn answer(response: &Response<Incoming>) -> WebhookAnswer {
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    WebhookAnswer {
        status: response.status().as_u16(),
        retry_after: retry_after.map(str::to_owned),
    }
}

async fn discard_body(mut body: Incoming) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > MAX_BODY_BYTES {
            break;
        }
    }
}
