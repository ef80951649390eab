//! Tests of the golden vectors of messages to and from a rotation function (an AWS Lambda function
//! that changes database users).

use chrono::DateTime;
use secrets_core::crypto::Plaintext;
use secrets_core::ports::rotator::{Fault, Proxy};
use secrets_core::rotators::envelope::{Heading, Step};
use serde::Deserialize;
use uuid::Uuid;

use crate::{Bytes, section};

#[derive(Deserialize)]
struct Vector {
    name: String,
    valid: bool,
    secret: String,
    #[serde(default)]
    ts: i64,
    nonce: Bytes,
    #[serde(default)]
    config: Uuid,
    seq: u64,
    step: String,
    #[serde(default)]
    iv: Bytes,
    #[serde(default)]
    outcome: String,
    #[serde(default)]
    inside: String,
    payload: String,
}

impl Vector {
    fn proxy(&self) -> Proxy {
        Proxy {
            lambda_arn: String::new(),
            region: String::new(),
            shared_secret: Plaintext::new(self.secret.clone()).unwrap(),
        }
    }

    fn heading(&self) -> Heading {
        let steps = [Step::Test, Step::Apply, Step::Verify, Step::Lock];
        Heading {
            at: DateTime::from_timestamp(self.ts, 0).unwrap(),
            nonce: *self.nonce.array(),
            rotation: self.config.into(),
            sequence: self.seq,
            step: steps.into_iter().find(|step| step.as_str() == self.step).unwrap(),
        }
    }
}

#[test]
fn a_request_is_made_as_published() {
    for vector in section::<Vector>("proxy.json", "requests", |vector| vector.valid) {
        let (proxy, iv) = (vector.proxy(), *vector.iv.array());

        let payload = vector.heading().seal_with_iv(&proxy, vector.inside.as_bytes(), iv).unwrap();

        assert_eq!(String::from_utf8(payload).unwrap(), vector.payload, "{}", vector.name);
    }
}

#[test]
fn an_answer_opens_to_its_contents() {
    for vector in section::<Vector>("proxy.json", "answers", |vector| vector.valid) {
        let opened = vector.heading().open(&vector.proxy(), vector.payload.as_bytes());

        let opened = opened.unwrap_or_else(|_| panic!("{} does not open", vector.name));
        assert_eq!(opened.outcome, vector.outcome, "{}", vector.name);
        assert_eq!(opened.payload.as_slice(), vector.inside.as_bytes(), "{}", vector.name);
    }
}

#[test]
fn an_unproven_answer_is_refused() {
    for vector in section::<Vector>("proxy.json", "answers", |vector| !vector.valid) {
        let opened = vector.heading().open(&vector.proxy(), vector.payload.as_bytes());

        assert_eq!(opened.err(), Some(Fault::ProxyUntrusted), "{}", vector.name);
    }
}
