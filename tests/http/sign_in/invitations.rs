//! Tests of accepting an invitation with the session of a browser.

use secrets_tests::{App, Kind, Person, in_memory_and_on_postgres};
use serde_json::json;

use super::{begin, serve, sign_in, user};

/// Invites the user with this name to the team of a new owner. Returns the path of the page that
/// shows the invitation, and the owner.
async fn invite(app: &App, name: &str) -> (String, Person) {
    let owner = app.person("owner").await;
    let body = json!({ "email": format!("{name}@example.com"), "role": "admin" });
    let path = format!("/api/v1/teams/{}/members", owner.team);
    let place = owner.post(&path, &body).await.is(201).json();
    let (_, token) = place["accept_url"].as_str().unwrap().rsplit_once('/').unwrap();
    (format!("/invitations/{token}"), owner)
}

async fn one_click_accepts_an_invitation(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let (path, owner) = invite(&app, "alice").await;
    let mut browser = app.browser();

    let unknown = browser.open(&path).await;
    assert!(unknown.is(200).text().contains("Sign in and return"), "{}", unknown.text());
    assert!(!unknown.text().contains("owner"), "{}", unknown.text());
    let back = begin(&mut browser, &provider, &path).await;
    browser.arrive(&back).await.is(200);
    let shown = browser.follow(&path).await;
    for part in ["Signed in as alice@example.com", "owner", "admin", "Accept"] {
        assert!(shown.is(200).text().contains(part), "{part}: {}", shown.text());
    }
    let accepted = browser.submit(&path, &[]).await;

    assert!(accepted.is(200).text().contains("You are a member of"), "{}", accepted.text());
    let id = user(&app, &browser).await.id.to_string();
    let members = owner.get(&format!("/api/v1/teams/{}", owner.team)).await;
    assert!(members.text().contains(&id), "{}", members.text());
    browser.submit(&path, &[]).await.is(404);
}

async fn an_invitation_of_another_person_is_not_shown(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let (path, _) = invite(&app, "bob").await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;

    let shown = browser.open(&path).await;
    let accepted = browser.submit(&path, &[]).await;

    for page in [shown, accepted] {
        assert!(page.is(404).text().contains("alice@example.com"), "{}", page.text());
        assert!(!page.text().contains("owner") && !page.text().contains("bob@"));
    }
}

async fn another_site_accepts_nothing(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let (path, _) = invite(&app, "alice").await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let cookie = format!("__Host-session={}", browser.cookie("__Host-session").unwrap());

    for (name, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("origin", "https://evil.example", 403),
        ("x-other", "no evidence of the origin", 200),
    ] {
        let headers = [("host", "secrets.test"), ("cookie", cookie.as_str()), (name, value)];
        let reply = app.anonymous().raw("POST".parse().unwrap(), &path, &headers, "").await;
        assert!(!reply.is(status).text().contains("You are a member"), "{value}");
    }
    browser.open(&path).await.is(200);
    browser.submit(&path, &[]).await.is(200);
}

in_memory_and_on_postgres!(;
    one_click_accepts_an_invitation,
    an_invitation_of_another_person_is_not_shown,
    another_site_accepts_nothing,
);
