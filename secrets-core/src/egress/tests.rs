//! Tests of the egress policy, each with a table of cases.

use std::net::IpAddr;

use super::{Class, EgressPolicy, classify, literal};

/// Test table, one case per line: a host as a user may write it, and the expected result.
const CASES: &str = include_str!("cases.txt");

#[test]
fn every_way_to_write_an_address_is_judged_as_the_address() {
    let nothing_listed = EgressPolicy::default();
    let mut cases = 0;
    for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (verdict, host) = line.split_once(' ').unwrap();
        let found = match literal(host) {
            None if nothing_listed.admits(host) => "name",
            None => "nothing",
            Some(address) => match classify(address) {
                Class::Global => "global",
                Class::Special => "special",
                Class::Forbidden => "forbidden",
            },
        };
        assert_eq!(found, verdict, "{host}");
        assert_eq!(
            nothing_listed.admits(host),
            matches!(verdict, "name" | "global"),
            "{host} at creation"
        );
        cases += 1;
    }

    assert!(cases >= 120, "{cases}");
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn listed_destinations_are_permitted() {
    let policy = EgressPolicy::parse("10.0.0.0/8, db.Internal. 127.1\n[::1],fd00::/8").unwrap();

    for (host, address) in [
        ("x", "10.200.0.1"),
        ("x", "::ffff:10.0.0.1"),
        ("DB.internal", "192.168.0.1"),
        ("db.internal.", "fc00::1"),
        ("localhost", "127.0.0.1"),
        ("::1", "::1"),
        ("x", "fd12::1"),
    ] {
        assert!(policy.permits(host, ip(address)), "{host} {address}");
        assert!(policy.permits_plaintext(host, ip(address)), "{host} {address}");
    }
}

#[test]
fn a_listed_network_of_mapped_addresses_is_the_ipv4_network() {
    let policy = EgressPolicy::parse("::ffff:10.0.0.0/104 ::ffff:192.168.0.1").unwrap();

    for address in ["10.200.0.1", "::ffff:10.200.0.1", "192.168.0.1", "::ffff:192.168.0.1"] {
        assert!(policy.permits("x", ip(address)), "{address}");
    }
    assert!(!policy.permits("x", ip("192.168.0.2")));
}

#[test]
fn unlisted_destinations_are_not_permitted() {
    let policy = EgressPolicy::parse("10.0.0.0/8 db.internal 64:ff9b::/96").unwrap();

    for (host, address) in [
        ("x", "192.168.0.1"),
        ("a.db.internal", "192.168.0.1"),
        ("db.internal.evil", "192.168.0.1"),
        ("x", "127.0.0.1"),
        ("x", "::ffff:127.0.0.1"),
        ("x", "64:ff9b::127.0.0.1"),
        ("x", "64:ff9b:1::10.0.0.1"),
        ("x", "2002:a00:1::"),
    ] {
        assert!(!policy.permits(host, ip(address)), "{host} {address}");
    }
    assert!(policy.permits("x", ip("64:ff9b::10.0.0.1")), "both ends of the translator are listed");
    assert!(policy.permits("x", ip("64:ff9b::8.8.8.8")));
}

#[test]
fn forbidden_addresses_are_not_permitted_when_listed() {
    let everything = EgressPolicy::parse("0.0.0.0/0 ::/0 metadata").unwrap();

    for address in [
        "169.254.169.254",
        "169.254.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "fe80::1",
        "ff02::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "64:ff9b::169.254.169.254",
        "2002:a9fe:a9fe::1",
    ] {
        assert!(!everything.permits("metadata", ip(address)), "{address}");
        assert!(!everything.permits_plaintext("metadata", ip(address)), "{address}");
    }
    assert!(everything.permits("x", ip("127.0.0.1")));
}

#[test]
fn plaintext_is_permitted_for_listed_destinations_only() {
    let policy = EgressPolicy::parse("10.0.0.0/8 db.internal 8.8.8.8").unwrap();

    assert!(policy.admits_plaintext("10.1.2.3"));
    assert!(policy.admits_plaintext("0xa.1"));
    assert!(policy.admits_plaintext("Db.internal"));
    assert!(policy.permits_plaintext("x", ip("8.8.8.8")));
    for host in ["1.1.1.1", "example.com", "169.254.169.254", "127.0.0.1", ""] {
        assert!(!policy.admits_plaintext(host), "{host}");
    }
    assert!(!policy.permits_plaintext("example.com", ip("1.1.1.1")));
}

#[test]
fn an_invalid_entry_is_named_by_its_number() {
    for (list, said) in [
        ("10.0.0.0/8, 10.0.0.0/33", "entry 2 must be a network such as"),
        ("http://x", "entry 1 must be a network such as"),
        ("*.example.com", "entry 1 must be a network such as"),
        ("a b 169.254.169.254", "entry 3 must not be link-local"),
        ("169.254.0.0/16", "entry 1 must not be link-local"),
        ("fe80::/64", "entry 1 must not be link-local"),
        ("0.0.0.0", "entry 1 must not be link-local"),
        ("::ffff:169.254.0.0/112", "entry 1 must not be link-local"),
    ] {
        let error = EgressPolicy::parse(list).unwrap_err().to_string();

        assert!(error.starts_with(said), "{list}: {error}");
    }
    assert_eq!(EgressPolicy::parse(" , \n").unwrap(), EgressPolicy::default());
}

#[cfg(feature = "rotators")]
mod dialling {
    use std::io;
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;
    use tokio::net::TcpListener;

