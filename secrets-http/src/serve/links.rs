//! Base URL of the links in responses and mail.

use hyper::HeaderMap;
use hyper::header::HOST;
use secrets_core::model::BaseUrl;
use warp::http::Extensions;

const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// Source of the base URL of links: the configured base URL, or else the scheme and host of the
/// request.
#[derive(Debug, Clone)]
pub struct Links {
    /// Configured base URL; `None` if there is none.
    pub configured: Option<BaseUrl>,
    /// True if this server itself terminates TLS, so that links use `https`.
    pub is_tls: bool,
}

/// Base URL of links, stored in the extensions of a request. `None` if no base URL is configured
/// and the request has no usable `Host` header.
#[derive(Clone)]
struct Base(Option<BaseUrl>);

/// Returns the base URL that [`Links::attach`] stored in the request.
pub(crate) fn base_of<B>(request: &hyper::Request<B>) -> Option<&BaseUrl> {
    request.extensions().get::<Base>()?.0.as_ref()
}

/// Takes the base URL that [`Links::attach`] stored in these extensions of a request.
pub(super) fn take(extensions: &mut Extensions) -> Option<BaseUrl> {
    extensions.remove::<Base>()?.0
}

impl Links {
    /// Determines the base URL and stores it in the extensions of the request. `X-Forwarded-Proto`
    /// is used only if the request came through a trusted proxy (`is_proxied`).
    pub(crate) fn attach<B>(&self, request: &mut hyper::Request<B>, is_proxied: bool) {
        let base =
            self.configured.clone().or_else(|| self.requested(request.headers(), is_proxied));
        request.extensions_mut().insert(Base(base));
    }

    fn requested(&self, headers: &HeaderMap, is_proxied: bool) -> Option<BaseUrl> {
        let own = if self.is_tls { "https" } else { "http" };
        let scheme = match single_header(headers, FORWARDED_PROTO) {
            Some("https") if is_proxied => "https",
            Some("http") if is_proxied => "http",
            _ => own,
        };
        let host = single_header(headers, HOST.as_str()).filter(|host| !host.contains('/'))?;
        format!("{scheme}://{host}").parse().ok()
    }
}

/// Returns the value of a header if the request has it exactly once; otherwise `None`.
fn single_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    const OWN: Links = Links { configured: None, is_tls: false };

    fn seen(links: &Links, headers: &[(&str, &str)], is_proxied: bool) -> Option<String> {
        let mut request = hyper::Request::new(());
        for (name, value) in headers {
            let name = name.parse::<HeaderName>().unwrap();
            request.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
        }
        links.attach(&mut request, is_proxied);
        request.extensions().get::<Base>().unwrap().0.as_ref().map(BaseUrl::to_string)
    }

    #[test]
    fn links_begin_where_the_request_was_sent() {
        let tls = Links { is_tls: true, ..OWN };

        let host = [("host", "secrets.example:8080")];
        assert_eq!(seen(&OWN, &host, false).unwrap(), "http://secrets.example:8080");
        assert_eq!(seen(&tls, &host, false).unwrap(), "https://secrets.example:8080");
    }

    #[test]
    fn a_configured_base_url_takes_precedence_over_the_request() {
        let configured = Some("https://secrets.example/base/".parse().unwrap());
        let links = Links { configured, is_tls: false };

        for headers in [&[("host", "evil.example")] as &[_], &[]] {
            assert_eq!(seen(&links, headers, true).unwrap(), "https://secrets.example/base");
        }
    }

    #[test]
    fn only_a_trusted_proxy_can_forward_the_scheme() {
        let headers = [("host", "secrets.example"), (FORWARDED_PROTO, "https")];

        assert_eq!(seen(&OWN, &headers, true).unwrap(), "https://secrets.example");
        assert_eq!(seen(&OWN, &headers, false).unwrap(), "http://secrets.example");
        let odd = [("host", "secrets.example"), (FORWARDED_PROTO, "javascript")];
        assert_eq!(seen(&OWN, &odd, true).unwrap(), "http://secrets.example");
    }

    #[test]
    fn an_invalid_host_gives_no_link() {
        let cases = ["", "a b", "u@evil.example", "evil.example/path", "evil.example?", "h:99999"];

        for host in cases {
            assert_eq!(seen(&OWN, &[("host", host)], false), None, "{host}");
        }
        assert_eq!(seen(&OWN, &[], false), None);
        assert_eq!(seen(&OWN, &[("host", "a"), ("host", "b")], false), None);
    }
}
