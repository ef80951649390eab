use std::sync::Mutex;

use serde_json::Value;

use super::*;
use crate::crypto::Plaintext;
use crate::model::SystemClock;
use crate::model::rotations::{DatabaseKind, SslMode};
use crate::ports::rotator::Proxy;

/// Invoker that returns a fixed response and records its invocations.
struct RecordingInvoker {
    answer: Result<Vec<u8>, InvokeFault>,
    calls: Mutex<Vec<(String, String, Vec<u8>)>>,
}

#[async_trait]
impl Invoker for RecordingInvoker {
    async fn invoke(
        &self,
        arn: &str,
        region: &str,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, InvokeFault> {
        self.calls.lock().unwrap().push((arn.to_owned(), region.to_owned(), payload));
        self.answer.clone()
    }
}

fn rotator(answer: Result<Vec<u8>, InvokeFault>) -> (Arc<RecordingInvoker>, LambdaRotator) {
    let invoker = Arc::new(RecordingInvoker { answer, calls: Mutex::default() });
    (Arc::clone(&invoker), LambdaRotator::new(invoker, Arc::new(SystemClock)))
}

fn target() -> Target {
    Target {
        kind: DatabaseKind::POSTGRESQL,
        host: "db.internal".to_owned(),
        port: 5432,
        database: "app".to_owned(),
        admin_username: "admin".to_owned(),
        admin_password: Plaintext::new("kvc_admin".to_owned()).unwrap(),
        ssl_mode: SslMode::VerifyFull,
        ca_certificate: None,
        proxy: Some(Proxy {
            lambda_arn: "arn:aws:lambda:eu-central-1:123456789012:function:rotate".to_owned(),
            region: "eu-central-1".to_owned(),
            shared_secret: Plaintext::new("kvc_0123456789abcdefghijklmnopqrs".to_owned()).unwrap(),
        }),
    }
}

#[tokio::test]
async fn a_function_without_an_answer_differs_from_one_with_a_wrong_answer() {
    for (answer, fault) in [
        (Err(InvokeFault::Unavailable), Fault::ProxyUnavailable),
        (Err(InvokeFault::Broke), Fault::ProxyUnavailable),
        (Err(InvokeFault::Refused), Fault::ProxyRefused),
        (Ok(b"null".to_vec()), Fault::ProxyUntrusted),
        (Ok(br#"{"success":true}"#.to_vec()), Fault::ProxyUntrusted),
        (Ok(Vec::new()), Fault::ProxyUntrusted),
    ] {
        let (_, rotator) = rotator(answer);

        assert_eq!(rotator.test(&target()).await, Err(fault.into()));
    }
}

#[tokio::test]
async fn the_function_is_invoked_once_with_an_encrypted_request() {
    let (invoker, rotator) = rotator(Err(InvokeFault::Unavailable));
    let fence = Fence { rotation: Uuid::from_u128(7).into(), sequence: 3 };

    let locked = rotator.lock(&target(), fence, "kv_aaaaaaaaaaaaaaaa_a").await;

    assert_eq!(locked, Err(Fault::ProxyUnavailable.into()));
    let calls = invoker.calls.lock().unwrap();
    let [(arn, region, payload)] = calls.as_slice() else { panic!("{} calls", calls.len()) };
    assert_eq!(
        (arn.as_str(), region.as_str()),
        (&*target().proxy.unwrap().lambda_arn, "eu-central-1")
    );
    let request: Value = serde_json::from_slice(payload).unwrap();
    assert_eq!((&request["step"], &request["seq"]), (&"lock".into(), &3.into()));
    let text = String::from_utf8_lossy(payload);
    assert!(!text.contains("kv_aaaaaaaaaaaaaaaa_a") && !text.contains("db.internal"));
}

#[tokio::test]
async fn a_missing_function_or_an_oversized_request_is_refused_without_a_call() {
    let (invoker, rotator) = rotator(Err(InvokeFault::Unavailable));
    let alone = Target { proxy: None, ..target() };
    let long = Target { ca_certificate: Some("x".repeat(16_384)), ..target() };

    for target in [alone, long] {
        assert_eq!(rotator.test(&target).await, Err(Fault::ProxyRefused.into()));
    }
    assert!(invoker.calls.lock().unwrap().is_empty());
}
