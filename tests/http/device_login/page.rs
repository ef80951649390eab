//! Tests of `/device`, the page on which a user approves or denies a device login.

use secrets_tests::{App, Build, Client, Kind, Reply, in_memory};

use super::{poll, start};

/// Submits the form of the page `/device` with these fields.
async fn send(client: &Client, fields: &[(&str, &str)]) -> Reply {
    let body = serde_urlencoded::to_string(fields).unwrap();
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    client.raw("POST".parse().unwrap(), "/device", &kind, body).await
}

async fn the_page_shows_the_client_and_accepts_the_decision(app: App) {
    app.person("alice").await;
    let login = start(&app).await;
    let (browser, code) = (app.anonymous(), login["user_code"].as_str().unwrap());
    let token = app.jwt("alice");

    let opened = browser.get(&format!("/device?user_code={code}")).await;
    opened.is(200);
    assert_eq!(opened.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = opened.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; form-action 'self'"), "{policy}");
    assert!(opened.text().contains(code) && !opened.text().contains("laptop"));
    let shown = send(&browser, &[("user_code", code), ("access_token", &token)]).await;
    shown.is(200);
    for detail in ["secrets 1.0", "laptop", "linux", "127.0.0.1"] {
        assert!(shown.text().contains(detail), "{detail}");
    }
    // The token is in the cookie, but not in the page.
    assert!(!shown.text().contains(&token));
    let cookie = shown.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/device; Max-Age=600; HttpOnly; SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("cookie", pair)];
    let undecided = format!("user_code={code}");
    let again = browser.raw("POST".parse().unwrap(), "/device", &headers, undecided).await;
    assert!(!again.is(200).text().contains("laptop"), "the cookie counts only with a decision");
    let body = format!("user_code={code}&decision=approve");
    let decided = browser.raw("POST".parse().unwrap(), "/device", &headers, body).await;

    assert!(decided.is(200).text().contains("The login is approved"));
    let deleted = decided.header("set-cookie").unwrap();
    assert!(deleted.starts_with("device_token=; Path=/device; Max-Age=0"), "{deleted}");
    poll(&app, &login).await.is(200);
}

/// Checks that the page splits a token that is too long for one cookie, because browsers drop
/// cookies of more than 4,096 bytes.
async fn the_page_keeps_a_long_token_in_several_cookies(app: App) {
    app.person("alice").await;
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();
    let token = app.jwt("alice");
    let (first, rest) = token.split_at(token.len() / 2);
    let form = ("content-type", "application/x-www-form-urlencoded");
    let body = format!("user_code={code}&decision=approve");
    let approve = async |cookie: String| {
        let headers = [form, ("cookie", cookie.as_str())];
        app.anonymous().raw("POST".parse().unwrap(), "/device", &headers, body.clone()).await
    };

    let twice = approve(format!("device_token={token}; device_token={token}")).await;
    let none = approve("other=1".to_owned()).await;

    for refused in [twice, none] {
        assert!(refused.is(200).text().contains("The access token is missing"));
    }
    poll(&app, &login).await.is(400).says("authorization_pending");
    let wrong = approve(format!("device_token={first}")).await;
    let deleted = wrong.is(401).header("set-cookie").unwrap().to_owned();
    assert!(deleted.starts_with("device_token=; Path=/device; Max-Age=0"), "{deleted}");
    let decided = approve(format!("device_token_2={rest}; device_token={first}")).await;
    assert!(decided.is(200).text().contains("The login is approved"));
}

/// Checks that the page ignores and deletes the cookie of an earlier visit if a proxy signs another
/// user in. Otherwise, the decision would be made in the name of the earlier user.
async fn the_page_forgets_a_cookie_when_a_proxy_signs_the_user_in(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();
    let cookie = format!("device_token={}", app.jwt("alice"));
    let path = format!("/device?user_code={code}");

    let shown = bob.raw("GET".parse().unwrap(), &path, &[("cookie", &cookie)], "").await;

    let deleted = shown.is(200).header("set-cookie").unwrap();
    assert!(deleted.starts_with("device_token=; Path=/device; Max-Age=0"), "{deleted}");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let body = format!("user_code={code}&decision=approve");
    let headers = [form, ("cookie", cookie.as_str())];
    bob.raw("POST".parse().unwrap(), "/device", &headers, body).await.is(200);
    assert_eq!(poll(&app, &login).await.is(200).json()["user"]["email"], "bob@example.com");
    let login = start(&app).await;
    let path = format!("/device?user_code={}", login["user_code"].as_str().unwrap());
    assert!(alice.get(&path).await.is(200).header("set-cookie").is_none());
}

async fn the_page_takes_a_token_from_a_proxy_but_not_from_another_site(app: App) {
    let alice = app.person("alice").await;
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();

    let shown = alice.get(&format!("/device?user_code={code}")).await;
    assert!(shown.is(200).text().contains("laptop"));
    let (form, body) = ("application/x-www-form-urlencoded", format!("user_code={code}"));
    let own = format!("http://{}", app.address);
    for (header, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", own.as_str(), 200),
    ] {
        let headers = [("content-type", form), (header, value)];
        let decision = if status == 403 { "&decision=approve" } else { "" };
        let body = format!("{body}{decision}");
        alice.raw("POST".parse().unwrap(), "/device", &headers, body).await.is(status);
    }

    poll(&app, &login).await.is(400).says("authorization_pending");
}

async fn the_page_limits_invalid_tokens(app: App) {
    app.person("alice").await;
    let login = start(&app).await;
    let (browser, code) = (app.anonymous(), login["user_code"].as_str().unwrap());

    for _ in 0..5 {
        send(&browser, &[("user_code", code), ("access_token", "kvc_wrong")]).await.is(401);
    }
    let token = app.jwt("alice");
    let refused = send(&browser, &[("user_code", code), ("access_token", &token)]).await;

    refused.is(429);
    assert!(!refused.text().contains("laptop") && !refused.text().contains("kvc_"));
}

/// Checks the pages of a service whose public URL has a path, because a proxy serves the service
/// below this path.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_work_below_a_path() {
    let base = "https://secrets.example/base";
    let app = Build::on(Kind::Memory).public_url(base).start().await;
    app.person("alice").await;
    let login = start(&app).await;
    let code = login["user_code"].as_str().unwrap();
    assert_eq!(login["verification_uri"], format!("{base}/device"));
    let browser = app.anonymous();
    let token = app.jwt("alice");

    let document = browser.get("/api/v1/openapi.json").await.is(200).json();
    assert_eq!(document["servers"][0]["url"], "/base");
    let first = browser.get("/").await;
    let opened = browser.get("/device").await;
    let shown = send(&browser, &[("user_code", code), ("access_token", &token)]).await;

    for page in [&first, &opened, &shown] {
        let text = page.text();
        for link in ["href=\"/", "action=\"/", "src=\"/"] {
            assert!(text.split(link).skip(1).all(|rest| rest.starts_with("base/")), "{text}");
        }
    }
    assert!(first.text().contains("href=\"/base/api/docs\""), "{}", first.text());
    let cookie = shown.header("set-cookie").unwrap();
    assert!(cookie.contains("; Path=/base/device;") && cookie.ends_with("; Secure"), "{cookie}");
}

in_memory!(
    the_page_shows_the_client_and_accepts_the_decision,
    the_page_keeps_a_long_token_in_several_cookies,
    the_page_forgets_a_cookie_when_a_proxy_signs_the_user_in,
    the_page_takes_a_token_from_a_proxy_but_not_from_another_site,
    the_page_limits_invalid_tokens,
);
