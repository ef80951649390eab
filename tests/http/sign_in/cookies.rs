//! Tests of the cookies that the sign-in of a browser sets.

use chrono::TimeDelta;
use secrets_tests::{Build, IdentityProvider, Kind};

use super::{begin, serve, set_cookie, sign_in, starts_no_session};

const STATE: &str = "__Host-signin";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cookies_have_the_strictest_flags_that_work() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut browser = app.browser();

    let sent = browser.open("/sign-in").await;
    let back = provider.sign_in(sent.is(303).header("location").unwrap());
    let page = browser.arrive(&back).await;

    let state = set_cookie(&sent, STATE);
    assert!(state.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "{state}");
    let deleted = set_cookie(&page, STATE);
    assert!(deleted.starts_with(&format!("{STATE}=; Path=/; Max-Age=0;")), "{deleted}");
    let session = set_cookie(&page, "__Host-session").to_ascii_lowercase();
    for flag in ["; secure", "; httponly", "; samesite=strict", "; path=/"] {
        assert!(session.contains(flag), "{session}");
    }
    assert!(!session.contains("domain="), "{session}");
    assert!(browser.cookie("__Host-session").unwrap().starts_with("web_"));
    assert!(!page.text().contains("web_"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_http_on_a_loopback_address_has_cookies_of_other_names() {
    let build = Build::on(Kind::Memory);
    let provider = IdentityProvider::start(&build.clock).await;
    let app = build.public_url("http://127.0.0.1:8080").sign_in(&provider).start().await;
    let mut browser = app.browser();

    let sent = browser.open("/sign-in").await;
    let back = provider.sign_in(sent.is(303).header("location").unwrap());
    let page = browser.arrive(&back).await;

    let state = set_cookie(&sent, "secrets-signin");
    assert!(state.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax"), "{state}");
    assert!(!set_cookie(&page, "secrets-session").contains("Secure"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_without_its_cookie_is_refused() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;

    let page = app.browser().arrive(&back).await;

    starts_no_session(page.is(400));
    assert!(page.text().contains(page.header("x-request-id").unwrap()));
    assert_eq!(provider.exchanges(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cookie_is_valid_for_ten_minutes() {
    let (app, provider) = serve(Kind::Memory).await;
    let (mut browser, mut late) = (app.browser(), app.browser());
    let back = begin(&mut browser, &provider, "/").await;
    let back_late = begin(&mut late, &provider, "/").await;

    app.wait(TimeDelta::seconds(599));
    browser.arrive(&back).await.is(200);
    app.wait(TimeDelta::seconds(1));

    starts_no_session(late.arrive(&back_late).await.is(400));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cookie_of_another_instance_is_refused() {
    let (app, provider) = serve(Kind::Memory).await;
    let (other, _its_provider) = serve(Kind::Memory).await;
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;

    let page = browser.at(other.anonymous()).arrive(&back).await;

    starts_no_session(page.is(400));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_cookie_is_refused() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;
    let good = browser.cookie(STATE).unwrap().to_owned();

    for place in [0, 40, good.len() / 2, good.len() - 2] {
        let mut bytes = good.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        browser.set_cookie(STATE, Some(&changed));
        starts_no_session(browser.arrive(&back).await.is(400));
    }
    for other in ["", "x", &good[..good.len() / 2], &format!("{good}; {STATE}={good}")] {
        browser.set_cookie(STATE, Some(other));
        starts_no_session(browser.arrive(&back).await.is(400));
    }
    browser.set_cookie(STATE, Some(&good));
    browser.arrive(&back).await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_of_no_use_as_a_bearer_token() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let token = browser.cookie("__Host-session").unwrap();

    app.bearer(token).get("/api/v1/users/me").await.is(401);
}
