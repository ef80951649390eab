//! Fuzz targets of the egress policy and of webhook URLs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::assert_no_echo;
use crate::egress::{Class, EgressPolicy, classify, literal};
use crate::ports::webhook_url::WebhookUrl;

/// Constant parts of error texts. [`assert_no_echo`] ignores them, because the input may contain
/// the same words.
const RULES: &str = "an https:// address; must begin with https://, except";

/// Constant error text for an invalid egress policy. [`assert_no_echo`] ignores it, because the
/// input may contain the same words.
const NETWORK: &str = "must be a network such as 10.0.0.0/8, an address or a host name";

/// Parses the input as a webhook URL. A URL that the default policy permits must use TLS and must
/// not lead to an internal address.
pub fn webhook_url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let url = match WebhookUrl::try_from(text.to_owned()) {
        Ok(url) => url,
        Err(error) => return assert_no_echo(bytes, &error.to_string(), RULES),
    };
    assert_eq!(url.reveal(), text);
    assert_eq!(format!("{url:?}"), "WebhookUrl(…)", "`Debug` does not show the URL");
    assert!(!url.host().is_empty() && url.port() > 0);
    assert!(url.path_and_query().starts_with('/'));
    let is_printable = |part: &str| part.bytes().all(|byte| byte.is_ascii_graphic());
    assert!(is_printable(url.authority()) && is_printable(url.path_and_query()));
    assert!(!url.authority().contains(['@', '/', '\\', '?', '#']));

    // A URL that is built from the parts of a request has the same host, port and path.
    let scheme = if url.is_encrypted() { "https" } else { "http" };
    let again = format!("{scheme}://{}{}", url.authority(), url.path_and_query());
    if let Ok(again) = WebhookUrl::try_from(again) {
        assert_eq!((again.host(), again.port()), (url.host(), url.port()));
        assert_eq!(again.authority(), url.authority());
        assert_eq!(again.path_and_query(), url.path_and_query());
    }

    match url.check(&EgressPolicy::default()) {
        Ok(()) => {
            assert!(url.is_encrypted());
            let host = url.host().trim_matches(['[', ']']);
            assert!(!host.parse().is_ok_and(is_internal), "{host} is an internal address");
        }
        Err(error) => assert_no_echo(bytes, &error.to_string(), RULES),
    }
}

/// Classifies IP addresses made from the first 16 bytes of the input, and parses the rest as an
/// egress policy and as a host.
pub fn egress(bytes: &[u8]) {
    let Some((address, rest)) = bytes.split_first_chunk::<16>() else { return };
    let v6 = Ipv6Addr::from(*address);
    let [a, b, c, d, ..] = *address;
    let v4 = Ipv4Addr::from([a, b, c, d]);
    for address in [IpAddr::V4(v4), IpAddr::V6(v6)] {
        assert!(!is_internal(address) || classify(address) != Class::Global, "{address}");
        assert_eq!(literal(&address.to_string()), Some(address));
    }
    for embedding in embeddings(v4) {
        assert!(classify(embedding.into()) >= classify(v4.into()), "{embedding} leads to {v4}");
    }
    if let Ok(text) = std::str::from_utf8(rest) {
        policy(text, [v4.into(), v6.into()]);
        host(text);
    }
}

/// Checks that an egress policy permits no forbidden address, and that it permits all global
/// addresses.
fn policy(text: &str, addresses: [IpAddr; 2]) {
    let policy = match EgressPolicy::parse(text) {
        Ok(policy) => policy,
        Err(error) => return assert_no_echo(text.as_bytes(), &error.to_string(), NETWORK),
    };
    for address in addresses {
        let host = address.to_string();
        match classify(address) {
            Class::Global => assert!(policy.permits(&host, address)),
            Class::Special => {}
            Class::Forbidden => {
                assert!(
                    !policy.permits(&host, address) && !policy.permits_plaintext(&host, address)
                );
                assert!(!policy.admits(&host) && !policy.admits_plaintext(&host));
            }
        }
    }
}

/// Checks that the default policy admits a host only if the host is a name or a global address, in
/// whichever form the address is written.
fn host(text: &str) {
    let policy = EgressPolicy::default();
    assert!(!policy.admits_plaintext(text));
    let Some(address) = literal(text) else { return };
    assert_eq!(policy.admits(text), classify(address) == Class::Global);
    let is_admitted = policy.admits(text);
    assert!(!is_admitted || !is_internal(address), "{text} is an internal address");
}

/// Returns IPv6 addresses that contain an IPv4 address and lead to it.
fn embeddings(address: Ipv4Addr) -> [Ipv6Addr; 4] {
    let [high, low] = [address.to_bits() >> 16, address.to_bits() & 0xffff];
    let [high, low] = [high, low].map(|half| u16::try_from(half).unwrap());
    [
        address.to_ipv6_mapped(),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0x2001, 0, 1, 2, 3, 4, !high, !low),
    ]
}

/// True for an address that, according to the standard library, is not reachable on the Internet.
fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_broadcast()
                || address.is_documentation()
                || address.is_multicast()
                || address.is_unspecified()
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.to_ipv4_mapped().is_some_and(|mapped| is_internal(mapped.into()))
        }
    }
}
