//! Which destinations an operator allows.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::class::{Class, carried, classify, is_forbidden};

/// Which destinations may be connected to. The default lists nothing: only what the whole internet
/// can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressPolicy {
    networks: Vec<IpNet>,
    names: Vec<String>,
}

/// An entry of the list that cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadEntry {
    /// Which one, counted from one.
    pub number: usize,
    reason: &'static str,
}

const NOT_AN_ENTRY: &str = "must be a network such as 10.0.0.0/8, an address or a host name";
const NEVER_REACHED: &str =
    "must not be link-local, metadata, multicast or unspecified: those are never reached";

impl EgressPolicy {
    /// Reads networks (`10.0.0.0/8`), addresses and host names, separated by commas or white space.
    /// A host name stands for every address it has that is not [`Class::Forbidden`].
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
        if let Some(network) = entry.parse::<IpNet>().ok().or_else(address) {
            if is_forbidden(network) {
                return Err(NEVER_REACHED);
            }
            self.networks.push(network.trunc());
        } else {
            self.names.push(name(entry).ok_or(NOT_AN_ENTRY)?);
        }
        Ok(())
    }

    /// Whether this address may be connected to, for a host of this name (or written so).
    #[must_use]
    pub fn permits(&self, host: &str, address: IpAddr) -> bool {
        match classify(address) {
            Class::Global => true,
            Class::Special => self.lists(host, address),
            Class::Forbidden => false,
        }
    }

    /// Whether this address, for a host of this name, may be spoken to without TLS: the list names
    /// it.
    #[must_use]
    pub fn permits_plaintext(&self, host: &str, address: IpAddr) -> bool {
        classify(address) != Class::Forbidden && self.lists(host, address)
    }

    /// Whether a destination may be kept: false for an address that may not be connected to, and
    /// for what cannot be a host. A name may: it is judged whenever it is dialled.
    #[must_use]
    pub fn admits(&self, host: &str) -> bool {
        match literal(host) {
            Some(address) => self.permits(host, address),
            None => name(host).is_some(),
        }
    }

    /// Whether a destination that is to be spoken to without TLS may be kept: the list names it as
    /// it is written. That a name has a listed address is known only when it is dialled.
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
            // A mapped address is another way of writing the IPv4 address. The others are a way to
            // it, so both the way and where it leads must be allowed.
            IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
                within(address.to_canonical()) || within(address)
            }
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

/// The address that a host is, where a parser of URLs or a resolver takes it for one: also written
/// in octal, hexadecimal or as one number, short (`127.1`), in brackets, with a scope or with a dot
/// at the end.
#[must_use]
pub fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.trim_matches(|c: char| c.is_ascii_whitespace());
    let inner = bare.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(bare);
    // Which link it is of does not make another address of it.
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

/// A host name as resolvers take it: in lower case, in ASCII, without a dot at the end.
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
