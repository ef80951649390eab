//! Real OpenID provider: a package from npm, run as a child process.

use std::io::{BufRead, BufReader, Lines};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use secrets_tests::{Browser, Client};
use serde_json::Value;

/// Running OpenID provider.
pub(crate) struct Provider {
    child: Child,
    port: u16,
    /// Standard output of the provider process. It must stay open, because the process ends if it
    /// cannot print.
    _printed: Lines<BufReader<ChildStdout>>,
}

/// Returns the number of a free port of 127.0.0.1, on which a test starts a server later. No other
/// program gets the port in the meantime: it is below the ports from which the system chooses, and
/// it is derived from the ID of this process.
pub(crate) fn free_port() -> u16 {
    static NUMBER: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + u16::try_from(std::process::id() % 2_000).unwrap() * 10;
    loop {
        let port = first + NUMBER.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Provider {
    /// Starts the provider on this port, with signing keys of these names. The provider signs
    /// tokens with the first key.
    pub(crate) fn start(port: u16, keys: &[&str]) -> Self {
        Self::start_with(port, keys, &[])
    }

    /// Starts the provider with OAuth clients for the sign-in of browsers. The provider redirects
    /// browsers to `redirect_uri`; the client `confidential` authenticates with `auth_method`.
    pub(crate) fn for_browsers(redirect_uri: &str, auth_method: &str) -> Self {
        let variables = [("REDIRECT_URI", redirect_uri), ("AUTH_METHOD", auth_method)];
        Self::start_with(free_port(), &["1"], &variables)
    }

    fn start_with(port: u16, keys: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("oidc");
        let mut child = Command::new("node")
            .arg("provider.mjs")
            .arg(secrets_core::testing::folder())
            .arg(port.to_string())
            .args(keys)
            .envs(variables.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.by_ref().map_while(Result::ok).any(|line| line == "listening");
        assert!(ready, "the provider ended: was `npm ci` run in tests/oidc?");
        Self { child, port, _printed: lines }
    }

    /// Signs in a user at the provider. Returns the path and the query of the service to which the
    /// provider redirects the browser afterwards.
    pub(crate) async fn sign_in(&self, authorization_url: &str) -> String {
        let issuer = self.issuer();
        let client = Client::new(([127, 0, 0, 1], self.port).into(), None);
        let mut browser = Browser::new(client, &format!("127.0.0.1:{}", self.port));
        let mut url = authorization_url.to_owned();
        while let Some(path) = url.strip_prefix(&issuer).or(url.strip_prefix('/').map(|_| &*url)) {
            let reply = browser.arrive(path).await;
            reply.is(303);
            reply.header("location").unwrap().clone_into(&mut url);
        }
        let (_, path) = url.split_once("/sign-in/callback").unwrap();
        format!("/sign-in/callback{path}")
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Requests an access token for this resource (audience) from the provider.
    pub(crate) async fn token(&self, resource: &str) -> String {
        let client = Client::new(([127, 0, 0, 1], self.port).into(), None);
        let headers = [
            // alice:a-secret-of-the-test
            ("authorization", "Basic YWxpY2U6YS1zZWNyZXQtb2YtdGhlLXRlc3Q="),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let body = format!("grant_type=client_credentials&resource={resource}");
        let reply = client.raw(hyper::Method::POST, "/token", &headers, body).await;
        let reply: Value = reply.is(200).json();
        reply["access_token"].as_str().unwrap().to_owned()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
