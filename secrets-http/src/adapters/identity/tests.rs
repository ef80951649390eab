//! Tests with an identity provider on a real socket. The provider can be slow, wrong or
//! unavailable.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta};
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrets_core::jwt::{DevKey, Expectations, KeySet, VerificationKey};
use secrets_core::model::{Clock, Identity, ManualClock, Time};
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use super::{OidcSettings, OidcVerifier, Timings};
use crate::adapters::fetch::Client;
use crate::serve::accept::{self, AcceptOptions, RequestBody};
use secrets_core::jwt::FixedVerifier;

mod caching;
mod hostile;
mod over_https;
mod userinfo;

const DISCOVERY: &str = "/.well-known/openid-configuration";

/// Returns timings that are short enough for tests, and far enough apart to be distinguished on a
/// busy machine. The timeout of a request has its default value: only tests with a slow issuer
/// shorten it.
fn short() -> Timings {
    Timings {
        fetch: Timings::default().fetch,
        refresh_after: Duration::from_millis(300),
        expire_after: Duration::from_millis(900),
        stale_for: Duration::from_millis(2500),
        search_pause: Duration::from_millis(300),
        retry_pause: Duration::from_millis(200),
    }
}

/// Returns timings with which the keys are fetched only once, unless a fetch fails.
fn steady() -> Timings {
    Timings::default()
}

fn now() -> Time {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

/// Test provider, with its responses and the number of requests by path.
#[derive(Clone, Default)]
struct Issuer(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    url: String,
    documents: HashMap<String, (StatusCode, Bytes)>,
    asked: HashMap<String, usize>,
    delay: Duration,
    credential: Option<HeaderValue>,
}

impl Issuer {
    /// Starts a provider that publishes the public key of the key pair with seed 1.
    async fn start() -> Self {
        Self::start_with(None).await
    }

    async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let issuer = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        issuer.0.lock().unwrap().url = url.clone();
        issuer.publish(&[1]);
        issuer.discovery(&json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }));

        let answering = issuer.clone();
        let answer = move |request, peer| answering.clone().answer(request, peer);
        let options = AcceptOptions::default();
        tokio::spawn(accept::run(listener, tls, options, answer, std::future::pending()));
        issuer
    }

    async fn answer(self, request: Request<RequestBody>, _: SocketAddr) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        let (answer, delay) = {
            let mut answers = self.0.lock().unwrap();
            *answers.asked.entry(path.clone()).or_default() += 1;
            answers.credential = request.headers().get(AUTHORIZATION).cloned();
            (answers.documents.get(&path).cloned(), answers.delay)
        };
        sleep(delay).await;
        let (status, body) = answer.unwrap_or((StatusCode::NOT_FOUND, Bytes::new()));
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("/keys"));
        response
    }

    fn url(&self) -> String {
        self.0.lock().unwrap().url.clone()
    }

    fn put(&self, path: &str, status: StatusCode, body: impl Into<Bytes>) {
        self.0.lock().unwrap().documents.insert(path.to_owned(), (status, body.into()));
    }

    fn discovery(&self, document: &Value) {
        self.put(DISCOVERY, StatusCode::OK, document.to_string());
    }

    fn publish(&self, seeds: &[u8]) {
        let keys = seeds.iter().map(|seed| jwk(*seed)).collect::<Vec<_>>();
        self.put("/keys", StatusCode::OK, json!({ "keys": keys }).to_string());
    }

    /// Makes all requests for the key set fail until keys are published again.
    fn fail(&self) {
        self.put("/keys", StatusCode::INTERNAL_SERVER_ERROR, "no");
    }

    fn delay(&self, delay: Duration) {
        self.0.lock().unwrap().delay = delay;
    }

    fn asked(&self, path: &str) -> usize {
        self.0.lock().unwrap().asked.get(path).copied().unwrap_or(0)
    }

    fn expectations(&self) -> Expectations {
        Expectations { issuer: self.url(), audience: "secrets".into() }
    }

    fn verifier(&self, timings: Timings) -> Arc<OidcVerifier> {
        let settings = OidcSettings { expectations: self.expectations(), jwks_url: None, timings };
        Arc::new(verifier(settings))
    }

    /// Signs a token with the private key that is generated from this seed.
    fn token(&self, seed: u8) -> String {
        self.token_with(seed, "email", json!(null))
    }

    fn token_with(&self, seed: u8, name: &str, value: Value) -> String {
        let now = now().timestamp();
        let mut claims = json!({
            "iss": self.url(), "aud": "secrets", "sub": "alice", "exp": now + 3600,
        });
        claims[name] = value;
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(format!("key-{seed}"));
        jsonwebtoken::encode(&header, &claims, &private(seed)).unwrap()
    }
}

