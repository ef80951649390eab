//! Tests of signing in with the authorization code flow of OpenID Connect.

use secrets_tests::{App, Kind, in_memory_and_on_postgres};
use serde_json::json;

use super::{begin, serve, set_cookie, sign_in, starts_no_session, user};

async fn a_browser_signs_in_and_returns_to_the_requested_page(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();

    let back = begin(&mut browser, &provider, "/projects/web-api?tab=1&x=\"y").await;
    let page = browser.arrive(&back).await;

    assert_eq!(page.is(200).header("content-type"), Some("text/html; charset=utf-8"));
    let refresh =
        r#"<meta http-equiv="refresh" content="0; url=/projects/web-api?tab=1&amp;x=&quot;y">"#;
    assert!(page.text().contains(refresh), "{}", page.text());
    assert_eq!(provider.exchanges(), ["ok"]);
    let user = user(&app, &browser).await;
    assert_eq!((user.email.as_str(), user.name.as_str()), ("alice@example.com", "Alice"));
}

async fn the_code_is_exchanged_with_a_form_if_the_provider_wants_that(kind: Kind) {
    let (app, provider) = serve(kind).await;
    provider.discovery("token_endpoint_auth_methods_supported", json!(["client_secret_post"]));

    sign_in(&mut app.browser(), &provider).await;

    assert_eq!(provider.exchanges(), ["ok"]);
}

async fn a_code_works_once(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;
    let mut copy = browser.at(app.anonymous());
    browser.arrive(&back).await.is(200);

    // The cookie of the sign-in is deleted. With a copy of the cookie, the provider still refuses
    // the code.
    let again = browser.arrive(&back).await;
    let copied = copy.arrive(&back).await;

    starts_no_session(again.is(400));
    starts_no_session(copied.is(403));
    assert_eq!(provider.exchanges(), ["ok", "invalid_grant"]);
}

async fn a_sign_in_that_began_on_one_node_ends_on_another(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let other = app.restarted().await;
    let mut browser = app.browser();

    let back = begin(&mut browser, &provider, "/").await;
    let mut elsewhere = browser.at(other.anonymous());
    elsewhere.arrive(&back).await.is(200);

    for node in [&app, &other] {
        assert_eq!(user(node, &elsewhere).await.email, "alice@example.com");
    }
}

async fn a_refusal_of_the_provider_gives_an_error_page(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;
    let (_, rest) = back.split_once('&').unwrap();

    let said = "error=access_denied&error_description=kvc_described&error_uri=https://evil.example";
    let page = browser.arrive(&format!("/sign-in/callback?{said}&{rest}")).await;

    starts_no_session(page.is(403));
    for echoed in ["kvc_described", "evil.example", "access_denied"] {
        assert!(!page.text().contains(echoed), "{echoed}");
    }
    assert!(page.text().contains(page.header("x-request-id").unwrap()), "{}", page.text());
    assert!(set_cookie(&page, "__Host-signin").contains("Max-Age=0"));
    assert_eq!(provider.exchanges(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_client_id_there_is_no_sign_in() {
    let app = App::start(Kind::Memory).await;

    for path in ["/sign-in", "/sign-in/callback?code=1&state=2", "/sign-in/dev?code=1"] {
        let reply = app.browser().open(path).await;
        starts_no_session(reply.is(404));
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    }
}

in_memory_and_on_postgres!(;
    a_browser_signs_in_and_returns_to_the_requested_page,
    the_code_is_exchanged_with_a_form_if_the_provider_wants_that,
    a_code_works_once,
    a_sign_in_that_began_on_one_node_ends_on_another,
    a_refusal_of_the_provider_gives_an_error_page,
);
