//! Tests of sign-ins with identity tokens without an e-mail address: the service requests the
//! address from the userinfo endpoint of the identity provider.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use secrets_core::model::Identity;
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use secrets_tests::{App, Person, Reply};
use serde_json::json;

const SYNC: &str = "/api/v1/auth/sync";

/// Identity provider whose tokens contain no e-mail address. It accepts any string as a token, and
/// uses the string as the subject of the user.
#[derive(Default)]
struct Provider {
    /// E-mail address that the provider returns for every user; `None` if the provider does not
    /// respond.
    address: Mutex<Option<&'static str>>,
    asked: AtomicUsize,
}

#[async_trait]
impl IdentityVerifier for Provider {
    async fn verify(&self, token: &str) -> Result<Identity, Unverified> {
        let identity = Identity::new("https://login.example.com", token, "");
        Ok(Identity { email: None, email_verified: false, ..identity })
    }

    async fn enrich(&self, token: &str, identity: Identity) -> Result<Identity, Unverified> {
        assert_eq!(token, identity.subject);
        self.asked.fetch_add(1, Ordering::SeqCst);
        let address = *self.address.lock().unwrap();
        let address = address.ok_or_else(|| Unverified::Unavailable("no answer".into()))?;
        Ok(Identity { email: Some(address.to_owned()), email_verified: true, ..identity })
    }
}

impl Provider {
    fn set_address(&self, address: Option<&'static str>) {
        *self.address.lock().unwrap() = address;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn serve(app: &App) -> (App, Arc<Provider>) {
    let provider = Arc::new(Provider::default());
    (app.verified_by(provider.clone()).await, provider)
}

async fn sync(app: &App, subject: &str) -> Reply {
    app.bearer(subject).post(SYNC, &json!({})).await
}

async fn only_a_sign_in_asks_the_provider(app: App) {
    let (app, provider) = serve(&app).await;
    provider.set_address(Some("alice@example.com"));
    let newcomer = app.bearer("alice");

    for _ in 0..200 {
        newcomer.get("/api/v1/users/me").await.is(404);
        newcomer.get("/api/v1/projects").await.is(401);
    }
    assert_eq!(provider.asked(), 0);

    sync(&app, "alice").await.is(200);
    newcomer.get("/api/v1/users/me").await.is(200);
    assert_eq!(provider.asked(), 1);
}

async fn a_new_address_of_the_provider_replaces_the_stored_one(app: App) {
    let (app, provider) = serve(&app).await;
    provider.set_address(Some("owner@example.com"));
    let owner = Person::new(app.bearer("owner"), &sync(&app, "owner").await.is(200).json());
    provider.set_address(Some("alice@example.com"));
    let alice = Person::new(app.bearer("alice"), &sync(&app, "alice").await.is(200).json());
    let members = format!("/api/v1/teams/{}/members", owner.team);
    let invitation = json!({ "email": "alice@example.com", "role": "admin" });
    let place = owner.post(&members, &invitation).await.is(201).json();
    let (_, token) = place["accept_url"].as_str().unwrap().rsplit_once('/').unwrap();
    assert_eq!(alice.get("/api/v1/invitations").await.json().as_array().unwrap().len(), 1);

    provider.set_address(Some("renamed@example.com"));
    let synced = sync(&app, "alice").await.is(200).json();

    assert_eq!(synced["email"], "renamed@example.com");
    assert_eq!(alice.get("/api/v1/users/me").await.json()["email"], "renamed@example.com");
    assert_eq!(alice.get("/api/v1/invitations").await.json(), json!([]));
    let accept = format!("/api/v1/invitations/{token}/accept");
    alice.post(&accept, &json!({})).await.is(404);
}

async fn a_provider_that_does_not_answer_fails_only_the_sign_in(app: App) {
    let (app, provider) = serve(&app).await;
    provider.set_address(Some("alice@example.com"));
    sync(&app, "alice").await.is(200);
    provider.set_address(None);

    let failed = sync(&app, "alice").await;

    failed.is(503).code("unavailable");
    assert!(failed.header("retry-after").is_some());
    sync(&app, "newcomer").await.is(503);
    let user = app.bearer("alice").get("/api/v1/users/me").await.is(200).json();
    assert_eq!(user["email"], "alice@example.com");
}

secrets_tests::in_memory_and_on_postgres!(
    only_a_sign_in_asks_the_provider,
    a_new_address_of_the_provider_replaces_the_stored_one,
    a_provider_that_does_not_answer_fails_only_the_sign_in,
);
