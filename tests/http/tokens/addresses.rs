//! Tests of service tokens that may be used only from certain IP addresses.

use secrets_core::model::{Error, Origin};
use secrets_core::tokens;
use secrets_tests::{App, Build, Kind, Reply, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::{Owned, TOKENS};

/// Starts a server that trusts connections from 127.0.0.1 as a proxy, so that tests can set the
/// client address in a header.
async fn server(kind: Kind) -> App {
    Build::on(kind).proxies("127.0.0.1/32").start().await
}

async fn read_from(app: &App, owned: &Owned, address: &str) -> Reply {
    let headers = [("x-forwarded-for", address)];
    app.bearer(&owned.text).raw(http::Method::GET, &owned.key, &headers, "").await
}

async fn a_token_is_used_from_its_networks_only(kind: Kind) {
    let app = server(kind).await;
    let allowed = json!(["192.0.2.0/28", "198.51.100.7", "2001:db8::/64"]);
    let owned = Owned::of(&app, &json!({ "ip_allowlist": allowed })).await;

    for address in ["192.0.2.0", "192.0.2.15", "198.51.100.7", "2001:db8::1", "::ffff:192.0.2.1"] {
        read_from(&app, &owned, address).await.is(200);
    }
    for address in ["192.0.2.16", "198.51.100.8", "2001:db8:0:1::1", "::1", "127.0.0.1"] {
        let reply = read_from(&app, &owned, address).await;
        reply.is(403).code("ip_not_allowed").says("this token may not be used from this address");
    }
}

/// Checks that a token with allowed networks is refused if the client address is unknown.
/// Otherwise, a program that embeds the service could bypass the check by passing no address.
async fn a_token_with_networks_is_refused_where_no_address_is_known(kind: Kind) {
    let app = server(kind).await;
    let bound = Owned::of(&app, &json!({ "ip_allowlist": ["0.0.0.0/0", "::/0"] })).await;
    let free = bound.person.token(&json!({ "all_projects": true })).await;

    let refused = app.service.authenticate(&bound.text, Origin::default()).await;

    assert!(matches!(refused, Err(Error::AddressNotAllowed(_))));
    app.service.authenticate(&free, Origin::default()).await.unwrap();
}

async fn a_token_without_networks_is_used_from_everywhere(kind: Kind) {
    let app = server(kind).await;
    for list in [json!([]), Value::Null] {
        let owned = Owned::of(&app, &json!({ "ip_allowlist": list })).await;

        read_from(&app, &owned, "203.0.113.9").await.is(200);
        assert_eq!(owned.listed().await["ip_allowlist"], json!([]));
    }
}

async fn networks_are_returned_in_one_form_and_once(kind: Kind) {
    let app = server(kind).await;
    let given = json!(["10.1.2.3/8", "::ffff:10.0.0.0/104", "198.51.100.7", "2001:DB8::5/32"]);

    let owned = Owned::of(&app, &json!({ "ip_allowlist": given })).await;

    let normalized = json!(["10.0.0.0/8", "198.51.100.7/32", "2001:db8::/32"]);
    assert_eq!(owned.listed().await["ip_allowlist"], normalized);
    owned.rotated(&json!({})).await;
    assert_eq!(owned.listed().await["ip_allowlist"], normalized);
}

async fn an_allowlist_holds_at_most_32_networks(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    let create = |list: Value| json!({ "name": "ci", "all_projects": true, "ip_allowlist": list });
    let many = |count: u32| (0..count).map(|n| json!(format!("10.0.{n}.0/24"))).collect::<Value>();

    alice.post(TOKENS, &create(many(32))).await.is(201);
    alice.post(TOKENS, &create(many(33))).await.is(400).names("ip_allowlist");
    for wrong in ["10.0.0.0/33", "10.0.0", "localhost", "", "10.0.0.0/8,11.0.0.0/8", "0/0"] {
        let reply = alice.post(TOKENS, &create(json!(["10.0.0.0/8", wrong]))).await;
        reply.is(400).names("ip_allowlist[1]");
    }
    alice.post(TOKENS, &create(json!("10.0.0.0/8"))).await.is(400).names("ip_allowlist");
    alice.post(TOKENS, &create(json!([7]))).await.is(400).names("ip_allowlist[0]");
}

async fn a_use_from_another_network_is_recorded_and_does_not_count(kind: Kind) {
    let app = server(kind).await;
    let owned = Owned::of(&app, &json!({ "ip_allowlist": ["192.0.2.0/24"] })).await;

    read_from(&app, &owned, "203.0.113.9").await.is(403);

    let entry = app.entry(&owned.person.team, "token.used_denied").await;
    assert_eq!([entry.outcome.as_ref(), entry.actor_type.as_ref()], ["denied", "service_token"]);
    assert_eq!(entry.resource_id.map(|id| id.to_string()), Some(owned.id.clone()));
    assert_eq!(entry.address, Some("203.0.113.9".parse().unwrap()));
    tokens::write_uses(app.service.engine()).await.unwrap();
    assert_eq!(owned.listed().await["last_used_at"], Value::Null);
}

/// Checks that a token string that is no longer valid after a rotation is refused with 401 from
/// every address. With another status for forbidden addresses, an attacker could find out which
/// addresses are allowed.
async fn an_invalid_token_is_401_from_every_address(kind: Kind) {
    let app = server(kind).await;
    let owned = Owned::of(&app, &json!({ "ip_allowlist": ["192.0.2.0/24"] })).await;
    owned.rotated(&json!({})).await;

    read_from(&app, &owned, "203.0.113.9").await.is(401);
    read_from(&app, &owned, "192.0.2.1").await.is(401);
}

in_memory_and_on_postgres![;
    a_token_is_used_from_its_networks_only,
    a_token_with_networks_is_refused_where_no_address_is_known,
    a_token_without_networks_is_used_from_everywhere,
    networks_are_returned_in_one_form_and_once,
    an_allowlist_holds_at_most_32_networks,
    a_use_from_another_network_is_recorded_and_does_not_count,
    an_invalid_token_is_401_from_every_address,
];
