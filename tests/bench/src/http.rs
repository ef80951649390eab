//! HTTP client with one connection.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Failure;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Request that can be sent any number of times.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// Name and value of the header with the credential: `Authorization`, or the header that
    /// another secrets manager (a peer) expects.
    pub(crate) header: Option<(String, String)>,
    pub(crate) body: Bytes,
}

/// Open HTTP connection to a server, which sends one request at a time.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>, token: &str) -> Self {
        Self::new(Method::GET, path, token, Bytes::new())
    }

    pub(crate) fn send(method: Method, path: impl Into<String>, token: &str, body: &Value) -> Self {
        Self::new(method, path, token, body.to_string().into())
    }

    fn new(method: Method, path: impl Into<String>, token: &str, body: Bytes) -> Self {
        let header =
            (!token.is_empty()).then(|| ("authorization".into(), format!("Bearer {token}")));
        Self { method, path: path.into(), header, body }
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, host: address.to_string() })
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn answer(&mut self, call: &Call) -> Result<(StatusCode, Bytes), Failure> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(&call.path)
            .header("host", &self.host)
            .header("content-type", "application/json");
        if let Some((name, value)) = &call.header {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(call.body.clone()))?;
        let exchange = async {
            self.sender.ready().await?;
            let response = self.sender.send_request(request).await?;
            let status = response.status();
            Ok::<_, hyper::Error>((status, response.into_body().collect().await?.to_bytes()))
        };
        Ok(timeout(TIMEOUT, exchange).await??)
    }

    /// Sends a request that must succeed, and returns the JSON of the response.
    pub(crate) async fn json(&mut self, call: &Call) -> Result<Value, Failure> {
        let (status, body) = self.answer(call).await?;
        if !status.is_success() {
            let text = String::from_utf8_lossy(&body);
            return Err(format!("{} {}: {status} {text}", call.method, call.path).into());
        }
        Ok(if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? })
    }
}
