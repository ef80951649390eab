//! Sign-in with a browser: the authorization code flow of OpenID Connect Core 1.0, section 3.1,
//! with PKCE (RFC 7636) and the issuer in the response of the provider (RFC 9207).

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use secrets_core::crypto::random;
use secrets_core::jwt::JwtError;
use secrets_core::model::Identity;
use secrets_core::ports::identity::{IdentityVerifier as _, Unverified};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::oidc::{OidcVerifier, Refused};
use super::provider::{Discovery, NoAnswer, TokenResponse};
use crate::adapters::fetch::Credential;

/// Maximum number of authorization codes that are exchanged at the same time.
const MAX_EXCHANGES: usize = 32;

/// Error codes of the token endpoint that are logged (RFC 6749, section 5.2). Other codes are not
/// logged, because they may repeat parts of the request.
const TOKEN_ERRORS: [&str; 6] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
];

/// Settings with which this service is registered at the identity provider.
#[derive(Debug, Clone)]
pub struct OidcClient {
    /// Client ID.
    pub id: String,
    /// Client secret; `None` for a public client, which has none.
    pub secret: Option<ClientSecret>,
    /// Requested scopes, separated by spaces.
    pub scopes: String,
    /// URL of this service to which the provider sends browsers after the sign-in.
    pub redirect_url: String,
}

/// Client secret that the identity provider has issued for this service.
#[derive(Clone)]
pub struct ClientSecret(Zeroizing<String>);

/// Sign-in of browsers with one identity provider.
pub struct CodeFlow {
    verifier: Arc<OidcVerifier>,
    client: OidcClient,
    exchanges: Semaphore,
}

/// Random values of one sign-in, stored in an encrypted cookie of the browser.
#[derive(Serialize, Deserialize)]
pub struct SignInSecrets {
    /// Random `state` value. The response of the provider must repeat it.
    pub state: String,
    /// Random `nonce` value. The ID token of this sign-in must contain it.
    pub nonce: String,
    /// PKCE code verifier.
    pub verifier: String,
}

/// Authorization response of the provider, which the browser passes on in the query of a redirect.
pub struct AuthorizationResponse<'a> {
    /// Authorization code; `None` if the provider has not signed the user in.
    pub code: Option<&'a str>,
    /// Issuer that the response names, if any (parameter `iss`).
    pub issuer: Option<&'a str>,
}

impl ClientSecret {
    /// Creates a client secret from its text.
    #[must_use]
    pub fn new(text: Zeroizing<String>) -> Self {
        Self(text)
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

impl SignInSecrets {
    /// Generates the random values of a new sign-in.
    #[must_use]
    pub fn draw() -> Self {
        let value = || URL_SAFE_NO_PAD.encode(random::<32>());
        Self { state: value(), nonce: value(), verifier: value() }
    }

    /// Returns the PKCE code challenge of the method `S256`.
    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }
}

impl CodeFlow {
    /// Creates the sign-in of browsers with the provider whose tokens `verifier` verifies.
    #[must_use]
    pub fn new(verifier: Arc<OidcVerifier>, client: OidcClient) -> Self {
        Self { verifier, client, exchanges: Semaphore::new(MAX_EXCHANGES) }
    }

    /// Returns the issuer URL of the provider.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.verifier.expectations.issuer
    }