    use super::ip;
    use crate::egress::{DialError, Dialer, EgressPolicy, Resolver};

    const TIMEOUT: Duration = Duration::from_secs(2);

    /// Resolver that returns the given results one after another, and then repeats the last one.
    struct Flipping {
        answers: Vec<Vec<IpAddr>>,
        asked: AtomicUsize,
    }

    #[async_trait]
    impl Resolver for Flipping {
        async fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            Ok(self.answers[number.min(self.answers.len() - 1)].clone())
        }
    }

    /// Resolver that never answers.
    struct Silent;

    #[async_trait]
    impl Resolver for Silent {
        async fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
            std::future::pending().await
        }
    }

    fn resolver(answers: &[&[&str]]) -> Arc<Flipping> {
        let answers = answers.iter().map(|list| list.iter().map(|text| ip(text)).collect());
        Arc::new(Flipping { answers: answers.collect(), asked: AtomicUsize::new(0) })
    }

    /// Starts a listener on the loopback address that must receive no connection. Returns the
    /// listener and its port.
    async fn listener() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    async fn has_no_connection(listener: &TcpListener) -> bool {
        tokio::time::timeout(Duration::from_millis(50), listener.accept()).await.is_err()
    }

    #[tokio::test]
    async fn a_name_is_resolved_once_and_its_checked_address_is_dialled() {
        let (listener, port) = listener().await;
        let resolver = resolver(&[&["127.0.0.1"], &["10.9.9.9"]]);
        let policy = EgressPolicy::parse("127.0.0.1").unwrap();
        let gate = Dialer::with_resolver(policy, resolver.clone());

        let stream = gate.dial("flips.example", port, TIMEOUT).await.unwrap();

        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
        assert_eq!(resolver.asked.load(Ordering::Relaxed), 1);
        // The second result must be checked as well.
        let again = gate.dial("flips.example", port, TIMEOUT).await.err();
        assert_eq!(again, Some(DialError::NotAllowed));
    }

    #[tokio::test]
    async fn one_forbidden_address_refuses_the_whole_name() {
        let (listener, port) = listener().await;
        for answer in [
            &["192.0.2.1", "127.0.0.1"][..],
            &["127.0.0.1", "8.8.8.8"],
            &["8.8.8.8", "::ffff:127.0.0.1"],
            &["8.8.8.8", "::1"],
            &["8.8.8.8", "169.254.169.254"],
            &["64:ff9b::7f00:1"],
        ] {
            let gate = Dialer::with_resolver(EgressPolicy::default(), resolver(&[answer]));

            let resolved = gate.resolve("mixed.example", port).await;
            let dialled = gate.dial("mixed.example", port, TIMEOUT).await.err();

            assert_eq!(resolved, Err(DialError::NotAllowed), "{answer:?}");
            assert_eq!(dialled, Some(DialError::NotAllowed), "{answer:?}");
        }
        assert!(has_no_connection(&listener).await);
    }

    #[tokio::test]
    async fn no_spelling_of_a_loopback_address_is_dialled() {
        let (listener, port) = listener().await;
        // If a resolver treats the text as a name, it returns the loopback address.
        let gate = Dialer::with_resolver(EgressPolicy::default(), resolver(&[&["127.0.0.1"]]));

        for line in super::CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (verdict, host) = line.split_once(' ').unwrap();
            if verdict != "global" {
                assert!(gate.dial(host, port, TIMEOUT).await.is_err(), "{host}");
            }
        }

        assert!(has_no_connection(&listener).await);
    }

    #[tokio::test]
    async fn an_address_is_not_resolved() {
        let resolver = resolver(&[&["8.8.8.8"]]);
        let gate = Dialer::with_resolver(EgressPolicy::default(), resolver.clone());

        assert_eq!(gate.resolve("0x7f.1", 80).await, Err(DialError::NotAllowed));
        let one = gate.resolve("[2606:4700::1111]", 443).await.unwrap();

        assert_eq!(one, [SocketAddr::new(ip("2606:4700::1111"), 443)]);
        assert_eq!(resolver.asked.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_silent_resolver_reaches_a_timeout() {
        let gate = Dialer::with_resolver(EgressPolicy::default(), Arc::new(Silent));

        let dialled = gate.dial("slow.example", 80, Duration::from_millis(50)).await.err();

        assert_eq!(dialled, Some(DialError::Unreachable));
    }

    #[tokio::test]
    async fn a_name_without_addresses_differs_from_an_unreachable_one() {
        let gate = Dialer::with_resolver(EgressPolicy::default(), resolver(&[&[]]));

        assert_eq!(gate.resolve("none.example", 80).await, Err(DialError::Unresolved));
        assert_eq!(gate.resolve("not a name", 80).await, Err(DialError::Unresolved));
    }

    #[tokio::test]
    async fn an_address_that_does_not_respond_leaves_time_for_others() {
        let (listener, port) = listener().await;
        // No process listens on 127.0.0.2.
        let resolver = resolver(&[&["127.0.0.2", "127.0.0.1"]]);
        let gate = Dialer::with_resolver(EgressPolicy::parse("127.0.0.0/8").unwrap(), resolver);

        let stream = gate.dial("two.example", port, TIMEOUT).await.unwrap();

        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
    }

    #[test]
    fn a_refusal_contains_no_name_and_no_address() {
        for refused in [DialError::Unreachable, DialError::Unresolved, DialError::NotAllowed] {
            assert!(!refused.to_string().contains(|c: char| c.is_ascii_digit()));
        }
    }
}
