//! Deliveries to webhooks, by HTTP.
//!
//! Where they go is said by tenants, so nothing is dialled but by the [`Gate`]. No redirect is
//! followed, no proxy is asked, no connection is kept.

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
use secrets_core::egress::{Gate, Refused};
use secrets_core::rotations::webhooks::{
    SendError, WebhookAnswer, WebhookRequest, WebhookSender, WebhookUrl,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::fetch;

/// The most a delivery may take, from the look-up of the name to the last byte.
const PATIENCE: Duration = Duration::from_secs(15);

/// How much of an answer is read, so that who writes it is not cut off. It is thrown away.
const ANSWER: usize = 65_536;

/// How long the head of an answer may be.
const HEAD: usize = 65_536;

/// Sends deliveries over connections that the gate makes.
pub struct HyperSender {
    gate: Gate,
    tls: TlsConnector,
    patience: Duration,
}

impl HyperSender {
    /// A sender that trusts the authorities the machine trusts.
    pub fn new(gate: Gate) -> Result<Self, rustls::Error> {
        Ok(Self::trusting(gate, fetch::tls()?))
    }

    /// A sender that knows by this what proves who a server is.
    #[must_use]
    pub fn trusting(gate: Gate, tls: ClientConfig) -> Self {
        Self { gate, tls: TlsConnector::from(Arc::new(tls)), patience: PATIENCE }
    }

    async fn exchange(
        &self,
        request: &WebhookRequest,
        end: Instant,
    ) -> Result<WebhookAnswer, SendError> {
        let url = &request.url;
        let dialled = self.gate.dial(url.host(), url.port(), self.patience).await;
        let stream = dialled.map_err(|refused| match refused {
            Refused::NotAllowed => SendError::NotAllowed,
            Refused::Unreachable => SendError::Unreachable,
        })?;
        let peer = stream.peer_addr().map_err(|_| SendError::Unreachable)?;
        self.exchange_over(stream, peer.ip(), request, end).await
    }

    /// Sends a delivery over a connection to this address.
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

    /// What was allowed when the webhook was made may not be any more.
    fn admit_plaintext(&self, url: &WebhookUrl, peer: IpAddr) -> Result<(), SendError> {
        let is_permitted = self.gate.policy().permits_plaintext(url.host(), peer);
        if is_permitted { Ok(()) } else { Err(SendError::NotAllowed) }
    }
}

#[async_trait]
impl WebhookSender for HyperSender {
    async fn send(&self, request: &WebhookRequest) -> Result<WebhookAnswer, SendError> {
        let end = Instant::now() + self.patience;
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

/// Sends a message and reads the answer, of which the status and one header count.
async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send>(
    stream: S,
    message: Request<Full<Bytes>>,
    end: Instant,
) -> Result<WebhookAnswer, SendError> {
    let mut client = http1::Builder::new();
    client.max_buf_size(HEAD);
    let (mut requests, connection) =
        client.handshake(TokioIo::new(stream)).await.map_err(|_| SendError::Unreachable)?;
    let exchange = pin!(async {
        let response = requests.send_request(message).await;
        let response = response.map_err(|_| SendError::Unreachable)?;
        let answer = answer(&response);
        // The answer is known; what is left of it changes nothing.
        let _ = timeout_at(end, skip(response.into_body())).await;
        Ok(answer)
    });
    match select(exchange, pin!(connection)).await {
        Either::Left((answer, _)) => answer,
        // The receiver has closed the connection; what it said before is still to be read.
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

async fn skip(mut body: Incoming) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > ANSWER {
            break;
        }
    }
}
