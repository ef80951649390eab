//! Client for the endpoints of an OpenID provider: discovery, key set and userinfo.

use std::fmt;

use hyper::{StatusCode, Uri};
use secrets_core::jwt::{BadKeySet, KeySet, Profile};
use secrets_core::model::Identity;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::adapters::fetch::{Client, Credential, Limits, NotFetched};

/// OpenID provider, addressed by its issuer URL.
pub(super) struct Provider {
    pub(super) client: Client,
    pub(super) issuer: String,
    /// URL of the key set. If `None`, the URL is taken from the discovery document.
    pub(super) jwks_url: Option<Uri>,
    pub(super) limits: Limits,
}

/// Error of a request to a provider.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The document at this URL could not be fetched.
    NotFetched(Uri, NotFetched),
    /// The response from this URL is not the expected document, which the string names, such as
    /// `discovery document`.
    NotA(&'static str, Uri),
    /// The response from this URL is not a valid key set.
    BadKeySet(Uri, BadKeySet),
    /// The discovery document at this URL belongs to another issuer.
    AnotherIssuer(Uri),
    /// The discovery document contains an invalid URL, or an `http` URL although the issuer uses
    /// `https`.
    BadAddress(&'static str),
}

/// Discovery document, reduced to the fields in use.
#[derive(Deserialize)]
pub(super) struct Discovery {
    issuer: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    /// Methods with which clients may authenticate at the token endpoint. `None` means
    /// `client_secret_basic`.
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// True if the provider names the issuer in every authorization response (RFC 9207).
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// Response of the token endpoint: tokens, or an error (RFC 6749, section 5). Not `Debug`, because
/// the tokens are secret.
#[derive(Deserialize)]
pub(super) struct TokenResponse {
    pub(super) id_token: Option<Zeroizing<String>>,
    pub(super) access_token: Option<Zeroizing<String>>,
    pub(super) error: Option<String>,
}

impl Provider {
    /// Fetches the current key set.
    pub(super) async fn key_set(&self) -> Result<KeySet, NoAnswer> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.address("jwks_uri", &self.discover().await?.jwks_uri)?,
        };
        let document = self.get(&url, None).await?;
        KeySet::parse(&document).map_err(|error| NoAnswer::BadKeySet(url, error))
    }

    /// Returns the URL of the userinfo endpoint. Returns `None` if there is no such endpoint.
    pub(super) fn userinfo_endpoint(&self, discovery: &Discovery) -> Result<Option<Uri>, NoAnswer> {
        let url = discovery.userinfo_endpoint.as_deref();
        url.map(|url| self.address("userinfo_endpoint", url)).transpose()
    }

    /// Returns the URL of the page on which users sign in.
    pub(super) fn authorization_endpoint(&self, discovery: &Discovery) -> Result<Uri, NoAnswer> {
        let url = discovery.authorization_endpoint.as_deref().unwrap_or_default();
        self.address("authorization_endpoint", url)
    }

    /// Returns the URL of the endpoint that exchanges authorization codes for tokens.
    pub(super) fn token_endpoint(&self, discovery: &Discovery) -> Result<Uri, NoAnswer> {
        let url = discovery.token_endpoint.as_deref().unwrap_or_default();
        self.address("token_endpoint", url)
    }

    /// Submits a form to the token endpoint. Returns the response if it is JSON, with its status.
    pub(super) async fn exchange(
        &self,
        url: &Uri,
        credential: Option<Credential<'_>>,
        form: String,
    ) -> Result<(StatusCode, TokenResponse), NoAnswer> {
        let expected = &[StatusCode::OK, StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED];
        let answer = self.client.post_form(url, credential, form, (self.limits, expected)).await;
        let (status, body) = answer.map_err(|error| NoAnswer::NotFetched(url.clone(), error))?;
        Ok((status, parse_object(&body, "token response", url)?))
    }

    /// Fetches the profile of the token's user from the userinfo endpoint. Returns `None` if the
    /// response has another subject.
    pub(super) async fn profile(
        &self,
        url: &Uri,
        token: &str,
        identity: &Identity,
    ) -> Result<Option<Profile>, NoAnswer> {
        let answer = self.get(url, Some(token)).await?;
        let userinfo: Map<String, Value> = parse_object(&answer, "userinfo response", url)?;
        if userinfo.get("sub").and_then(Value::as_str) != Some(&identity.subject) {
            tracing::warn!(%url, "the userinfo response has another subject than the token");
            return Ok(None);
        }
        parse_object(&answer, "userinfo response", url).map(Some)
    }

    /// Fetches the discovery document.
    pub(super) async fn discover(&self) -> Result<Discovery, NoAnswer> {
        let base = self.issuer.strip_suffix('/').unwrap_or(&self.issuer);
        let url = format!("{base}/.well-known/openid-configuration");
        let url = self.address("issuer", &url)?;
        let document: Discovery =
            parse_object(&self.get(&url, None).await?, "discovery document", &url)?;
        if document.issuer == self.issuer {
            Ok(document)
        } else {
            Err(NoAnswer::AnotherIssuer(url))
        }
    }

    async fn get(&self, url: &Uri, token: Option<&str>) -> Result<bytes::Bytes, NoAnswer> {
        let document = self.client.get(url, token, self.limits).await;
        document.map_err(|error| NoAnswer::NotFetched(url.clone(), error))
    }

    /// Parses a URL of the provider. `what` names the URL in the error. Refuses `http` if the
    /// issuer uses `https`, so that neither keys nor tokens are sent unencrypted.
    fn address(&self, what: &'static str, text: &str) -> Result<Uri, NoAnswer> {
        let url: Uri = text.parse().map_err(|_| NoAnswer::BadAddress(what))?;
        let safe = match url.scheme_str() {
            Some("https") => true,
            Some("http") => !self.issuer.starts_with("https://"),
            _ => false,
        };
        if safe { Ok(url) } else { Err(NoAnswer::BadAddress(what)) }
    }
}

fn parse_object<T: DeserializeOwned>(
    json: &[u8],
    what: &'static str,
    url: &Uri,
) -> Result<T, NoAnswer> {
    let object = serde_json::from_slice(json).ok().map(Value::Object);
    object
        .and_then(|object| serde_json::from_value(object).ok())
        .ok_or_else(|| NoAnswer::NotA(what, url.clone()))
}

impl NoAnswer {
    /// True if the provider refused this request (status 4xx except 429), for example because of
    /// the token. Other requests may then still succeed.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::NotFetched(_, NotFetched::Status(status))
            if status.is_client_error() && *status != StatusCode::TOO_MANY_REQUESTS)
    }

    /// True if the provider did not respond, because the connection failed or the timeout elapsed,
    /// so that other requests would fail too. An error status is a response: it can concern only
    /// this request, such as a status 429 for a user who sent too many requests.
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::NotFetched(_, NotFetched::TooSlow | NotFetched::Failed(_)))
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFetched(url, error) => write!(f, "{url}: {error}"),
            Self::NotA(what, url) => write!(f, "{url}: not a {what}"),
            Self::BadKeySet(url, error) => write!(f, "{url}: {error}"),
            Self::AnotherIssuer(url) => {
                write!(f, "{url}: the discovery document of another issuer")
            }
            Self::BadAddress(what) => {
                write!(f, "the identity provider's {what} is not a usable URL")
            }
        }
    }
}

impl std::error::Error for NoAnswer {}
