//! Base URL of links shown to users.

use std::fmt;
use std::str::FromStr;

/// Base URL of links, such as `https://secrets.example.com`, with or without a path. Contains no
/// credentials and no query, and does not end with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

const RULE: &str = "must be a URL such as https://secrets.example.com, optionally with a path";

impl BaseUrl {
    /// Returns the base URL followed by a path, which must begin with a slash.
    #[must_use]
    pub fn to(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Returns the path of the base URL: empty, or beginning with a slash.
    #[must_use]
    pub fn path(&self) -> &str {
        let (_, rest) = self.0.split_once("://").unwrap_or(("", &self.0));
        rest.find('/').map_or("", |start| &rest[start..])
    }

    /// Returns the base URL as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Default base URL: the default address of the server. Used if the operator configures no base
/// URL.
impl Default for BaseUrl {
    fn default() -> Self {
        Self("http://localhost:8080".to_owned())
    }
}

impl FromStr for BaseUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let rest = rest.ok_or(RULE)?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        if is_host(host) && path.bytes().all(is_path_byte) && !path.contains("//") {
            Ok(Self(text.trim_end_matches('/').to_owned()))
        } else {
            Err(RULE)
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// True if `text` is a host name or IP address with an optional port (RFC 3986, section 3.2.2,
/// except rarely used syntax).
fn is_host(text: &str) -> bool {
    let (name, rest) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let Some((address, rest)) = bracketed.split_once(']') else { return false };
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            (address, rest)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let named =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    (1..=253).contains(&name.len())
        && name.bytes().all(named)
        && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_host_and_perhaps_a_path() {
        let cases = [
            ("https://secrets.example.com", "https://secrets.example.com/x"),
            ("https://secrets.example.com/", "https://secrets.example.com/x"),
            ("http://localhost:8080", "http://localhost:8080/x"),
            ("http://[::1]:8080/", "http://[::1]:8080/x"),
            ("https://example.com/tools/secrets/", "https://example.com/tools/secrets/x"),
        ];

        for (text, link) in cases {
            assert_eq!(text.parse::<BaseUrl>().unwrap().to("/x"), link);
        }
    }

    #[test]
    fn a_base_has_a_path_or_none() {
        let path = |text: &str| text.parse::<BaseUrl>().unwrap().path().to_owned();

        assert_eq!(path("https://example.com:8443"), "");
        assert_eq!(path("https://example.com/"), "");
        assert_eq!(path("https://example.com/tools/secrets/"), "/tools/secrets");
    }

    #[test]
    fn an_ambiguous_url_is_no_base() {
        let cases = [
            "",
            "example.com",
            "//example.com",
            "https://",
            "https:///path",
            "ftp://example.com",
            "javascript://example.com",
            "HTTPS://example.com",
            "https://user@example.com",
            "https://user:pw@example.com",
            "https://example.com:",
            "https://example.com:0",
            "https://example.com:65536",
            "https://example.com:80:80",
            "https://[::1",
            "https://[evil.example]",
            "https://example.com?x",
            "https://example.com/?x",
            "https://example.com/#x",
            "https://example.com//evil.example",
            "https://exa mple.com",
            "https://example.com/\"><script>",
            "https://example.com\\@evil.example",
            "https://exämple.com",
            "https://example.com\n",
        ];

        for text in cases {
            assert!(text.parse::<BaseUrl>().is_err(), "{text}");
        }
    }
}
