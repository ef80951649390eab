//! Tests of the rate limit for requests without a valid credential: 100 requests per minute from an
//! IP address.

use chrono::TimeDelta;
use hyper::Method;
use secrets_tests::{App, Build, Client, Kind, Reply, in_memory};
use serde_json::json;

const GREETING: &str = "/api/v1";
const ME: &str = "/api/v1/users/me";

/// Starts a server that allows only three requests without a valid credential per minute from an IP
/// address.
async fn three_a_minute(kind: Kind) -> App {
    Build::on(kind).rates(3, 60).start().await
}

async fn asks(client: &Client, times: usize) -> Reply {
    let mut reply = client.get(GREETING).await;
    for _ in 1..times {
        reply = client.get(GREETING).await;
    }
    reply
}

async fn forwarded(app: &App, addresses: &str) -> Reply {
    let headers = [("x-forwarded-for", addresses)];
    app.anonymous().raw(Method::GET, GREETING, &headers, "").await
}

async fn the_101st_request_of_a_minute_is_429(kind: Kind) {
    let app = Build::on(kind).rates(100, 60).start().await;

    let last = asks(&app.anonymous(), 100).await;
    let over = app.anonymous().get(GREETING).await;

    assert_eq!(last.is(200).number("x-ratelimit-remaining"), 0);
    let error = "rate limit exceeded, try again later";
    assert_eq!(over.is(429).json(), json!({ "error": error, "code": "rate_limited" }));
    assert_eq!(over.number("x-ratelimit-limit"), 100);
    assert_eq!(over.header("retry-after"), Some("50"));
    app.wait(TimeDelta::seconds(50));
    asks(&app.anonymous(), 1).await.is(200);
}

async fn a_request_without_a_credential_is_429_and_not_401(kind: Kind) {
    let app = three_a_minute(kind).await;
    asks(&app.anonymous(), 2).await.is(200);

    let within = app.anonymous().get(ME).await;
    let over = app.anonymous().get(ME).await;

    assert_eq!(within.is(401).number("x-ratelimit-remaining"), 0);
    over.is(429).code("rate_limited");
    app.bearer("nonsense").get(ME).await.is(429);
    app.anonymous().get("/nothing").await.is(429);
    app.anonymous().delete("/api/v1/teams").await.is(429);
}

async fn a_valid_credential_is_not_counted_by_its_address(kind: Kind) {
    let app = three_a_minute(kind).await;
    let alice = app.person("alice").await;
    asks(&app.anonymous(), 4).await.is(429);

    let reply = alice.get(ME).await;

    assert_eq!(reply.is(200).number("x-ratelimit-limit"), 60);
    app.wait(TimeDelta::minutes(1));
    alice.get(ME).await.is(200);
    assert_eq!(asks(&app.anonymous(), 1).await.is(200).number("x-ratelimit-remaining"), 2);
}

async fn public_endpoints_are_counted_by_address_for_every_caller(kind: Kind) {
    let app = three_a_minute(kind).await;
    let alice = app.person("alice").await;

    let reply = asks(&alice, 3).await;

    assert_eq!(reply.is(200).number("x-ratelimit-remaining"), 0);
    asks(&alice, 1).await.is(429);
}

async fn health_is_counted_and_never_refused(kind: Kind) {
    let app = three_a_minute(kind).await;
    let anyone = app.anonymous();

    let remaining = [
        anyone.get("/health").await,
        anyone.get("/health").await,
        anyone.get("/health").await,
        anyone.get("/health").await,
    ];

    let remaining = remaining.map(|reply| reply.is(200).number("x-ratelimit-remaining"));
    assert_eq!(remaining, [2, 1, 0, 0]);
    asks(&anyone, 1).await.is(429);
}

async fn an_untrusted_forwarded_address_is_ignored(kind: Kind) {
    let app = three_a_minute(kind).await;

    for number in 1..=3 {
        forwarded(&app, &format!("192.0.2.{number}")).await.is(200);
    }

    forwarded(&app, "192.0.2.4").await.is(429);
    forwarded(&app, "nonsense").await.is(429);
}

async fn a_trusted_proxy_is_believed_about_the_hop_before_it(kind: Kind) {
    let app = Build::on(kind).rates(1, 60).proxies("127.0.0.1, 10.0.0.0/8").start().await;

    forwarded(&app, "192.0.2.1").await.is(200);
    forwarded(&app, "192.0.2.2, 10.0.0.1").await.is(200);

    forwarded(&app, "192.0.2.1").await.is(429);
    forwarded(&app, "198.51.100.7, 192.0.2.2").await.is(429);
    asks(&app.anonymous(), 1).await.is(200);
}

async fn an_ipv6_network_is_counted_as_one(kind: Kind) {
    let app = Build::on(kind).rates(1, 60).proxies("127.0.0.1").start().await;

    forwarded(&app, "2001:db8:1:2::1").await.is(200);

    forwarded(&app, "2001:db8:1:2:ffff::2").await.is(429);
    forwarded(&app, "2001:db8:1:3::1").await.is(200);
}

async fn a_trusted_proxy_that_names_no_address_is_400(kind: Kind) {
    let app = Build::on(kind).rates(3, 60).proxies("127.0.0.1").start().await;

    for nonsense in ["unknown", "", "192.0.2.1,", "300.1.1.1"] {
        let reply = forwarded(&app, nonsense).await;

        let error = "X-Forwarded-For must be a list of addresses";
        assert_eq!(reply.is(400).json(), json!({ "error": error, "code": "invalid_request" }));
    }
}

in_memory![
    ;
    the_101st_request_of_a_minute_is_429,
    a_request_without_a_credential_is_429_and_not_401,
    a_valid_credential_is_not_counted_by_its_address,
    public_endpoints_are_counted_by_address_for_every_caller,
    health_is_counted_and_never_refused,
    an_untrusted_forwarded_address_is_ignored,
    a_trusted_proxy_is_believed_about_the_hop_before_it,
    an_ipv6_network_is_counted_as_one,
    a_trusted_proxy_that_names_no_address_is_400,
];
