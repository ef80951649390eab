//! Settings of the browser sign-in.

use hyper::Uri;
use secrets_core::model::BaseUrl;

use super::failure::Failure;
use super::layers::Layers;
use super::settings::{optional, required};
use super::types::TokenIssuer;
use super::values::{self, InvalidValue};
use crate::adapters::identity::{ClientSecret, OidcClient};

const DEFAULT_SCOPES: &str = "openid email profile";

/// Reads the settings of this service as a client of the identity provider. Returns `None` if none
/// are given, so that browsers cannot sign in.
pub(super) fn client(
    layers: &Layers,
    issuer: &TokenIssuer,
    public_url: Option<&BaseUrl>,
) -> Result<Option<OidcClient>, Failure> {
    let secret = optional(layers, "oidc_client_secret", |text| {
        values::not_empty(text).map(|text| ClientSecret::new(text.into()))
    })?;
    let scopes = optional(layers, "oidc_scopes", scopes)?;
    let Some(id) = optional(layers, "oidc_client_id", values::not_empty)? else {
        if secret.is_some() || scopes.is_some() {
            return Err(Failure::configuration(
                "SECRETS_OIDC_CLIENT_SECRET and SECRETS_OIDC_SCOPES need SECRETS_OIDC_CLIENT_ID",
            ));
        }
        return Ok(None);
    };
    let Some(public_url) = public_url else {
        return Err(Failure::configuration(
            "SECRETS_OIDC_CLIENT_ID needs SECRETS_PUBLIC_URL: the identity provider sends browsers back to this address",
        ));
    };
    if !public_url.as_str().starts_with("https:") && !is_loopback(public_url) {
        return Err(Failure::configuration(
            "SECRETS_OIDC_CLIENT_ID needs a SECRETS_PUBLIC_URL that begins with https://, because the sessions of browsers must not be sent unencrypted; http:// is accepted on loopback addresses only",
        ));
    }
    if let TokenIssuer::Shared(..) = issuer {
        return Err(Failure::configuration(
            "SECRETS_OIDC_CLIENT_ID and SECRETS_JWT_HS256_SECRET are both given: browsers sign in only with an OpenID provider",
        ));
    }
    // The endpoints of the provider are in its discovery document, below the issuer.
    required(layers, "jwt_issuer", values::url)?;
    let scopes = scopes.unwrap_or_else(|| DEFAULT_SCOPES.to_owned());
    let redirect_url = public_url.to("/sign-in/callback");
    Ok(Some(OidcClient { id, secret, scopes, redirect_url }))
}

fn scopes(text: &str) -> Result<String, InvalidValue> {
    let scopes: Vec<_> = text.split_ascii_whitespace().collect();
    let is_scope = |scope: &&str| scope.bytes().all(|byte| byte.is_ascii_graphic());
    if scopes.contains(&"openid") && scopes.iter().all(is_scope) {
        Ok(scopes.join(" "))
    } else {
        Err("must be scopes separated by spaces, one of them openid")
    }
}

/// True if a base URL has a loopback address as its host.
fn is_loopback(url: &BaseUrl) -> bool {
    let url = url.as_str().parse::<Uri>();
    url.is_ok_and(|url| values::is_loopback(url.host().unwrap_or_default()))
}
