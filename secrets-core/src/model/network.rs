//! Networks of IP addresses.

use ipnet::{IpNet, Ipv4Net};

/// Converts a network of IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2), such as
/// `::ffff:10.0.0.0/104`, to the IPv4 network. Returns other networks unchanged. Addresses are
/// compared with networks in this form.
#[must_use]
pub fn canonical_network(network: IpNet) -> IpNet {
    let IpNet::V6(mapped) = network else { return network };
    let parts = mapped.addr().to_ipv4_mapped().zip(mapped.prefix_len().checked_sub(96));
    let v4 = parts.and_then(|(address, length)| Ipv4Net::new(address, length).ok());
    v4.map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_mapped_addresses_is_the_ipv4_network() {
        for (text, expected) in [
            ("::ffff:10.1.2.3/104", "10.1.2.3/8"),
            ("::ffff:192.0.2.1/128", "192.0.2.1/32"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::ffff:0:0/95", "::ffff:0:0/95"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("10.0.0.0/8", "10.0.0.0/8"),
        ] {
            let network = canonical_network(text.parse().unwrap());
            assert_eq!(network, expected.parse::<IpNet>().unwrap(), "{text}");
        }
    }
}
