//! Cookie of a browser session, and the requests in which it is accepted.

use secrets_core::crypto::TokenText;
use secrets_core::model::BaseUrl;
use warp::http::header::{AUTHORIZATION, HOST, ORIGIN};
use warp::http::{HeaderMap, HeaderValue, Method};

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

/// Header of Fetch Metadata with the relation between the initiator of a request and this service.
const FETCH_SITE: &str = "sec-fetch-site";

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

/// Initiator of a request, as far as the headers of the request show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Initiator {
    /// Page or script of this service.
    Own,
    /// User who entered the address or opened a bookmark.
    User,
    /// Page or script of another site (CSRF).
    Other,
    /// Unknown initiator: the browser sent neither Fetch Metadata nor `Origin`.
    Unknown,
}

impl Initiator {
    /// Determines the initiator of a request to the service with this public address, from the
    /// Fetch Metadata headers and from `Origin` (RFC 6454). If both are present, they must agree.
    ///
    /// The origin `null` names no address: browsers send it for forms of this service, because its
    /// pages send no referrer. It is accepted only together with Fetch Metadata.
    pub(crate) fn of(headers: &HeaderMap, public: Option<&BaseUrl>) -> Self {
        let own = public.map(|public| origin_of(public).as_bytes());
        let is_own = |origin: &HeaderValue| {
            own.is_some_and(|own| origin.as_bytes().eq_ignore_ascii_case(own))
        };
        let is_no_other = |origin: &HeaderValue| origin.as_bytes() == b"null" || is_own(origin);
        let origins = headers.get_all(ORIGIN);
        match headers.get(FETCH_SITE).map(HeaderValue::as_bytes) {
            Some(b"same-origin") if origins.iter().all(is_no_other) => Self::Own,
            Some(b"none") if origins.iter().all(is_no_other) => Self::User,
            // A browser without Fetch Metadata.
            None if !headers.contains_key(ORIGIN) => Self::Unknown,
            None if origins.iter().all(is_own) => Self::Own,
            _ => Self::Other,
        }
    }
}

/// Returns the credential of the session, if a script of this service sent the request. Returns
/// `None` for requests from other sites (CSRF), for requests to another host name (DNS rebinding),
/// for navigations, and if there is an `Authorization` header.
///
/// If the browser sends no Fetch Metadata, the header `x-secrets-page` shows that a script of this
/// service sent the request.
pub(crate) fn of_script<'a>(headers: &'a HeaderMap, public: Option<&BaseUrl>) -> Option<&'a str> {
    let public = public?;
    let header = |name| headers.get(name).map(HeaderValue::as_bytes);
    let is_script = match header(FETCH_SITE) {
        Some(_) => header("sec-fetch-mode") != Some(b"navigate".as_slice()),
        // A browser without Fetch Metadata.
        None => header(PAGE) == Some(b"1".as_slice()),
    };
    let is_own = match Initiator::of(headers, Some(public)) {
        Initiator::Own | Initiator::Unknown => is_script && !headers.contains_key(AUTHORIZATION),
        Initiator::User | Initiator::Other => false,
    };
    credential(headers, public).filter(|_| is_own)
}

/// Returns the credential of the session, if the user opened the page or a page of this service
/// opened or submitted it. Returns `None` for requests from other sites (CSRF) and for requests to
/// another host name (DNS rebinding).
pub(crate) fn of_page<'a>(
    headers: &'a HeaderMap,
    method: &Method,
    public: Option<&BaseUrl>,
) -> Option<&'a str> {
    let public = public?;
    let is_own = match Initiator::of(headers, Some(public)) {
        Initiator::Own => true,
        Initiator::User => method != Method::POST,
        Initiator::Other | Initiator::Unknown => false,
    };
    credential(headers, public).filter(|_| is_own)
}

/// Returns the credential in the session cookie, if the `Host` header names the host of `public`,
/// the address of this service. Another name that resolves to this address is another site.
fn credential<'a>(headers: &'a HeaderMap, public: &BaseUrl) -> Option<&'a str> {
    let (_, own) = origin_of(public).split_once("://")?;
    let given = without_port(public, headers.get(HOST)?.to_str().ok()?);
    let is_own_host = given.eq_ignore_ascii_case(own);
    SessionCookie::of(Some(public)).read(headers).filter(|_| is_own_host)
}

/// Returns the origin of an address: the scheme, and the host with its port, in the form in which
/// browsers send it.
fn origin_of(address: &BaseUrl) -> &str {
    let text = address.as_str();
    without_port(address, text.strip_suffix(address.path()).unwrap_or(text))
}

/// Removes the port from a host if it is the default port of the scheme of `address`, because
/// browsers never send that port.
fn without_port<'a>(address: &BaseUrl, host: &'a str) -> &'a str {
    let port = if address.as_str().starts_with("https:") { ":443" } else { ":80" };
    host.strip_suffix(port).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetch_metadata_and_the_origin_show_the_initiator() {
        let public: BaseUrl = "https://Secrets.test/base".parse().unwrap();
        let own = "https://secrets.test";
        for (site, origin, expected) in [
            (Some("same-origin"), None, Initiator::Own),
            (Some("same-origin"), Some(own), Initiator::Own),
            (Some("same-origin"), Some("null"), Initiator::Own),
            (Some("same-origin"), Some("http://secrets.test"), Initiator::Other),
            (Some("none"), None, Initiator::User),
            (Some("same-site"), Some(own), Initiator::Other),
            (Some("cross-site"), Some("null"), Initiator::Other),
            (None, None, Initiator::Unknown),
            (None, Some(own), Initiator::Own),
            (None, Some("null"), Initiator::Other),
            (None, Some("http://secrets.test"), Initiator::Other),
            (None, Some("https://secrets.test:8080"), Initiator::Other),
        ] {
            let mut headers = HeaderMap::new();
            let given = [(FETCH_SITE, site), ("origin", origin)];
            for (name, value) in given {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            assert_eq!(Initiator::of(&headers, Some(&public)), expected, "{site:?} {origin:?}");
        }
    }

    #[test]
    fn a_browser_omits_the_default_port() {
        for (public, origin, hosts) in [
            ("https://a.test:443/base", "https://a.test", ["a.test", "a.test:443"]),
            ("https://a.test", "https://a.test", ["a.test", "a.test:443"]),
            ("http://a.test:80", "http://a.test", ["a.test", "a.test:80"]),
            ("http://[::80]", "http://[::80]", ["[::80]", "[::80]:80"]),
            ("https://a.test:80", "https://a.test:80", ["a.test:80", "A.test:80"]),
        ] {
            let public: BaseUrl = public.parse().unwrap();
            assert_eq!(origin_of(&public), origin);
            for host in hosts {
                let mut headers = HeaderMap::new();
                headers.insert(HOST, HeaderValue::from_static(host));
                let cookie = format!("{}=kvc_cookie", SessionCookie::of(Some(&public)).name());
                headers.insert("cookie", HeaderValue::from_str(&cookie).unwrap());
                assert_eq!(credential(&headers, &public), Some("kvc_cookie"), "{public} {host}");
            }
        }
    }
}
