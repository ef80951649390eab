//! Rate limits for each client IP address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{NamedWindows, RateLimiter, Window};
use crate::model::Time;

/// Limit of an IPv6 /48 network, as a multiple of the limit of a /64 network. Internet providers
/// assign /48 networks to organizations, and /64 or /56 networks to customers.
const WIDE_FACTOR: u32 = 16;

/// Rate limiter for client addresses: IPv4 addresses, IPv6 /64 networks, and IPv6 /48 networks with
/// a higher limit. Each kind has its own table. When a table is full, new addresses are admitted,
/// so that a flood of addresses cannot cause the refusal of other clients.
pub struct AddressLimiter {
    v4: RateLimiter<Ipv4Addr>,
    /// Counters of /64 networks, by the first 64 bits of the address.
    v6: RateLimiter<u64>,
    /// Counters of /48 networks, by the first 48 bits of the address.
    v6_wide: RateLimiter<u64>,
}

impl AddressLimiter {
    /// Creates a limiter that allows `limit` requests per minute for each address. 0 means
    /// unlimited.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        let wide = limit.saturating_mul(WIDE_FACTOR);
        Self {
            v4: RateLimiter::new(limit).admitting_overflow(),
            v6: RateLimiter::new(limit).admitting_overflow(),
            v6_wide: RateLimiter::new(wide).admitting_overflow(),
        }
    }

    /// Counts a request from an address. Returns the state of the counter of the IPv4 address or
    /// the IPv6 /64 network. If the /48 network is over its limit, returns the state of the counter
    /// of the /48 network instead. `None` if the limiter allows unlimited requests.
    pub fn count(&self, address: IpAddr, now: Time) -> Option<Window> {
        let (network, wide) = match address.to_canonical() {
            IpAddr::V4(address) => return self.v4.count(address, now),
            IpAddr::V6(address) => prefixes(address),
        };
        // Requests over the limit of the /64 network do not use up the limit of its neighbors.
        let own = self.v6.peek(network, now)?;
        let around = if own.admitted { self.v6_wide.count(wide, now) } else { None };
        around.filter(|around| !around.admitted).or_else(|| self.v6.count(network, now))
    }

    /// Counts a request from an address like [`count`](Self::count), but also includes the requests
    /// that the other nodes have counted.
    pub async fn count_shared(
        &self,
        shared: NamedWindows<'_>,
        address: IpAddr,
        now: Time,
    ) -> Option<Window> {
        let (network, wide) = match address.to_canonical() {
            IpAddr::V4(address) => {
                return self.v4.count_shared(shared.table("v4"), address, now).await;
            }
            IpAddr::V6(address) => prefixes(address),
        };
        let own = self.count(address, now)?;
        if !own.admitted {
            return Some(own);
        }
        let counters = [
            self.v6.shared_counter(shared.table("v6"), &network, now),
            self.v6_wide.shared_counter(shared.table("v6-wide"), &wide, now),
        ];
        let Some([used, used_wide]) = shared.add(counters).await else { return Some(own) };
        self.v6.raise(network, now, used);
        self.v6_wide.raise(wide, now, used_wide);
        let around = self.v6_wide.peek(wide, now)?.with_used(used_wide);
        Some(if around.admitted { own.with_used(used) } else { around })
    }

    /// Returns the state of the counter of an address without counting a request; `admitted` is
    /// true if one more request would be allowed.
    pub fn peek(&self, address: IpAddr, now: Time) -> Option<Window> {
        let (network, wide) = match address.to_canonical() {
            IpAddr::V4(address) => return self.v4.peek(address, now),
            IpAddr::V6(address) => prefixes(address),
        };
        let around = self.v6_wide.peek(wide, now)?;
        if around.admitted { self.v6.peek(network, now) } else { Some(around) }
    }
}

/// Returns the network under which requests and connections of a client are counted: an IPv4
/// address, or an IPv6 /64 network, because a client usually has a whole /64 and could use any of
/// its 2^64 addresses.
#[must_use]
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let (network, _) = prefixes(address);
            IpAddr::V6(Ipv6Addr::from_bits(u128::from(network) << 64))
        }
    }
}

