//! HTTP client for URLs that the operator configures: those of the identity provider and of the
//! root key.
//!
//! Do not use this client for URLs supplied by tenants, because the resolved address is not checked
//! against the egress policy. Redirects are not followed, and responses are limited in time and
//! size.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use secrets_core::model::Cause;
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use zeroize::Zeroizing;

const VAULT_TOKEN: HeaderName = HeaderName::from_static("x-vault-token");

/// HTTP client that fetches documents and submits forms and JSON, over `http://` and `https://`.
#[derive(Clone)]
pub struct Client(legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// Credential that a request sends in a header.
#[derive(Clone, Copy)]
pub enum Credential<'a> {
    /// Bearer token.
    Bearer(&'a str),
    /// User ID and password for Basic authentication, joined by a colon.
    Basic(&'a str),
    /// Token of HashiCorp Vault or OpenBao, in the header `X-Vault-Token`.
    Vault(&'a str),
}

/// Time and size limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Timeout of the request, from name resolution to the last byte of the response body.
    pub time: Duration,
    /// Maximum size of the response body, in bytes.
    pub bytes: usize,
}

/// Reason why a request failed.
#[derive(Debug)]
pub enum NotFetched {
    /// The response was not complete within the timeout.
    TooSlow,
    /// The response body exceeds the maximum size.
    TooLarge,
    /// The response has an unexpected status. Redirects are not followed, so a redirect is
    /// unexpected too.
    Status(StatusCode),
    /// No complete response was received, for example because the connection failed.
    Failed(Cause),
}

impl Client {
    /// Creates a client that trusts the certificate authorities of the operating system.
    pub fn new() -> Result<Self, rustls::Error> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls()?)
            .https_or_http()
            .enable_http1()
            .build();
        // Requests are minutes apart, so the server would have closed a pooled connection.
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(connector);
        Ok(Self(client))
    }

    /// Fetches the document at this URL, with `token` as bearer credential.
    pub async fn get(
        &self,
        url: &Uri,
        token: Option<&str>,
        limits: Limits,
    ) -> Result<Bytes, NotFetched> {
        let request = request(url, token.map(Credential::Bearer), Full::default())?;
        let (_, body) = self.send(request, limits, &[StatusCode::OK]).await?;
        Ok(body)
    }

    /// Submits a URL-encoded form to this URL, and returns the response if its status is one of
    /// `expected`.
    pub async fn post_form(
        &self,
        url: &Uri,
        credential: Option<Credential<'_>>,
        form: String,
        (limits, expected): (Limits, &[StatusCode]),
    ) -> Result<(StatusCode, Bytes), NotFetched> {
        let mut request = request(url, credential, Full::from(form))?;
        *request.method_mut() = Method::POST;
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
        self.send(request, limits, expected).await
    }

    /// Submits JSON to this URL, and returns the response with any status. The request body is
    /// wiped from memory after it was sent.
    pub async fn post_json(
        &self,
        url: &Uri,
        credential: Credential<'_>,
        body: Zeroizing<Vec<u8>>,
        limits: Limits,
    ) -> Result<(StatusCode, Bytes), NotFetched> {
        let mut request = request(url, Some(credential), Full::from(Bytes::from_owner(body)))?;
        *request.method_mut() = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        self.send(request, limits, &[]).await
    }

    /// Sends a request within its limits, and reads the response if its status is one of
    /// `expected`, or any status if `expected` is empty.
    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        limits: Limits,
        expected: &[StatusCode],
    ) -> Result<(StatusCode, Bytes), NotFetched> {
        let answer = async {
            let response = self.0.request(request).await.map_err(NotFetched::failed)?;
            let status = response.status();
            if !expected.is_empty() && !expected.contains(&status) {
                return Err(NotFetched::Status(status));
            }
            match Limited::new(response.into_body(), limits.bytes).collect().await {
                Ok(body) => Ok((status, body.to_bytes())),
                Err(error) if error.is::<LengthLimitError>() => Err(NotFetched::TooLarge),
                Err(error) => Err(NotFetched::Failed(error)),
            }
        };
        timeout(limits.time, answer).await.unwrap_or(Err(NotFetched::TooSlow))
    }
}

fn request(
    url: &Uri,
    credential: Option<Credential<'_>>,
    body: Full<Bytes>,
) -> Result<Request<Full<Bytes>>, NotFetched> {
    let mut request = Request::new(body);
    *request.uri_mut() = url.clone();
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(credential) = credential {
        let (name, value) = match credential {
            Credential::Bearer(token) => (AUTHORIZATION, format!("Bearer {token}")),
            Credential::Basic(pair) => (AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair))),
            Credential::Vault(token) => (VAULT_TOKEN, token.to_owned()),
        };
        let mut value =
            HeaderValue::try_from(value).map_err(|error| NotFetched::Failed(error.into()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(request)
}

/// Creates a TLS configuration that trusts the certificate authorities of the operating system.
pub(crate) fn tls() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?;
    let config = match config.clone().try_with_platform_verifier() {
        Ok(verified) => verified,
        // A minimal container image has no certificate authorities. `http://` URLs must still work.
        Err(error) => {
            tracing::warn!(%error, "no certificate authorities found, so https:// servers cannot be verified: install ca-certificates or set SSL_CERT_FILE");
            config.with_root_certificates(RootCertStore::empty())
        }
    };
    Ok(config.with_no_client_auth())
}

impl NotFetched {
    fn failed(error: legacy::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl fmt::Display for NotFetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSlow => f.write_str("timeout: no complete response"),
            Self::TooLarge => f.write_str("the response is too large"),
            Self::Status(status) => write!(f, "answered {status}"),
            Self::Failed(error) => {
                write!(f, "{error}")?;
                // The message of hyper names the failed step. The root cause is the last source.
                match root_cause(error.as_ref()) {
                    Some(cause) => write!(f, ": {cause}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for NotFetched {}

/// Returns the last error in the chain of sources of `error`; `None` if `error` has no source.
pub(super) fn root_cause<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a dyn std::error::Error> {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.last().map(|cause| cause as &'a dyn std::error::Error)
}
