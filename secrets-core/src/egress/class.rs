//! Classification of IP addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Class of an IP address. The order is from least to most restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Globally reachable unicast address. Connections are allowed.
    Global,
    /// Special address: private, loopback, reserved, or used for network address translation (NAT).
    /// Connections are allowed only if the operator lists the address.
    Special,
    /// Link-local or cloud metadata address, multicast, broadcast or unspecified address.
    /// Connections are never allowed.
    Forbidden,
}

/// IPv4 network: its first address, and the length of its prefix (number of fixed bits, at least
/// 1).
type V4 = ([u8; 4], u8);
/// IPv6 network: its first address, and the length of its prefix (number of fixed bits, at least
/// 1).
type V6 = ([u16; 8], u8);

/// IPv4 networks to which the service never connects.
const FORBIDDEN_V4: [V4; 7] = [
    ([0, 0, 0, 0], 8),          // "this host"; loopback on Linux
    ([169, 254, 0, 0], 16),     // link-local, and metadata of most clouds
    ([100, 100, 100, 200], 32), // metadata of Alibaba Cloud
    ([168, 63, 129, 16], 32),   // host of a virtual machine on Azure
    ([192, 0, 0, 192], 32),     // metadata of Oracle Cloud, formerly
    ([224, 0, 0, 0], 4),        // multicast
    ([255, 255, 255, 255], 32), // broadcast
];

/// IPv4 networks that are not globally reachable. Connections need the operator's permission.
const SPECIAL_V4: [V4; 12] = [
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10), // carrier-grade NAT
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

/// IPv6 networks to which the service never connects.
const FORBIDDEN_V6: [V6; 5] = [
    ([0; 8], 128),                                // unspecified
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),          // link-local
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),           // multicast
    ([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), // metadata of AWS
    ([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),  // metadata of Google Cloud
];

/// IPv6 networks that are globally reachable, except for the networks in [`SPECIAL_V6`].
const GLOBAL_V6: [V6; 1] = [([0x2000, 0, 0, 0, 0, 0, 0, 0], 3)];

/// IPv6 networks within [`GLOBAL_V6`] that are not globally reachable.
const SPECIAL_V6: [V6; 4] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments, with Teredo
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), // 6to4
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

/// Classifies an IP address. An IPv6 address that embeds an IPv4 address is at least as restricted
/// as the IPv4 address.
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

/// True if connections to all addresses of a network are forbidden.
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

/// Returns the IPv4 address embedded in an IPv6 address: the address that a translator or tunnel
/// would forward to, or an IPv4 address written in IPv6 format. `None` if no address is embedded.
pub(super) fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        // The unspecified and the loopback address do not embed an IPv4 address.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Compatible, mapped (RFC 4291) and translated (RFC 2765).
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        // NAT64 (RFC 6052, RFC 8215).
        | [0x64, 0xff9b, 0 | 1, _, _, _, high, low]
        // 6to4 (RFC 3056), and any prefix of ISATAP (RFC 5214).
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => v4(high, low),
        // Client address in Teredo (RFC 4380), with all bits inverted.
        [0x2001, 0, _, _, _, _, high, low] => v4(!high, !low),
        _ => None,
    }
}
