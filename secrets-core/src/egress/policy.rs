//! Egress policy: the destinations to which an operator allows connections.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::class::{Class, carried, classify, is_forbidden};
use crate::model::canonical_network;

/// Destinations to which connections are allowed: globally reachable addresses, and the addresses,
/// networks and host names that the operator lists. The default list is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressPolicy {
    networks: Vec<IpNet>,
    names: Vec<String>,
}

/// Error: an entry in the operator's list of allowed destinations is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadEntry {
    /// Position of the entry in the list, starting at 1.
    pub number: usize,
    reason: &'static str,
}

const NOT_AN_ENTRY: &str = "must be a network such as 10.0.0.0/8, an address or a host name";
const NEVER_REACHED: &str =
    "must not be link-local, metadata, multicast or unspecified: those are never reached";

impl EgressPolicy {
    /// Parses a list of networks (`10.0.0.0/8`), addresses and host names, separated by commas or
    /// whitespace. A host name allows all its addresses that are not [`Class::Forbidden`].
    pub fn parse(list: &str) -> Result<Self, BadEntry> {
        let mut policy = Self::default();
        let entries = list.split(|c: char| c == ',' || c.is_whitespace());
        for (entry, number) in entries.filter(|entry| !entry.is_empty()).zip(1..) {
            policy.add(entry).map_err(|reason| BadEntry { number, reason })?;
        }
        Ok(policy)
    }

    fn add(&mut self, entry: &str) -> Result<(), &'static str> {
        let address = || literal(entry).map(IpNet::from);
        if let Some(network) = entry.parse::<IpNet>().ok().or_else(address).map(canonical_network) {
            if is_forbidden(network) {
                return Err(NEVER_REACHED);
            }
            self.networks.push(network.trunc());
        } else {
            self.names.push(name(entry).ok_or(NOT_AN_ENTRY)?);
        }
        Ok(())
    }

    /// True if connecting to `address` is allowed. `host` is the name that was resolved to the
    /// address, or the address as the tenant wrote it.
    #[must_use]
    pub fn permits(&self, host: &str, address: IpAddr) -> bool {
        match classify(address) {
            Class::Global => true,
            Class::Special => self.lists(host, address),
            Class::Forbidden => false,
        }
    }

    /// True if connecting to `address` without TLS is allowed: the operator must have listed the
    /// address or `host`. `host` is the name that was resolved to the address, or the address as
    /// the tenant wrote it.
    #[must_use]
    pub fn permits_plaintext(&self, host: &str, address: IpAddr) -> bool {
        classify(address) != Class::Forbidden && self.lists(host, address)
    }

    /// True if a destination may be stored, as a webhook host or a database host. False for an
    /// address that is not allowed, and for a string that is not a host. A name is accepted,
    /// because its addresses are checked on every connection.
    #[must_use]
    pub fn admits(&self, host: &str) -> bool {
        match literal(host) {
            Some(address) => self.permits(host, address),
            None => name(host).is_some(),
        }
    }

    /// True if a destination may be stored for use without TLS: the operator must have listed the
    /// name or the address. False for an unlisted name, even if it resolves to a listed address.
    #[must_use]
    pub fn admits_plaintext(&self, host: &str) -> bool {
        match literal(host) {
            Some(address) => self.permits_plaintext(host, address),
            None => self.names(host),
        }
    }

    fn lists(&self, host: &str, address: IpAddr) -> bool {
        if self.names(host) {
            return true;
        }
        let within = |address: IpAddr| self.networks.iter().any(|net| net.contains(&address));
        match address {
            IpAddr::V4(_) => within(address),
            // A mapped address is another way of writing the IPv4 address. Other IPv6 addresses
            // with an embedded IPv4 address lead to that address, so both addresses must be
            // allowed.
            IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => within(address.to_canonical()),
            IpAddr::V6(v6) => {
                let leads_to_allowed = carried(v6).is_none_or(|carried| {
                    let carried = IpAddr::V4(carried);
                    classify(carried) == Class::Global || within(carried)
                });
                within(address) && leads_to_allowed
            }
        }
    }

    fn names(&self, host: &str) -> bool {
        name(host).is_some_and(|name| self.names.contains(&name))
    }
}

/// Parses a host that URL parsers or resolvers read as an IP address. This includes addresses
/// written in octal, in hexadecimal or as one number, shortened (`127.1`), in brackets, with a zone
/// ID, or with a trailing dot. `None` if `host` is not an address.
#[must_use]
pub fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.trim_matches(|c: char| c.is_ascii_whitespace());
    let inner = bare.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(bare);
    // The zone ID names a network interface and is not part of the address.
    let unscoped = inner.split_once('%').map_or(inner, |(address, _)| address);
    if let Ok(address) = unscoped.parse() {
        return Some(IpAddr::V6(address));
    }
    match Host::parse(bare) {
        Ok(Host::Ipv4(address)) => Some(address.into()),
        Ok(Host::Ipv6(address)) => Some(address.into()),
        Ok(Host::Domain(_)) | Err(_) => None,
    }
}

/// Normalizes a host name for resolvers: lower case, ASCII, without a trailing dot. `None` if
/// `host` is not a name.
pub(crate) fn name(host: &str) -> Option<String> {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_whole = !name.is_empty() && name.len() <= 253 && !name.contains("..");
            (is_whole && name.chars().all(is_name)).then(|| name.to_owned())
        }
        _ => None,
    }
}

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} {}", self.number, self.reason)
    }
}

impl std::error::Error for BadEntry {}