/// Returns the first 64 and the first 48 bits of an address.
fn prefixes(address: Ipv6Addr) -> (u64, u64) {
    let first = |bits: u32| u64::try_from(address.to_bits() >> (128 - bits)).unwrap_or_default();
    (first(64), first(48))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    /// Number of addresses in the tests with many addresses, more than a table holds.
    const FLOOD: u32 = 200_000;

    fn now() -> Time {
        DateTime::from_timestamp(0, 0).unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn admitted(limiter: &AddressLimiter, address: &str) -> bool {
        limiter.peek(ip(address), now()).unwrap().admitted
    }

    /// Creates a limiter that has counted 20 requests from each of 200,000 networks in
    /// `2001:db8::/32`.
    fn flooded() -> AddressLimiter {
        let limiter = AddressLimiter::new(20);
        for number in 0..FLOOD {
            let address = 0x2001_0db8_u128 << 96 | u128::from(number) << 64;
            for _ in 0..20 {
                limiter.count(Ipv6Addr::from_bits(address).into(), now());
            }
        }
        limiter
    }

    #[test]
    fn a_flood_of_networks_bars_no_other_address() {
        let limiter = flooded();

        assert!(admitted(&limiter, "192.0.2.1"));
        assert!(admitted(&limiter, "2001:db9::1"));
        assert!(!admitted(&limiter, "2001:db8::1"), "the networks of the flood are limited");
    }

    #[test]
    fn a_flood_of_ipv4_addresses_bars_no_other_address() {
        let limiter = AddressLimiter::new(1);
        for number in 0..FLOOD {
            limiter.count(Ipv4Addr::from_bits(0x0a00_0000 + number).into(), now());
        }

        assert!(admitted(&limiter, "192.0.2.1"));
        assert!(admitted(&limiter, "2001:db8::1"));
        assert!(!admitted(&limiter, "10.0.0.0"));
    }

    #[test]
    fn networks_of_one_site_have_a_higher_limit_in_common() {
        let limiter = AddressLimiter::new(1);

        let counted = (0..20).map(|n| ip(&format!("2001:db8:1:{n}::1")));
        let counted = counted.filter(|one| limiter.count(*one, now()).unwrap().admitted).count();

        assert_eq!(counted, 16);
        assert!(!admitted(&limiter, "2001:db8:1:ffff::1"));
        assert!(admitted(&limiter, "2001:db8:2::1"));
    }

    #[test]
    fn one_network_does_not_use_up_the_limit_of_its_site() {
        let limiter = AddressLimiter::new(2);

        for _ in 0..1_000 {
            limiter.count(ip("2001:db8:1:2::1"), now());
        }

        assert!(!admitted(&limiter, "2001:db8:1:2::7"));
        assert!(admitted(&limiter, "2001:db8:1:3::1"));
    }

    #[test]
    fn networks_are_the_first_64_and_48_bits() {
        let address = "2001:db8:1:2:3:4:5:6".parse().unwrap();

        assert_eq!(prefixes(address), (0x2001_0db8_0001_0002, 0x2001_0db8_0001));
        assert_eq!(prefixes(Ipv6Addr::LOCALHOST), (0, 0));
    }

    #[test]
    fn looking_at_an_address_counts_nothing() {
        let limiter = AddressLimiter::new(1);

        for address in ["192.0.2.1", "2001:db8::1"] {
            for _ in 0..100 {
                assert!(admitted(&limiter, address), "{address}");
            }
            assert!(limiter.count(ip(address), now()).unwrap().admitted, "{address}");
            assert!(!admitted(&limiter, address), "{address}");
        }
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address() {
        let limiter = AddressLimiter::new(1);

        limiter.count(ip("::ffff:192.0.2.1"), now());

        assert!(!admitted(&limiter, "192.0.2.1"));
    }

    #[test]
    fn an_ipv6_client_is_counted_by_its_network() {
        assert_eq!(network_of(ip("2001:db8:1:2:3:4:5:6")), ip("2001:db8:1:2::"));
        assert_eq!(network_of(ip("::ffff:192.0.2.1")), ip("192.0.2.1"));
        assert_eq!(network_of(ip("192.0.2.1")), ip("192.0.2.1"));
    }

    #[test]
    fn zero_counts_nothing() {
        assert_eq!(AddressLimiter::new(0).count(ip("192.0.2.1"), now()), None);
        assert_eq!(AddressLimiter::new(0).peek(ip("2001:db8::1"), now()), None);
    }
}
