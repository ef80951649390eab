//! An OpenID provider's endpoints.

use std::fmt;

use hyper::Uri;
use secrets_core::model::Identity;
use secrets_core::jwt::{BadKeySet, KeySet, Profile};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::fetch::{Client, Limits, NotFetched};

/// The issuer, as far as it can be asked something.
pub(super) struct Provider {
    pub(super) client: Client,
    pub(super) issuer: String,
    /// Where the keys are, unless the issuer is to be asked.
    pub(super) jwks_url: Option<Uri>,
    pub(super) limits: Limits,
}

/// Why a provider's answer is of no use.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// There was none.
    NotFetched(Uri, NotFetched),
    /// It is not what belongs at that address.
    NotA(&'static str, Uri),
    /// It is no key set.
    BadKeySet(Uri, BadKeySet),
    /// The document is about another issuer.
    AnotherIssuer(Uri),
    /// The document sends us to an address that is none, or less safe than its own.
    BadAddress(&'static str),
}

/// The part of the discovery document that is of interest.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
}

impl Provider {
    /// The keys, as they are now.
    pub(super) async fn key_set(&self) -> Result<KeySet, NoAnswer> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.address("jwks_uri", &self.discover().await?.jwks_uri)?,
        };
        let document = self.get(&url, None).await?;
        KeySet::parse(&document).map_err(|error| NoAnswer::BadKeySet(url, error))
    }

    /// What the userinfo endpoint says about the one whose token this is. `None` where there is no
    /// such endpoint, or it speaks of somebody else.
    pub(super) async fn profile(
        &self,
        token: &str,
        identity: &Identity,
    ) -> Result<Option<Profile>, NoAnswer> {
        let Some(url) = self.discover().await?.userinfo_endpoint else { return Ok(None) };
        let url = self.address("userinfo_endpoint", &url)?;
        let answer = self.get(&url, Some(token)).await?;
        let about: Map<String, Value> = object(&answer, "userinfo answer", &url)?;
        if about.get("sub").and_then(Value::as_str) != Some(&identity.subject) {
            tracing::warn!(%url, "the userinfo endpoint speaks of somebody else");
            return Ok(None);
        }
        object(&answer, "userinfo answer", &url).map(Some)
    }

    async fn discover(&self) -> Result<Discovery, NoAnswer> {
        let base = self.issuer.strip_suffix('/').unwrap_or(&self.issuer);
        let url = format!("{base}/.well-known/openid-configuration");
        let url = self.address("issuer", &url)?;
        let document: Discovery = object(&self.get(&url, None).await?, "discovery document", &url)?;
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

    /// An issuer that is reached safely does not send us, and a token, where it is not safe.
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

fn object<T: DeserializeOwned>(json: &[u8], what: &'static str, url: &Uri) -> Result<T, NoAnswer> {
    let object = serde_json::from_slice(json).ok().map(Value::Object);
    object
        .and_then(|object| serde_json::from_value(object).ok())
        .ok_or_else(|| NoAnswer::NotA(what, url.clone()))
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFetched(url, error) => write!(f, "{url}: {error}"),
            Self::NotA(what, url) => write!(f, "{url}: not a {what}"),
            Self::BadKeySet(url, error) => write!(f, "{url}: {error}"),
            Self::AnotherIssuer(url) => write!(f, "{url}: the document of another issuer"),
            Self::BadAddress(what) => write!(f, "the issuer's {what} is not an address to use"),
        }
    }
}

impl std::error::Error for NoAnswer {}
