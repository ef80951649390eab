//! Tests of unencrypted connections. The egress policy may permit connections to a server, but no
//! unencrypted ones.

use std::net::IpAddr;
use std::sync::Arc;

use crate::crypto::Plaintext;
use crate::egress::{Dialer, EgressPolicy};
use crate::model::rotations::{DatabaseKind, SslMode};
use crate::ports::rotator::{Fault, Target};
use crate::rotators::drivers::mysql::MySqlRotator;

/// Public IP address, to which every connection is permitted.
pub(in crate::rotators::drivers) const PUBLIC: IpAddr =
    IpAddr::V4(std::net::Ipv4Addr::new(8, 8, 8, 8));

/// Creates a target database whose TLS mode is `disable`.
pub(in crate::rotators::drivers) fn target(kind: DatabaseKind) -> Target {
    Target {
        kind,
        host: "db.example.com".into(),
        port: 1,
        database: "app".into(),
        admin_username: "admin".into(),
        admin_password: Plaintext::new("kvc_admin".into()).unwrap(),
        ssl_mode: SslMode::Disable,
        ca_certificate: None,
        proxy: None,
    }
}

/// Creates three dialers, with an egress policy that does not list the server, one that lists its
/// name, and one that lists its address.
pub(in crate::rotators::drivers) fn dialers() -> [Arc<Dialer>; 3] {
    ["10.0.0.0/8", "db.example.com", "8.8.8.8"]
        .map(|list| Arc::new(Dialer::new(EgressPolicy::parse(list).unwrap())))
}

#[test]
fn mysql_is_sent_nothing_in_plaintext_unless_it_is_listed() {
    let target = target(DatabaseKind::MYSQL);
    let outcomes = dialers().map(|dialer| {
        let protection = MySqlRotator::new(dialer).protection(&target, PUBLIC);
        protection.map(|tls| tls.is_none()).map_err(|error| error.fault)
    });

    assert_eq!(outcomes, [Err(Fault::NotAllowed), Ok(true), Ok(true)]);
}
