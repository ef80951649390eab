//! OpenID provider in the process of the test, whose responses the test can choose. It checks that
//! the requests of the service follow the specifications.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrets_core::model::{Clock, ManualClock};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Client ID and client secret that the provider accepts. Both contain characters that must be
/// encoded in HTTP Basic authentication.
pub const CLIENT: (&str, &str) = ("secrets web", "kvc_client:secret%");

/// Running OpenID provider.
pub struct IdentityProvider {
    address: SocketAddr,
    state: Arc<State>,
    running: JoinHandle<()>,
}

/// Function that changes the claims of an ID token.
type Change = Box<dyn Fn(&mut Value) + Send + Sync>;

struct State {
    issuer: String,
    clock: Arc<ManualClock>,
    key: EncodingKey,
    codes: Mutex<BTreeMap<String, Authorized>>,
    discovery: Mutex<Value>,
    change: Mutex<Change>,
    answer: Mutex<TokenAnswer>,
    exchanges: Mutex<Vec<String>>,
}

/// Sign-in of a user at the provider. The service has received a code for it, but has not exchanged
/// the code for tokens yet.
struct Authorized {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

/// Response of the provider's token endpoint.
#[derive(Clone)]
pub enum TokenAnswer {
    /// Tokens if the token request is valid; otherwise an error.
    Tokens,
    /// Valid response whose ID token is this string.
    IdToken(String),
    /// Response with this status and body.
    Other(u16, Bytes),
    /// No response to the token request.
    Silence,
}

impl IdentityProvider {
    /// Starts a provider that uses this clock.
    pub async fn start(clock: &Arc<ManualClock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let issuer = format!("http://{address}");
        let discovery = json!({
            "issuer": issuer,
            "jwks_uri": format!("{issuer}/keys"),
            "authorization_endpoint": format!("{issuer}/auth?tenant=1"),
            "token_endpoint": format!("{issuer}/token"),
            "authorization_response_iss_parameter_supported": true,
        });
        let mut pkcs8 =
            vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        pkcs8.extend([7; 32]);
        let state = Arc::new(State {
            issuer,
            clock: Arc::clone(clock),
            key: EncodingKey::from_ed_der(&pkcs8),
            codes: Mutex::default(),
            discovery: Mutex::new(discovery),
            change: Mutex::new(Box::new(|_| {})),
            answer: Mutex::new(TokenAnswer::Tokens),
            exchanges: Mutex::default(),
        });
        let running = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self { address, state, running }
    }

    /// Returns the issuer URL of the provider.
    #[must_use]
    pub fn issuer(&self) -> String {
        self.state.issuer.clone()
    }

    /// Returns the IP address and the port of the provider.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets a function that changes the claims of all later ID tokens.
    pub fn claims(&self, change: impl Fn(&mut Value) + Send + Sync + 'static) {
        *self.state.change.lock().unwrap() = Box::new(change);
    }

    /// Sets the response of the token endpoint to all later requests.
    pub fn answer(&self, answer: TokenAnswer) {
        *self.state.answer.lock().unwrap() = answer;
    }

    /// Sets a field of the provider's discovery document to this value, which can be `null`.
    pub fn discovery(&self, field: &str, value: Value) {
        self.state.discovery.lock().unwrap()[field] = value;
    }

    /// Returns the result of each request to the token endpoint: `ok`, or the OAuth error code for
    /// the rule that the request violated.
    #[must_use]
    pub fn exchanges(&self) -> Vec<String> {
        self.state.exchanges.lock().unwrap().clone()
    }

    /// Signs in a user at this authorization URL. Returns the path and the query of the service to
    /// which the provider redirects the browser.
    #[must_use]
    pub fn sign_in(&self, authorization_url: &str) -> String {
        let url: url::Url = authorization_url.parse().unwrap();
        let fields: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        assert!(authorization_url.starts_with(&format!("{}/auth?tenant=1&", self.state.issuer)));
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", CLIENT.0),
            ("scope", "openid email"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(fields[name], value);
        }
        assert!(fields["state"].len() >= 43 && fields["nonce"].len() >= 43);
        let code = format!("code-{}", self.state.codes.lock().unwrap().len());
        let authorized = Authorized {
            nonce: fields["nonce"].clone(),
            challenge: fields["code_challenge"].clone(),
            redirect_uri: fields["redirect_uri"].clone(),
        };
        self.state.codes.lock().unwrap().insert(code.clone(), authorized);
        let query = [("code", &code), ("state", &fields["state"]), ("iss", &self.state.issuer)];
        let (_, path) = fields["redirect_uri"].split_once("/sign-in/").unwrap();
        format!("/sign-in/{path}?{}", serde_urlencoded::to_string(query).unwrap())
    }

