//! Cookie of a browser session.

use secrets_core::crypto::TokenText;
use secrets_core::model::BaseUrl;
use warp::http::header::{AUTHORIZATION, HOST, ORIGIN};
use warp::http::{HeaderMap, HeaderValue};

use crate::serve::cookies::cookies;

/// Headers that delete the session cookie, one for each of its possible names.
pub(crate) const DELETIONS: [HeaderValue; 2] = [
    HeaderValue::from_static(
        "__Host-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure",
    ),
    HeaderValue::from_static("secrets-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"),
];

/// Header that scripts of the dashboard send. Scripts of other origins cannot send it, because the
/// service permits no cross-origin requests (CORS).
const PAGE: &str = "x-secrets-page";

/// Cookie with the credential of a browser session. Its name depends on the scheme of the public
/// address.
pub(crate) struct SessionCookie {
    is_secure: bool,
}

impl SessionCookie {
    /// Creates the session cookie for a service with this public address.
    pub(crate) fn of(base: Option<&BaseUrl>) -> Self {
        Self { is_secure: base.is_some_and(|base| base.as_str().starts_with("https:")) }
    }

    fn name(&self) -> &'static str {
        if self.is_secure { "__Host-session" } else { "secrets-session" }
    }

    /// Returns the credential in the cookie. Returns `None` if there is no such cookie or several
    /// cookies have its name.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        match cookies(headers, self.name())[..] {
            [value] => Some(value),
            _ => None,
        }
    }

    /// Returns the header that sets the cookie, which expires after this number of seconds.
    pub(crate) fn set(&self, token: &TokenText, seconds: i64) -> HeaderValue {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text = format!(
            "{}={}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
            self.name(),
            token.reveal()
        );
        HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

/// Returns the credential of the session, if a script of this service sent the request. Returns
/// `None` for requests from other sites (CSRF), for requests to another host name (DNS rebinding),
/// for navigations, and if there is an `Authorization` header.
///
/// Whether a script of this service sent the request is shown by the Fetch Metadata headers, or, in
/// browsers without them, by the header `x-secrets-page`. `Origin`, if the browser sends it, must
/// also name the address of this service.
pub(crate) fn of_script<'a>(headers: &'a HeaderMap, public: Option<&BaseUrl>) -> Option<&'a str> {
    let public = public?;
    if headers.contains_key(AUTHORIZATION)
        || !is_own_host(headers, public)
        || names_other_origin(headers, public)
    {
        return None;
    }
    let header = |name| headers.get(name).map(HeaderValue::as_bytes);
    let is_own = match header("sec-fetch-site") {
        Some(site) => {
            site == b"same-origin" && header("sec-fetch-mode") != Some(b"navigate".as_slice())
        }
        // A browser without Fetch Metadata.
        None => header(PAGE) == Some(b"1".as_slice()),
    };
    if is_own { SessionCookie::of(Some(public)).read(headers) } else { None }
}

/// True if the header `Origin` (RFC 6454) names another address than `public`, the address of this
/// service. The origin `null` names no address: browsers send it for forms of this service, because
/// its pages send no referrer.
fn names_other_origin(headers: &HeaderMap, public: &BaseUrl) -> bool {
    let own = public.as_str().split_once("://").map(|(scheme, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        format!("{scheme}://{host}")
    });
    let own = own.unwrap_or_default();
    let is_own = |origin: &HeaderValue| {
        let origin = origin.as_bytes();
        origin == b"null" || origin.eq_ignore_ascii_case(own.as_bytes())
    };
    !headers.get_all(ORIGIN).iter().all(is_own)
}

/// True if the `Host` header of the request names the host of `public`, the address of this
/// service.
pub(crate) fn is_own_host(headers: &HeaderMap, public: &BaseUrl) -> bool {
    let own = public.as_str().split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let given = headers.get(HOST).and_then(|host| host.to_str().ok());
    given.zip(own).is_some_and(|(given, own)| given.eq_ignore_ascii_case(own))
}