    /// Returns the URL of the provider's page on which the user signs in.
    pub async fn authorization_url(&self, secrets: &SignInSecrets) -> Result<String, Unverified> {
        let provider = &self.verifier.cache.provider;
        let discovery = self.verifier.discovery.current(provider).await?;
        let url = provider.authorization_endpoint(&discovery).map_err(unavailable)?;
        let query = encode(&[
            ("response_type", "code"),
            ("client_id", &self.client.id),
            ("redirect_uri", &self.client.redirect_url),
            ("scope", &self.client.scopes),
            ("state", &secrets.state),
            ("nonce", &secrets.nonce),
            ("code_challenge", &secrets.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        let separator = if url.query().is_some() { '&' } else { '?' };
        Ok(format!("{url}{separator}{query}"))
    }

    /// Completes a sign-in: exchanges the authorization code for an ID token, and returns the
    /// verified identity of the user. The tokens of the provider are not kept.
    pub async fn finish(
        &self,
        response: AuthorizationResponse<'_>,
        secrets: &SignInSecrets,
    ) -> Result<Identity, Unverified> {
        let _permit = self
            .exchanges
            .try_acquire()
            .map_err(|_| Unverified::Unavailable("too many sign-ins at the same time".into()))?;
        let discovery = self.verifier.discovery.current(&self.verifier.cache.provider).await?;
        let requires_issuer = discovery.authorization_response_iss_parameter_supported;
        if response.issuer.map_or(requires_issuer, |issuer| issuer != self.issuer()) {
            return Err(refused("the answer is not from the configured issuer"));
        }
        let Some(code) = response.code else {
            return Err(refused("the provider has not signed the user in"));
        };
        let tokens = self.exchange(&discovery, code, secrets).await?;
        let id_token = tokens.id_token.ok_or_else(|| refused("there is no ID token"))?;
        let identity =
            self.verifier.verify_id_token(&id_token, &self.client.id, &secrets.nonce).await;
        let identity = identity.map_err(|error| match error {
            Refused::NoKeys(reason) => reason,
            Refused::Token(JwtError::Invalid(reason)) => refused(reason),
            Refused::Token(JwtError::Expired) => refused("the ID token has expired"),
            Refused::Token(JwtError::UnknownKey) => refused("the ID token has an unknown key"),
        })?;
        match tokens.access_token {
            Some(token) => self.verifier.enrich(&token, identity).await,
            None => Ok(identity),
        }
    }

    async fn exchange(
        &self,
        discovery: &Discovery,
        code: &str,
        secrets: &SignInSecrets,
    ) -> Result<TokenResponse, Unverified> {
        let provider = &self.verifier.cache.provider;
        let url = provider.token_endpoint(discovery).map_err(unavailable)?;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.client.redirect_url.as_str()),
            ("code_verifier", &secrets.verifier),
        ];
        let secret = self.client.secret.as_ref().map(|ClientSecret(secret)| secret.as_str());
        let pair = match secret {
            // The client ID and the secret are form-encoded before they are joined (RFC 6749,
            // section 2.3.1).
            Some(secret) if uses_basic(discovery) => {
                let pair = [self.client.id.as_str(), secret].map(form_encoded);
                Some(Zeroizing::new(pair.join(":")))
            }
            secret => {
                fields.push(("client_id", &self.client.id));
                fields.extend(secret.map(|secret| ("client_secret", secret)));
                None
            }
        };
        let credential = pair.as_ref().map(|pair| Credential::Basic(pair));
        let answer = provider.exchange(&url, credential, encode(&fields)).await;
        let (status, tokens) = answer.map_err(unavailable)?;
        if status == StatusCode::OK {
            return Ok(tokens);
        }
        let code = tokens.error.unwrap_or_default();
        let code = TOKEN_ERRORS.into_iter().find(|known| *known == code).unwrap_or("other error");
        Err(refused(code))
    }
}

/// True if this service authenticates at the token endpoint with HTTP Basic authentication; false
/// if it sends its credentials as form fields.
fn uses_basic(discovery: &Discovery) -> bool {
    let methods = discovery.token_endpoint_auth_methods_supported.as_ref();
    methods.is_none_or(|methods| {
        let has = |name: &str| methods.iter().any(|method| method == name);
        has("client_secret_basic") || !has("client_secret_post")
    })
}

fn encode(fields: &[(&str, &str)]) -> String {
    // Text pairs can always be encoded.
    serde_urlencoded::to_string(fields).unwrap_or_default()
}

fn form_encoded(text: &str) -> String {
    let pair = encode(&[("", text)]);
    pair.strip_prefix('=').unwrap_or_default().to_owned()
}

/// Logs the reason of a failed sign-in for the operator. The returned error does not contain the
/// reason, because the browser receives it.
fn refused(reason: &'static str) -> Unverified {
    tracing::warn!(reason, "refused a sign-in with a browser");
    Unverified::Invalid
}

fn unavailable(error: NoAnswer) -> Unverified {
    tracing::warn!(%error, "a sign-in with a browser failed at the identity provider");
    Unverified::Unavailable(Box::new(error))
}