    /// Creates an ID token for the last sign-in, with this JWT header. Signs it with `key`, or with
    /// the provider's own key if `None`.
    #[must_use]
    pub fn id_token(&self, header: &Header, key: Option<&EncodingKey>) -> String {
        let codes = self.state.codes.lock().unwrap();
        let (_, authorized) = codes.last_key_value().unwrap();
        let claims = self.state.claims(&authorized.nonce);
        jsonwebtoken::encode(header, &claims, key.unwrap_or(&self.state.key)).unwrap()
    }
}

impl State {
    fn claims(&self, nonce: &str) -> Value {
        let now = self.clock.now().timestamp();
        let mut claims = json!({
            "iss": self.issuer, "aud": CLIENT.0, "sub": "alice", "exp": now + 300, "iat": now,
            "nonce": nonce, "email": "alice@example.com", "email_verified": true, "name": "Alice",
        });
        (self.change.lock().unwrap())(&mut claims);
        claims
    }

    fn keys(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, Algorithm::EdDSA).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!("1");
        json!({ "keys": [jwk] })
    }

    /// Exchanges the code in a token request for tokens. The error is the OAuth error code for the
    /// rule that the request violated.
    fn exchange(&self, headers: &HeaderMap, form: &str) -> Result<Value, &'static str> {
        let fields: BTreeMap<String, String> = serde_urlencoded::from_str(form).unwrap();
        let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let pair = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap());
        let basic = "Basic c2VjcmV0cyt3ZWI6a3ZjX2NsaWVudCUzQXNlY3JldCUyNQ==";
        let is_post = (field("client_id"), field("client_secret")) == CLIENT;
        if pair != Some(basic) && !(pair.is_none() && is_post) {
            return Err("invalid_client");
        }
        let authorized = self.codes.lock().unwrap().remove(field("code")).ok_or("invalid_grant")?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
        if challenge != authorized.challenge || field("redirect_uri") != authorized.redirect_uri {
            return Err("invalid_grant");
        }
        let header = Header { kid: Some("1".to_owned()), ..Header::new(Algorithm::EdDSA) };
        let claims = self.claims(&authorized.nonce);
        let id_token = jsonwebtoken::encode(&header, &claims, &self.key).unwrap();
        Ok(json!({ "id_token": id_token, "access_token": "kvc_access", "token_type": "Bearer" }))
    }

    async fn respond(&self, request: Request<Incoming>) -> (u16, Bytes) {
        let (parts, body) = request.into_parts();
        match parts.uri.path() {
            "/keys" => (200, self.keys().to_string().into()),
            "/token" => {
                let form = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec());
                let outcome = self.exchange(&parts.headers, &form.unwrap());
                let result = outcome.as_ref().err().copied().unwrap_or("ok").to_owned();
                self.exchanges.lock().unwrap().push(result);
                let answer = self.answer.lock().unwrap().clone();
                match (answer, outcome) {
                    (TokenAnswer::Silence, _) => {
                        tokio::time::sleep(Duration::from_mins(10)).await;
                        (200, Bytes::new())
                    }
                    (TokenAnswer::Other(status, body), _) => (status, body),
                    (TokenAnswer::IdToken(token), _) => {
                        (200, json!({ "id_token": token }).to_string().into())
                    }
                    (TokenAnswer::Tokens, Ok(tokens)) => (200, tokens.to_string().into()),
                    (TokenAnswer::Tokens, Err(error)) => {
                        (400, json!({ "error": error }).to_string().into())
                    }
                }
            }
            _ => (200, self.discovery.lock().unwrap().to_string().into()),
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let answer = |request| {
                let state = Arc::clone(&state);
                async move {
                    let (status, body) = state.respond(request).await;
                    let response = Response::builder().status(status).body(Full::new(body));
                    Ok::<_, Infallible>(response.unwrap())
                }
            };
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            let _ = connection.await;
        });
    }
}

impl Drop for IdentityProvider {
    fn drop(&mut self) {
        self.running.abort();
    }
}
