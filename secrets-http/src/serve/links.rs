//! Base URL of the links in responses and mail.

use std::sync::{Arc, OnceLock};

use hyper::HeaderMap;
use hyper::header::HOST;
use secrets_core::model::BaseUrl;

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

/// Base URL of the links of one request. The URL is determined when it is first needed, because
/// most requests need none.
pub(crate) struct RequestBase {
    links: Arc<Links>,
    is_proxied: bool,
    requested: OnceLock<Option<BaseUrl>>,
}

impl RequestBase {
    /// Creates the base URL of a request. `X-Forwarded-Proto` is used only if the request came
    /// through a trusted proxy (`is_proxied`).
    pub(crate) fn new(links: &Arc<Links>, is_proxied: bool) -> Self {
        Self { links: Arc::clone(links), is_proxied, requested: OnceLock::new() }
    }

    /// Returns the base URL. `headers` are those of the request; the result of the first call is
    /// kept. Returns `None` if no base URL is configured and the request has no usable `Host`
    /// header.
    pub(crate) fn get(&self, headers: &HeaderMap) -> Option<&BaseUrl> {
        let requested = || self.links.requested(headers, self.is_proxied);
        let configured = self.links.configured.as_ref();
        configured.or_else(|| self.requested.get_or_init(requested).as_ref())
    }
}

impl Links {
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
        let mut given = HeaderMap::new();
        for (name, value) in headers {
            let name = name.parse::<HeaderName>().unwrap();
            given.append(name, HeaderValue::from_str(value).unwrap());
        }
        let base = RequestBase::new(&Arc::new(links.clone()), is_proxied);
        base.get(&given).map(BaseUrl::to_string)
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
