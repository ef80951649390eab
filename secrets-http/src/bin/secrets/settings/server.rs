//! Address of a service.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use crate::failure::{Exit, Failure};

/// Address of a service: scheme, host, port and an optional path prefix.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Server(Url);

impl Server {
    /// Parses the address of a service. Plain HTTP is accepted only for this machine, unless
    /// `allows_http` is true.
    pub(crate) fn parse(text: &str, allows_http: bool) -> Result<Self, Failure> {
        let with_scheme =
            if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let mut url = Url::parse(&with_scheme)
            .map_err(|error| Failure::configuration(format!("server: {error}")))?;
        let refuse = |rule: &str| Err(Failure::configuration(format!("server: {rule}")));
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("must not contain a user name or a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("must not contain a query or a fragment");
        }
        match url.scheme() {
            "https" => {}
            "http" if allows_http || is_loopback(&url) => {}
            "http" => {
                return refuse(
                    "must begin with https:// unless the server is on this machine; \
                     --insecure-http allows plain HTTP",
                );
            }
            _ => return refuse("must begin with https:// or http://"),
        }
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Self(url))
    }

    /// Returns the origin (RFC 6454): scheme, host and port. Each credential belongs to one origin.
    pub(crate) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// True if the host is a loopback name or address, so that the server is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Returns the URL for a path below the address, given as segments. Each segment is
    /// percent-encoded. Fails for a segment that no URL can contain, because the URL would lead to
    /// another resource: `.` and `..` are removed from a path, as are line breaks and tabs.
    pub(crate) fn url(&self, segments: &[&str]) -> Result<Url, Failure> {
        if segments.iter().any(|segment| is_lost(segment)) {
            let message = "not found: no name is `.` or `..` or contains control characters";
            let mut failure = Failure::new(Exit::NotFound, message);
            failure.code = Some("not_found".to_owned());
            return Err(failure);
        }
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        Ok(url)
    }
}

/// True if a URL cannot contain this segment of a path, not even percent-encoded.
fn is_lost(segment: &str) -> bool {
    matches!(segment, "." | "..") || segment.contains(char::is_control)
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_url_can_contain_is_not_found() {
        let server = Server::parse("https://example.com/base", false).unwrap();

        for name in [".", "..", ".\t.", "a\nb"] {
            let failure = server.url(&["projects", name, "members"]).unwrap_err();
            assert_eq!(failure.exit, Exit::NotFound, "{name:?}");
        }
        let url = server.url(&["...", "%2e%2e", "a/b", ".a.", "a b"]).unwrap();
        assert_eq!(url.as_str(), "https://example.com/base/.../%252e%252e/a%2Fb/.a./a%20b");
    }
}
