//! Real OpenID provider, from npm.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use secrets_tests::Client;
use serde_json::Value;

/// Running OpenID provider.
pub(crate) struct Provider {
    child: Child,
    port: u16,
}

/// Returns a port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Provider {
    /// Starts the provider with these keys; the first key signs.
    pub(crate) fn start(port: u16, keys: &[&str]) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("oidc");
        let mut child = Command::new("node")
            .arg("provider.mjs")
            .arg(secrets_core::testing::folder())
            .arg(port.to_string())
            .args(keys)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.map_while(Result::ok).any(|line| line == "listening");
        assert!(ready, "the provider ended: was `npm ci` run in tests/oidc?");
        Self { child, port }
    }

    pub(crate) fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Requests an access token for this resource.
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
