//! Session of the browser on pages that accept it: `/device` and `/invitations/{token}`.
//!
//! For other paths, the session cookie is accepted only in requests that scripts of this service
//! send. These pages are opened and submitted by the browser itself, so other rules apply to them.

use secrets_core::engine::Caller;
use secrets_core::model::{BaseUrl, Error, Origin};
use warp::http::header::ORIGIN;
use warp::http::{HeaderMap, Method};

use crate::serve::api::Api;
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::session_cookie::{SessionCookie, is_own_host};

/// Content of the response to a form that another site has submitted.
pub(super) const CROSS_SITE: &str = "<p>Refused: this form was submitted from another site.</p>\n";

/// Returns the credential in the session cookie of a request. Returns `None` if another site caused
/// the request: a form must be submitted from this service, and a page must be opened from this
/// service or by the user.
pub(super) fn credential<'a>(
    headers: &'a HeaderMap,
    method: &Method,
    base: Option<&BaseUrl>,
) -> Option<&'a str> {
    let base = base?;
    let is_own = match header(headers, "sec-fetch-site") {
        Some("same-origin") => true,
        Some("none") => method == Method::GET,
        Some(_) => false,
        // A browser without Fetch Metadata.
        None => {
            let origin = header(headers, ORIGIN.as_str());
            method == Method::POST
                && origin.is_some_and(|origin| split(origin) == split(base.as_str()))
        }
    };
    // Another name that resolves to this address (DNS rebinding) is another site.
    if is_own && is_own_host(headers, base) {
        SessionCookie::of(Some(base)).read(headers)
    } else {
        None
    }
}

/// Authenticates the user by the session of the browser. Returns `None` if the session has ended.
pub(super) async fn caller(
    api: &Api,
    credential: &str,
    origin: Origin,
) -> Result<Option<Caller>, Error> {
    match api.service.authenticate_browser(credential, origin).await {
        Ok(caller) => Ok(Some(caller)),
        Err(error) if error.refuses_credential() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the link with which the user signs in and then returns to a path of this service.
/// Returns `None` if browsers do not sign in with the identity provider.
pub(super) fn sign_in_link(api: &Api, base: Option<&BaseUrl>, path: &str) -> Option<String> {
    match api.sign_in.as_ref() {
        BrowserSignIn::Provider(_) => Some(super::sign_in::link(base, path)),
        BrowserSignIn::Off | BrowserSignIn::Dev(_) => None,
    }
}

/// True if the form was submitted from another site (CSRF). The Fetch Metadata headers show the
/// site of the form. For a browser without Fetch Metadata, `Origin` (RFC 6454), if present, must be
/// the host of this server.
///
/// Such a form must be refused, because a proxy in front of the service that signs users in would
/// authenticate it.
pub(super) fn is_cross_site(headers: &HeaderMap, own: Option<&BaseUrl>) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site != "same-origin";
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let host = |url| split(url).map(|(_, host)| host);
    let own = own.and_then(|own| host(own.as_str()));
    own.is_none() || origin.to_str().ok().and_then(host) != own
}

/// Returns the scheme of a URL, and its host with the port.
fn split(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    Some((scheme, rest.split('/').next().unwrap_or_default()))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
