//! Tests of cross-site request forgery (CSRF): requests that a page of another site causes, and
//! that the browser sends with the session cookie. Every endpoint must treat such a request as
//! unauthenticated, and it must change nothing.

use hyper::Method;
use secrets_core::engine::Caller;
use secrets_core::jwt::DEV_ISSUER;
use secrets_core::model::{Identity, Origin};
use secrets_core::sessions::StartBrowserSession;
use secrets_tests::{App, Kind, Reply};

use super::policy::{Effect, POLICY, Rule, Target, Who};
use super::requests::Names;
use super::world::World;

const ME: &str = "/api/v1/users/me";

/// Host name of the service in the test.
const HOST: &str = "secrets.test";
const OWN: [(&str, &str); 3] =
    [("host", HOST), ("origin", "http://secrets.test"), ("sec-fetch-site", "same-origin")];

/// Headers of forged requests: each list is the headers of a request that a page of another site
/// causes or tries to cause.
const FOREIGN: &[&[(&str, &str)]] = &[
    // Forms, images, scripts and `fetch` of a current browser.
    &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
    &[("sec-fetch-site", "same-site"), ("origin", "http://other.secrets.test")],
    &[("sec-fetch-site", "cross-site"), ("origin", "null"), ("x-secrets-page", "1")],
    // A browser without Fetch Metadata.
    &[("origin", "https://evil.example")],
    &[],
    // A header of the page, or Fetch Metadata, that contradicts the origin.
    &[("origin", "https://evil.example"), ("x-secrets-page", "1")],
    &[("origin", "https://secrets.test"), ("x-secrets-page", "1")],
    &[("origin", "http://secrets.test:8080"), ("sec-fetch-site", "same-origin")],
];

struct Attack<'a> {
    app: &'a App,
    world: &'a World,
    cookie: String,
}

impl Attack<'_> {
    async fn send(&self, rule: &Rule, headers: &[(&str, &str)]) -> Reply {
        let names = Names::lasting(self.world, Target::Own);
        let mut sent = vec![("cookie", self.cookie.as_str())];
        sent.extend_from_slice(headers);
        names.send_with(&self.app.anonymous(), rule, &sent).await
    }
}

/// Creates a browser session for the team's owner, and returns its `Cookie` header.
async fn cookie_of_the_owner(app: &App) -> String {
    let email = "owner@example.com";
    let identity = Identity::new(DEV_ISSUER, email, email);
    let task = StartBrowserSession { identity, user_agent: None };
    let caller = Caller::anonymous(Origin::default());
    let session = app.service.run(&caller, task).await.unwrap();
    format!("secrets-session={}", session.token.reveal())
}

#[tokio::test]
async fn a_request_that_another_site_causes_is_nobodys_on_every_endpoint() {
    let app = App::start(Kind::Memory).await;
    let world = World::build(&app).await;
    let attack = Attack { app: &app, world: &world, cookie: cookie_of_the_owner(&app).await };
    let before = world.dump(&app).await;

    let mut wrong = Vec::new();
    // Endpoints that need no credential ignore the cookie, and some of them create records for any
    // caller.
    let creates = |rule: &Rule| rule.who == Who::Public && rule.effect == Effect::Changes;
    for rule in POLICY.iter().filter(|rule| !creates(rule)) {
        for headers in FOREIGN {
            let mut sent = vec![("host", HOST)];
            sent.extend_from_slice(headers);
            let status = attack.send(rule, &sent).await.status;
            let is_right = if rule.who == Who::Public { status < 500 } else { status == 401 };
            if !is_right {
                wrong.push(format!("{} {} with {headers:?}: {status}", rule.method, rule.template));
            }
        }
    }

    assert!(wrong.is_empty(), "{} requests: {wrong:#?}", wrong.len());
    let changes = before.changes(&world.dump(&app).await);
    assert!(changes.is_empty(), "{changes:#?}");
    // The session has not ended, and the same requests from the service's own pages are
    // authenticated.
    let me = [("cookie", attack.cookie.as_str()), OWN[0], OWN[1], OWN[2]];
    app.anonymous().raw(Method::GET, ME, &me, "").await.is(200);
    let reads = POLICY.iter().filter(|rule| {
        let is_read = rule.method == "GET" && rule.effect != Effect::Changes;
        let is_open = matches!(rule.who, Who::Public | Who::Machines | Who::Operators);
        is_read && !is_open && !rule.template.ends_with("/watch")
    });
    let mut authenticated = 0;
    for rule in reads {
        let status = attack.send(rule, &OWN).await.status;
        assert_ne!(status, 401, "{} {}", rule.method, rule.template);
        authenticated += 1;
    }
    assert!(authenticated > 20, "{authenticated}");
}
