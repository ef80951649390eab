//! Client IP address of a request, taking trusted proxies into account.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hyper::HeaderMap;
use ipnet::IpNet;
use secrets_core::model::canonical_network;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Set of IP networks and addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

/// Error for a string that is not a comma-separated list of networks (`10.0.0.0/8`) and addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotNetworks;

/// Error for an `X-Forwarded-For` header of a trusted proxy with an entry that is not an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadForwarding;

impl Networks {
    /// Returns the loopback networks (`127.0.0.0/8` and `::1`).
    #[must_use]
    pub fn loopback() -> Self {
        let addresses = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        Self(addresses.into_iter().zip([8, 128]).map(|(a, n)| IpNet::new_assert(a, n)).collect())
    }

    /// Parses networks (`10.0.0.0/8`) and addresses, separated by commas.
    pub fn parse(list: &str) -> Result<Self, NotNetworks> {
        let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(|item| network(item).ok_or(NotNetworks)).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(&others.0);
        self
    }

    /// True if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if one of the networks contains the address.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Returns the client address of a request from `peer`. If `peer` is a trusted proxy, the address
/// is taken from `X-Forwarded-For`.
///
/// Each proxy appends the address of its client at the right end. So the list is read from right to
/// left, as long as the address that added an entry is trusted. Entries further to the left were
/// sent by the client and may be forged. If a trusted proxy sends no entry, the proxy itself is the
/// client.
pub fn client(
    trusted: &Networks,
    peer: IpAddr,
    headers: &HeaderMap,
) -> Result<IpAddr, BadForwarding> {
    let mut client = peer.to_canonical();
    if !trusted.contain(client) {
        return Ok(client);
    }
    for line in headers.get_all(FORWARDED_FOR).iter().rev() {
        let line = line.to_str().map_err(|_| BadForwarding)?;
        for hop in line.rsplit(',') {
            client = address(hop.trim()).ok_or(BadForwarding)?.to_canonical();
            if !trusted.contain(client) {
                return Ok(client);
            }
        }
    }
    Ok(client)
}

fn network(item: &str) -> Option<IpNet> {
    let single = || Some(item.parse::<IpAddr>().ok()?.to_canonical().into());
    item.parse::<IpNet>().ok().map(canonical_network).or_else(single)
}

/// Parses an entry of `X-Forwarded-For`, an address with or without a port.
fn address(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Returns the client address of a request from `peer` with these `X-Forwarded-For` headers, if
    /// `10.0.0.0/8` and `fd00::/8` are trusted proxies.
    fn seen(peer: &str, forwarded: &[&str]) -> Result<IpAddr, BadForwarding> {
        let trusted = Networks::parse("10.0.0.0/8, fd00::/8").unwrap();
        let lines = forwarded.iter().map(|line| HeaderValue::from_str(line).unwrap());
        let mut headers = HeaderMap::new();
        lines.for_each(|line| {
            headers.append(FORWARDED_FOR, line);
        });
        client(&trusted, ip(peer), &headers)
    }

    #[test]
    fn the_right_most_hop_that_is_not_trusted_is_the_client() {
        let cases: [(&str, &str, &[&str], &str); 12] = [
            ("no proxy", "192.0.2.1", &[], "192.0.2.1"),
            ("a stranger's header", "192.0.2.1", &["198.51.100.7"], "192.0.2.1"),
            ("one proxy", "10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("two proxies", "10.0.0.1", &["198.51.100.7, 10.0.0.2"], "198.51.100.7"),
            ("a forged beginning", "10.0.0.1", &["127.0.0.1, 198.51.100.7"], "198.51.100.7"),
            ("garbage in the forged part", "10.0.0.1", &["x y z, 198.51.100.7"], "198.51.100.7"),
            ("several lines", "10.0.0.1", &["1.1.1.1", "198.51.100.7", "10.0.0.2"], "198.51.100.7"),
            ("proxies only", "10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("a proxy that names nobody", "10.0.0.1", &[], "10.0.0.1"),
            ("an address with a port", "10.0.0.1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("IPv6 with a port", "fd00::1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("mapped on both ends", "::ffff:10.0.0.1", &["::ffff:198.51.100.7"], "198.51.100.7"),
        ];

        for (name, peer, forwarded, expected) in cases {
            assert_eq!(seen(peer, forwarded), Ok(ip(expected)), "{name}");
        }
    }

    #[test]
    fn an_entry_of_a_trusted_proxy_must_be_an_address() {
        assert_eq!(seen("10.0.0.1", &["unknown"]), Err(BadForwarding));
        assert_eq!(seen("10.0.0.1", &[""]), Err(BadForwarding));
        assert_eq!(seen("10.0.0.1", &["198.51.100.7, "]), Err(BadForwarding));
        assert_eq!(seen("10.0.0.1", &["198.51.100.7, _hidden, 10.0.0.2"]), Err(BadForwarding));
        assert_eq!(seen("10.0.0.1", &["300.1.1.1"]), Err(BadForwarding));
    }

    #[test]
    fn without_trusted_proxies_the_header_is_ignored() {
        let mut headers = HeaderMap::new();
        headers.append(FORWARDED_FOR, HeaderValue::from_static("198.51.100.7"));

        let seen = client(&Networks::default(), ip("10.0.0.1"), &headers);

        assert_eq!(seen, Ok(ip("10.0.0.1")));
    }

    #[test]
    fn a_list_holds_networks_and_addresses() {
        let networks = Networks::parse(" 192.0.2.1 ,10.0.0.0/8,::1, ").unwrap();

        assert!(networks.contain(ip("192.0.2.1")) && networks.contain(ip("::ffff:10.9.9.9")));
        assert!(!networks.contain(ip("192.0.2.2")) && !networks.contain(ip("11.0.0.1")));
        assert!(Networks::parse("").unwrap().is_empty());
        assert_eq!(Networks::parse("10.0.0.0/8,lb.local"), Err(NotNetworks));
        assert_eq!(Networks::parse("10.0.0.0/33"), Err(NotNetworks));
    }

    #[test]
    fn a_network_of_mapped_addresses_is_the_ipv4_network() {
        let networks = Networks::parse("::ffff:10.0.0.0/104").unwrap();

        assert!(networks.contain(ip("10.9.9.9")) && networks.contain(ip("::ffff:10.9.9.9")));
        assert!(!networks.contain(ip("11.0.0.1")));
    }

    #[test]
    fn this_machine_is_127_and_1() {
        let both = Networks::loopback().and(&Networks::parse("192.0.2.1").unwrap());

        assert!(both.contain(ip("127.0.0.9")) && both.contain(ip("::1")));
        assert!(both.contain(ip("::ffff:127.0.0.1")) && both.contain(ip("192.0.2.1")));
        assert!(!both.contain(ip("::2")) && !both.contain(ip("128.0.0.1")));
    }
}
