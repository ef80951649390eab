//! Tests of rotations through an AWS Lambda function: they run the function of
//! `examples/rotation-proxy` behind a local server with the API of AWS Lambda, against real
//! databases.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod databases;

use std::sync::Arc;

use secrets_core::crypto::Plaintext;
use secrets_core::model::rotations::SslMode;
use secrets_core::model::{Clock, ManualClock, SystemClock};
use secrets_core::ports::rotator::{DatabaseRotator, Fault, Target};
use secrets_core::rotators::lambda::{AwsInvoker, LambdaRotator};
use secrets_core::testing::rotators;
use secrets_core::testing::targets::Dialect;

use secrets_tests::{LambdaEndpoint, SHARED_SECRET};

use databases::{database, proxy, server, witness};

fn rotator(endpoint: &LambdaEndpoint) -> LambdaRotator {
    LambdaRotator::new(Arc::new(AwsInvoker::at(endpoint.url.clone())), Arc::new(SystemClock))
}

async fn fault(rotator: &LambdaRotator, target: &Target) -> Option<Fault> {
    rotator.test(target).await.err().map(|error| error.fault)
}

async fn keeps_the_rules(dialect: Dialect) {
    let endpoint = LambdaEndpoint::start();
    let target = database(&endpoint, dialect).await;

    rotators::check(&rotator(&endpoint), &target, &witness(&endpoint, &target)).await;
}

#[tokio::test]
async fn a_function_keeps_the_rules_of_rotators_on_postgresql() {
    keeps_the_rules(Dialect::Postgres).await;
}

#[tokio::test]
async fn a_function_keeps_the_rules_of_rotators_on_mariadb() {
    keeps_the_rules(Dialect::MariaDb).await;
}

#[tokio::test]
async fn a_function_keeps_the_rules_of_rotators_on_mysql() {
    if Dialect::all().contains(&Dialect::MySql) {
        keeps_the_rules(Dialect::MySql).await;
    }
}

#[tokio::test]
async fn a_server_must_prove_what_the_tls_mode_requires() {
    let endpoint = LambdaEndpoint::start();
    let rotator = rotator(&endpoint);
    for dialect in Dialect::all() {
        let target = server(dialect);
        // The certificate does not cover this address.
        let unnamed = Target { host: "127.0.0.4".to_owned(), ..target.clone() };
        let unknown = Target { ca_certificate: None, ..target.clone() };
        let garbled = Target { ca_certificate: Some("kvc_no PEM".to_owned()), ..target.clone() };
        let closed = Target { port: 9, ..target.clone() };

        for (target, mode, expected) in [
            (&target, SslMode::VerifyFull, None),
            (&unnamed, SslMode::VerifyFull, Some(Fault::TlsUntrusted)),
            (&unnamed, SslMode::VerifyCa, None),
            (&unknown, SslMode::VerifyFull, Some(Fault::TlsUntrusted)),
            (&unknown, SslMode::VerifyCa, Some(Fault::TlsUntrusted)),
            (&unknown, SslMode::Require, None),
            (&unknown, SslMode::Prefer, None),
            (&garbled, SslMode::VerifyCa, Some(Fault::TlsUntrusted)),
            (&closed, SslMode::VerifyFull, Some(Fault::Unreachable)),
        ] {
            let target = Target { ssl_mode: mode, ..target.clone() };
            assert_eq!(fault(&rotator, &target).await, expected, "{dialect:?} {mode:?}");
        }
    }
}

#[tokio::test]
async fn each_failure_of_a_call_has_its_own_fault() {
    let endpoint = LambdaEndpoint::start();
    let rotator = rotator(&endpoint);
    for (function, expected) in [
        ("missing", Fault::ProxyRefused),
        ("denied", Fault::ProxyRefused),
        ("throttled", Fault::ProxyUnavailable),
        ("pending", Fault::ProxyUnavailable),
        ("unwell", Fault::ProxyUnavailable),
        ("breaks", Fault::ProxyUnavailable),
        ("agrees", Fault::ProxyUntrusted),
    ] {
        let target = server(Dialect::Postgres);
        let target = Target { proxy: Some(proxy(function, SHARED_SECRET)), ..target };

        assert_eq!(fault(&rotator, &target).await, Some(expected), "{function}");
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_unavailable() {
    let nowhere = AwsInvoker::at("http://127.0.0.1:9".to_owned());
    let rotator = LambdaRotator::new(Arc::new(nowhere), Arc::new(SystemClock));

    let reported = fault(&rotator, &server(Dialect::Postgres)).await;

    assert_eq!(reported, Some(Fault::ProxyUnavailable));
}

#[tokio::test]
async fn a_replayed_answer_is_refused() {
    let endpoint = LambdaEndpoint::start();
    let rotator = rotator(&endpoint);
    let target = server(Dialect::Postgres);
    assert_eq!(fault(&rotator, &target).await, None);

    let replayed = Target { proxy: Some(proxy("repeats", SHARED_SECRET)), ..target };

    assert_eq!(fault(&rotator, &replayed).await, Some(Fault::ProxyUntrusted));
}

#[tokio::test]
async fn a_function_refuses_another_secret_or_another_time() {
    let endpoint = LambdaEndpoint::start();
    let target = server(Dialect::Postgres);
    let other_secret = Target {
        proxy: Some(proxy("rotate", "kvc_another_secret_0123456789abcdefg")),
        ..target.clone()
    };
    assert_eq!(fault(&rotator(&endpoint), &other_secret).await, Some(Fault::ProxyUntrusted));

    for (minutes, expected) in [(6, Some(Fault::ProxyUntrusted)), (4, None)] {
        for sign in [1, -1] {
            let clock = ManualClock::new(SystemClock.now());
            clock.advance(chrono::TimeDelta::minutes(sign * minutes));
            let invoker = Arc::new(AwsInvoker::at(endpoint.url.clone()));
            let rotator = LambdaRotator::new(invoker, Arc::new(clock));
            assert_eq!(fault(&rotator, &target).await, expected, "{minutes} minutes");
        }
    }
}

#[tokio::test]
async fn messages_and_logs_contain_no_secret() {
    let endpoint = LambdaEndpoint::start();
    let target = server(Dialect::Postgres);
    let wrong = Plaintext::new("kvc_wrong_password_0123456789".to_owned()).unwrap();
    let wrong = Target { admin_password: wrong, ..target.clone() };
    assert_eq!(fault(&rotator(&endpoint), &target).await, None);
    assert_eq!(fault(&rotator(&endpoint), &wrong).await, Some(Fault::AdminRejected));

    let said = endpoint.stop();

    assert!(said.contains(r#""step": "test", "outcome": "ok""#), "{said}");
    assert!(!said.contains("kvc_") && !said.contains(&target.admin_username), "{said}");
}
