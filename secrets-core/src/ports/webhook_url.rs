//! URLs of webhooks: parsing and validation.

use std::fmt;

use serde::Deserialize;
use url::{Position, Url};

use crate::egress::EgressPolicy;
use crate::model::{Error, Result, ValidationRule, Violation};

/// URL of a webhook: `https://`, or `http://` to destinations that the operator allows; at most
/// 2,048 characters, without credentials and without a fragment. The path or query may contain a
/// token, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebhookUrl {
    text: String,
    url: Url,
}

/// Maximum length of a webhook URL, in characters.
const MAX_LENGTH: usize = 2_048;

const RULE: ValidationRule = ValidationRule::of(
    "must be an https:// address of at most 2048 characters, without credentials and without a fragment",
);

impl WebhookUrl {
    /// Returns the URL as it was submitted. Do not log the URL, because it may contain a token.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// True if the scheme is `https`.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns the host of the URL: a lower-case name, an IPv4 address, or an IPv6 address in
    /// brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the port of the URL, or the default port of its scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// Returns the host of the URL, with the port unless it is the default port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    /// Returns the path and query, in the form used in an HTTP request.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// Fails if the egress policy does not allow the URL. Called before the URL is stored. The
    /// addresses of a host name are checked only when a connection is made.
    pub(crate) fn check(&self, policy: &EgressPolicy) -> Result<()> {
        if !self.is_encrypted() && !policy.admits_plaintext(self.host()) {
            let message =
                "must begin with https://, except for destinations that the egress policy lists";
            return Err(Error::invalid("url", message));
        }
        if !policy.admits(self.host()) {
            let message = "must not be an address that the egress policy forbids";
            return Err(Error::invalid("url", message));
        }
        Ok(())
    }
}

impl TryFrom<String> for WebhookUrl {
    type Error = Violation;

    fn try_from(text: String) -> std::result::Result<Self, Violation> {
        // Check strictly before parsing: the WHATWG URL parser would repair much of what is
        // rejected here.
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let rest = rest.ok_or(RULE.violation())?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, after) = rest.split_at(end);
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'#');
        if text.len() > MAX_LENGTH || authority.contains('@') || !after.bytes().all(is_plain) {
            return Err(RULE.violation());
        }
        if authority.is_empty() || !authority.bytes().all(is_plain) {
            return Err(RULE.violation());
        }
        match Url::parse(&text) {
            Ok(url) if url.port_or_known_default() != Some(0) => Ok(Self { text, url }),
            _ => Err(RULE.violation()),
        }
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> WebhookUrl {
        text.to_owned().try_into().unwrap()
    }

    #[test]
    fn a_url_has_one_interpretation() {
        let cases = [
            ("https://hooks.example.com", "hooks.example.com", 443, "hooks.example.com", "/"),
            ("https://EXAMPLE.com:443/a?b=c", "example.com", 443, "example.com", "/a?b=c"),
            ("http://example.com:8080/?x", "example.com", 8080, "example.com:8080", "/?x"),
            ("https://[2001:DB8::1]:1/", "[2001:db8::1]", 1, "[2001:db8::1]:1", "/"),
            ("https://0x7f.1/", "127.0.0.1", 443, "127.0.0.1", "/"),
            ("https://2130706433", "127.0.0.1", 443, "127.0.0.1", "/"),
            ("https://0177.0.0.1/../x", "127.0.0.1", 443, "127.0.0.1", "/x"),
        ];

        for (text, host, port, authority, path) in cases {
            let url = url(text);
            assert_eq!(
                (url.host(), url.port(), url.authority(), url.path_and_query()),
                (host, port, authority, path),
                "{text}"
            );
            assert_eq!(url.reveal(), text);
        }
    }

    #[test]
    fn an_ambiguous_url_is_refused() {
        let long = format!("https://example.com/{}", "a".repeat(MAX_LENGTH));
        let cases = [
            "",
            "example.com",
            "ftp://example.com",
            "file:///etc/passwd",
            "HTTPS://example.com",
            "https:example.com",
            "https:/example.com",
            "https://",
            "https:///path",
            "https://?x",
            "https://user@example.com",
            "https://user:pw@example.com",
            "https://@example.com",
            "https://example.com\\@evil.example",
            "https://example.com/#part",
            "https://example.com#",
            "https://exa mple.com",
            "https://example.com/a b",
            "https://example.com/\n",
            " https://example.com",
            "https://exämple.com",
            "https://example.com:0",
            "https://example.com:65536",
            "https://[::1",
            "https://1.2.3.4.5",
            &long,
        ];

        for text in cases {
            assert!(WebhookUrl::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_webhook_is_reached_encrypted_and_on_the_internet() {
        let policy = EgressPolicy::parse("10.0.0.0/8,hooks.internal").unwrap();
        let cases = [
            ("https://example.com", true),
            ("http://example.com", false),
            ("https://8.8.8.8", true),
            ("http://8.8.8.8", false),
            ("https://127.0.0.1", false),
            ("https://169.254.169.254", false),
            ("https://[::ffff:127.0.0.1]", false),
            ("https://0x7f000001", false),
            ("https://10.1.2.3", true),
            ("http://10.1.2.3", true),
            ("http://hooks.internal:8080", true),
        ];

        for (text, is_kept) in cases {
            assert_eq!(url(text).check(&policy).is_ok(), is_kept, "{text}");
        }
    }
}