fn verifier(settings: OidcSettings) -> OidcVerifier {
    OidcVerifier::new(settings, Arc::new(ManualClock::new(now())), Client::new().unwrap())
}

fn private(seed: u8) -> EncodingKey {
    let mut pkcs8 = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    pkcs8.extend([seed; 32]);
    EncodingKey::from_ed_der(&pkcs8)
}

fn jwk(seed: u8) -> Value {
    let jwk = Jwk::from_encoding_key(&private(seed), Algorithm::EdDSA).unwrap();
    let mut jwk = serde_json::to_value(jwk).unwrap();
    jwk["kid"] = json!(format!("key-{seed}"));
    jwk
}

fn is_invalid(verdict: &Result<Identity, Unverified>) -> bool {
    matches!(verdict, Err(Unverified::Invalid))
}

fn is_unavailable(verdict: &Result<Identity, Unverified>) -> bool {
    matches!(verdict, Err(Unverified::Unavailable(_)))
}

#[tokio::test]
async fn an_issuer_is_known_by_its_keys() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier(steady());

    let identity = verifier.verify(&issuer.token(1)).await.unwrap();

    assert_eq!((identity.issuer, identity.subject), (issuer.url(), "alice".to_owned()));
    assert!(is_invalid(&verifier.verify("token").await));
}

#[tokio::test]
async fn a_configured_address_of_keys_is_used_without_asking() {
    let issuer = Issuer::start().await;
    let jwks_url = Some(format!("{}/keys", issuer.url()).parse().unwrap());
    let expectations = issuer.expectations();
    let verifier = verifier(OidcSettings { expectations, jwks_url, timings: steady() });

    assert!(verifier.verify(&issuer.token(1)).await.is_ok());
    assert_eq!((issuer.asked(DISCOVERY), issuer.asked("/keys")), (0, 1));
}

#[tokio::test]
async fn a_shared_secret_needs_no_provider() {
    let secret = b"kvc_a-shared-secret-of-more-than-32-bytes";
    let clock = Arc::new(ManualClock::new(now()));
    let expectations = Expectations { issuer: "us".into(), audience: "secrets".into() };
    let keys = KeySet::single(VerificationKey::shared(secret).unwrap());
    let verifier = FixedVerifier::new(keys, expectations, clock.clone());
    let claims = json!({
        "iss": "us", "aud": "secrets", "sub": "alice", "exp": now().timestamp() + 10,
    });
    let key = EncodingKey::from_secret(secret);
    let token = jsonwebtoken::encode(&Header::default(), &claims, &key).unwrap();

    assert_eq!(verifier.verify(&token).await.unwrap().subject, "alice");
    clock.advance(TimeDelta::seconds(71));
    assert!(matches!(verifier.verify(&token).await, Err(Unverified::Expired)));
}

#[tokio::test]
async fn the_development_key_needs_no_provider() {
    let clock = Arc::new(ManualClock::new(now()));
    let key = DevKey::generate().unwrap();
    let verifier = FixedVerifier::new(key.keys(), DevKey::expectations(), clock.clone());
    let token = key.sign("dev@example.com", clock.now()).unwrap();

    let identity = verifier.verify(&token).await.unwrap();

    assert_eq!(verifier.enrich(&token, identity.clone()).await.unwrap(), identity);
    assert_eq!(identity.email.as_deref(), Some("dev@example.com"));
}
