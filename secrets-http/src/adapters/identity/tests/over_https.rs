//! Tests with an issuer that is reached over HTTPS. Its certificate is verified.

use std::path::Path;
use std::process::Command;

use super::*;

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testdata/certificate.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testdata/key.pem");

/// Environment variable that is set in the child process of a test below, which runs the same test
/// program.
const TRUSTING: &str = "SECRETS_TEST_TRUSTING";

async fn secure() -> Issuer {
    let tls = crate::serve::tls::acceptor(Path::new(CERTIFICATE), Path::new(KEY)).unwrap();
    Issuer::start_with(Some(tls)).await
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let issuer = secure().await;

    let verdict = issuer.verifier(steady()).verify(&issuer.token(1)).await;

    assert!(is_unavailable(&verdict));
    assert_eq!(issuer.asked(DISCOVERY), 0);
}

/// Runs the test again in a child process that trusts the certificate.
#[test]
fn a_certificate_the_machine_trusts_is_accepted() {
    if std::env::var_os(TRUSTING).is_some() {
        return trusting();
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("adapters::identity::tests::over_https::a_certificate_the_machine_trusts_is_accepted")
        .env(TRUSTING, "1")
        .env("SSL_CERT_FILE", CERTIFICATE)
        .output()
        .unwrap();

    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{child:?}");
}

#[tokio::main(flavor = "current_thread")]
async fn trusting() {
    let issuer = secure().await;
    issuer.verifier(steady()).verify(&issuer.token(1)).await.unwrap();

    // Even a trusted issuer must not redirect to an unencrypted URL.
    let elsewhere = Issuer::start().await;
    let jwks = format!("{}/keys", elsewhere.url());
    issuer.discovery(&json!({ "issuer": issuer.url(), "jwks_uri": jwks }));
    let verdict = issuer.verifier(steady()).verify(&issuer.token(1)).await;
    assert!(is_unavailable(&verdict));
    assert_eq!(elsewhere.asked("/keys"), 0);
}
