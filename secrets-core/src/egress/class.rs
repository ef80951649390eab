//! What an address is for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// What an address is for, as far as it matters to whom it is dialled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One host, which the whole internet can reach.
    Global,
    /// Of a private network, of this machine, of a translator, or kept for something else: dialled
    /// only where the operator lists it.
    Special,
    /// Never dialled: what belongs to the link or the machine's own cloud, and what is no one host.
    Forbidden,
}

/// A network: its first address, and how many bits of it count, at least one.
type V4 = ([u8; 4], u8);
type V6 = ([u16; 8], u8);

/// Networks of IPv4 that are never dialled.
const FORBIDDEN_V4: [V4; 7] = [
    ([0, 0, 0, 0], 8),          // "this host"; Linux takes it for the loopback address
    ([169, 254, 0, 0], 16),     // link-local, with most clouds' metadata
    ([100, 100, 100, 200], 32), // metadata of Alibaba Cloud
    ([168, 63, 129, 16], 32),   // the host of a machine on Azure
    ([192, 0, 0, 192], 32),     // metadata of Oracle Cloud, formerly
    ([224, 0, 0, 0], 4),        // multicast
    ([255, 255, 255, 255], 32), // broadcast
];

/// Networks of IPv4 that are not of the internet.
const SPECIAL_V4: [V4; 12] = [
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10), // behind carriers' translators
    ([127, 0, 0, 0], 8),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),   // protocol assignments
    ([192, 0, 2, 0], 24),   // documentation
    ([192, 88, 99, 0], 24), // relays of 6to4, formerly
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([240, 0, 0, 0], 4),     // reserved
];

/// Networks of IPv6 that are never dialled.
const FORBIDDEN_V6: [V6; 5] = [
    ([0; 8], 128),                                // unspecified
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),          // link-local
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),           // multicast
    ([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), // metadata of AWS
    ([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),  // metadata of Google Cloud
];

/// The only networks of IPv6 that are of the internet ...
const GLOBAL_V6: [V6; 1] = [([0x2000, 0, 0, 0, 0, 0, 0, 0], 3)];

/// ... but for these.
const SPECIAL_V6: [V6; 4] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments, with Teredo
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), // 6to4
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

/// What an address is for. One that carries an IPv4 address is at best what that one is.
#[must_use]
pub fn classify(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => {
            let carried = carried(address).map_or(Class::Global, of_v4);
            of_v6(address).max(carried)
        }
    }
}

/// Whether a whole network is of what is never dialled.
pub(super) fn is_forbidden(network: IpNet) -> bool {
    match network {
        IpNet::V4(network) => {
            let is_of = |of: &V4| network.prefix_len() >= of.1 && is_in_v4(network.network(), *of);
            FORBIDDEN_V4.iter().any(is_of)
        }
        IpNet::V6(network) => {
            let is_of = |of: &V6| network.prefix_len() >= of.1 && is_in_v6(network.network(), *of);
            FORBIDDEN_V6.iter().any(is_of)
        }
    }
}

fn of_v4(address: Ipv4Addr) -> Class {
    let is_in = |networks: &[V4]| networks.iter().any(|network| is_in_v4(address, *network));
    if is_in(&FORBIDDEN_V4) {
        Class::Forbidden
    } else if is_in(&SPECIAL_V4) {
        Class::Special
    } else {
        Class::Global
    }
}

fn of_v6(address: Ipv6Addr) -> Class {
    let is_in = |networks: &[V6]| networks.iter().any(|network| is_in_v6(address, *network));
    if is_in(&FORBIDDEN_V6) {
        Class::Forbidden
    } else if !is_in(&GLOBAL_V6) || is_in(&SPECIAL_V6) {
        Class::Special
    } else {
        Class::Global
    }
}

fn is_in_v4(address: Ipv4Addr, (network, length): V4) -> bool {
    (u32::from(address) ^ u32::from(Ipv4Addr::from(network))) >> (32 - length) == 0
}

fn is_in_v6(address: Ipv6Addr, (network, length): V6) -> bool {
    (u128::from(address) ^ u128::from(Ipv6Addr::from(network))) >> (128 - length) == 0
}

/// The IPv4 address that a translator or a tunnel would go on to, or that this is another way of
/// writing.
pub(super) fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        // Nothing and this machine; they are not IPv4.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Compatible, mapped (RFC 4291) and translated (RFC 2765).
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        // NAT64 (RFC 6052, RFC 8215).
        | [0x64, 0xff9b, 0 | 1, _, _, _, high, low]
        // 6to4 (RFC 3056), and any prefix of ISATAP (RFC 5214).
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => v4(high, low),
        // The client of Teredo (RFC 4380), which is written inverted.
        [0x2001, 0, _, _, _, _, high, low] => v4(!high, !low),
        _ => None,
    }
}
