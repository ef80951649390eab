//! Tests of approving a device login with the session of a browser.

use secrets_tests::{App, Browser, Kind, Reply, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::{begin, serve, sign_in};

async fn start(app: &App) -> Value {
    let body = json!({ "client_id": "cli", "client_name": "secrets 1.0", "hostname": "laptop" });
    app.anonymous().post("/api/v1/auth/cli/device", &body).await.is(200).json()
}

async fn poll(app: &App, login: &Value) -> Reply {
    let body = json!({
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": login["device_code"], "client_id": "cli",
    });
    app.anonymous().post("/api/v1/auth/cli/token", &body).await
}

async fn one_click_approves_a_login(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();

    let shown = browser.open(&format!("/device?user_code={code}")).await;
    for part in ["Signed in as alice@example.com", "secrets 1.0", "laptop", "127.0.0.1", "Approve"]
    {
        assert!(shown.is(200).text().contains(part), "{part}: {}", shown.text());
    }
    assert!(!shown.text().contains("access_token") && !shown.text().contains("web_"));
    let decided = browser.submit("/device", &[("user_code", code), ("decision", "approve")]).await;

    assert!(decided.is(200).text().contains("The login is approved"), "{}", decided.text());
    let granted = poll(&app, &login).await.is(200).json();
    assert_eq!(granted["user"]["email"], "alice@example.com");
}

async fn a_user_signs_in_and_comes_back_to_the_code(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();
    let path = format!("/device?user_code={code}");

    let page = browser.open(&path).await;
    assert!(page.is(200).text().contains("Sign in and return"), "{}", page.text());
    let link = format!("/sign-in?return_to=%2Fdevice%3Fuser_code%3D{code}");
    assert!(page.text().contains(&link), "{}", page.text());
    assert!(!page.text().contains("laptop") && !page.text().contains("access_token"));
    let back = begin(&mut browser, &provider, &path).await;
    let signed_in = browser.arrive(&back).await;
    assert!(signed_in.is(200).text().contains(&format!("0; url={path}\"")));

    let shown = browser.follow(&path).await;
    assert!(shown.is(200).text().contains("laptop"), "{}", shown.text());
}

/// Starts a server, signs a user in with a browser, and approves a device login with it. Returns
/// the server, the browser and the device login.
async fn approved(kind: Kind) -> (App, Browser, Value) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();
    browser.submit("/device", &[("user_code", code), ("decision", "approve")]).await.is(200);
    (app, browser, login)
}

async fn revoking_the_session_of_a_browser_ends_approved_logins(kind: Kind) {
    let (app, mut browser, login) = approved(kind).await;
    let sessions = browser.follow("/api/v1/auth/sessions").await.is(200).json();
    let path = format!("/api/v1/auth/sessions/{}", sessions["sessions"][0]["id"].as_str().unwrap());
    let cookie = format!("__Host-session={}", browser.cookie("__Host-session").unwrap());

    let own =
        [("host", "secrets.test"), ("sec-fetch-site", "same-origin"), ("cookie", cookie.as_str())];
    app.anonymous().raw("DELETE".parse().unwrap(), &path, &own, "").await.is(204);

    poll(&app, &login).await.is(400).says("invalid_grant");
}

async fn a_user_who_signs_out_keeps_approved_logins(kind: Kind) {
    let (app, mut browser, login) = approved(kind).await;

    browser.submit("/api/v1/auth/sign-out", &[]).await.is(204);

    poll(&app, &login).await.is(200);
}

/// Approves the device login with this user code, with the session cookie of a browser and these
/// additional headers.
async fn decide(app: &App, browser: &Browser, code: &str, extra: &[(&str, &str)]) -> Reply {
    let cookie = format!("__Host-session={}", browser.cookie("__Host-session").unwrap());
    let mut headers =
        vec![("content-type", "application/x-www-form-urlencoded"), ("cookie", cookie.as_str())];
    headers.extend(extra);
    let body = format!("user_code={code}&decision=approve");
    app.anonymous().raw("POST".parse().unwrap(), "/device", &headers, body).await
}

async fn another_site_approves_nothing(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();
    let host = ("host", "secrets.test");

    for headers in [
        [host, ("sec-fetch-site", "cross-site")],
        [host, ("sec-fetch-site", "same-site")],
        [host, ("sec-fetch-site", "none")],
        [host, ("origin", "https://evil.example")],
        [host, ("origin", "http://secrets.test")],
        [host, ("origin", "null")],
        [host, ("x-other", "no evidence of the origin")],
        [("host", "evil.example"), ("sec-fetch-site", "same-origin")],
    ] {
        let reply = decide(&app, &browser, code, &headers).await;
        assert!(!reply.text().contains("approved"), "{headers:?}: {}", reply.text());
        poll(&app, &login).await.is(400);
    }
    decide(&app, &browser, code, &[host, ("origin", "https://secrets.test")]).await.is(200);
    poll(&app, &login).await.is(200);
}

async fn a_link_of_another_site_shows_nothing(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let login = start(&app).await;
    let path = format!("/device?user_code={}", login["user_code"].as_str().unwrap());
    let cookie = format!("__Host-session={}", browser.cookie("__Host-session").unwrap());

    for site in ["cross-site", "same-site"] {
        let headers =
            [("host", "secrets.test"), ("sec-fetch-site", site), ("cookie", cookie.as_str())];
        let page = app.anonymous().raw("GET".parse().unwrap(), &path, &headers, "").await;
        assert!(!page.is(200).text().contains("laptop"), "{site}");
    }
}

async fn a_session_that_has_ended_approves_nothing(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();
    browser.set_cookie("__Host-session", Some("web_nonsense"));

    let decided = browser.submit("/device", &[("user_code", code), ("decision", "approve")]).await;

    assert!(decided.is(200).text().contains("Sign in and return"), "{}", decided.text());
    poll(&app, &login).await.is(400);
}

in_memory_and_on_postgres!(;
    one_click_approves_a_login,
    a_user_signs_in_and_comes_back_to_the_code,
    another_site_approves_nothing,
    a_link_of_another_site_shows_nothing,
    a_session_that_has_ended_approves_nothing,
    revoking_the_session_of_a_browser_ends_approved_logins,
    a_user_who_signs_out_keeps_approved_logins,
);
