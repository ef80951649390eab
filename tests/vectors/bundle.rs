//! Tests of the golden vectors (example data with known results) of bundles and of their keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use secrets_core::bundle::{
    BundleError, BundleKey, BundledSecret, Opener, PublicKey, RecipientKey, Signer, Unlock,
};
use secrets_core::crypto::Passphrase;
use secrets_core::model::Time;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::section;

#[derive(Deserialize)]
struct Vector {
    name: String,
    valid: bool,
    unlock: Given,
    signer: Option<String>,
    #[serde(default)]
    at_least: u64,
    now: i64,
    bundle: Option<String>,
    #[serde(default)]
    parts: Vec<Part>,
    #[serde(default)]
    error: String,
    about: Option<About>,
    #[serde(default)]
    secrets: Value,
}

#[derive(Deserialize)]
struct Given {
    #[serde(rename = "type")]
    kind: String,
    text: String,
}

/// Part of the bundle in a vector: bytes in base64, or the bytes `from..to` of the bundle in the
/// vector with the name `of`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Bytes(String),
    Of { of: String, from: usize, to: usize },
}

#[derive(Deserialize)]
struct About {
    seq: u64,
    created: Time,
    expires: Option<Time>,
    project: Uuid,
    environment: Uuid,
    signer: String,
}

#[derive(Deserialize)]
struct KeyVector {
    name: String,
    kind: String,
    valid: bool,
    text: String,
    #[serde(default)]
    public: String,
}

impl Vector {
    fn opener(&self) -> Opener {
        let text = self.unlock.text.as_str();
        let unlock = match self.unlock.kind.as_str() {
            "key" => Unlock::Key(text.parse().unwrap()),
            "private" => Unlock::Private(text.parse().unwrap()),
            _ => Unlock::Passphrase(Passphrase::new(text.to_owned()).unwrap()),
        };
        let signer = self.signer.as_ref().map(|signer| signer.parse().unwrap());
        let now = DateTime::from_timestamp(self.now, 0).unwrap();
        Opener { unlock, signer, at_least: self.at_least, now }
    }

    fn bytes(&self, all: &[Self]) -> Vec<u8> {
        if let Some(bundle) = &self.bundle {
            return STANDARD.decode(bundle).unwrap();
        }
        let parts = self.parts.iter().map(|part| match part {
            Part::Bytes(bytes) => STANDARD.decode(bytes).unwrap(),
            Part::Of { of, from, to } => {
                let whole = all.iter().find(|other| other.name == *of).unwrap().bytes(all);
                whole[*from..whole.len().min(*to)].to_vec()
            }
        });
        parts.collect::<Vec<_>>().concat()
    }

    /// Returns the secrets that the bundle must contain. Long values, which the vector contains as
    /// a string and its number of repetitions, are expanded.
    fn expected(&self) -> Value {
        let mut secrets = self.secrets.clone();
        for secret in secrets.as_array_mut().unwrap() {
            if let Some(times) = secret["value"]["times"].as_u64() {
                let repeat = secret["value"]["repeat"].as_str().unwrap();
                let repeated = repeat.repeat(usize::try_from(times).unwrap());
                let before = secret["value"]["before"].as_str().unwrap();
                secret["value"] = json!(format!("{before}{repeated}"));
            }
        }
        secrets
    }
}

fn vectors() -> Vec<Vector> {
    section("bundle.json", "vectors", |_| true)
}

#[test]
fn a_bundle_opens_to_its_contents() {
    let vectors = vectors();
    for vector in vectors.iter().filter(|vector| vector.valid) {
        let file = vector.bytes(&vectors);
        let opened = vector.opener().open_bytes(&file);

        let opened = opened.unwrap_or_else(|refused| panic!("{}: {refused}", vector.name));
        let (about, expected) = (opened.metadata().clone(), vector.about.as_ref().unwrap());
        assert_eq!(opened.signer().to_string(), expected.signer, "{}", vector.name);
        assert_eq!(
            (about.seq, about.created_at, about.expires_at),
            (expected.seq, expected.created, expected.expires),
            "{}",
            vector.name
        );
        assert_eq!(
            (about.project.uuid(), about.environment.uuid()),
            (expected.project, expected.environment),
            "{}",
            vector.name
        );
        let secrets = opened.collect::<Result<Vec<BundledSecret>, BundleError>>();
        let secrets = secrets.unwrap_or_else(|refused| panic!("{}: {refused}", vector.name));
        assert!(json!(secrets) == vector.expected(), "{}: other secrets", vector.name);
    }
}

#[test]
fn a_bundle_that_breaks_a_rule_is_refused_for_the_reason() {
    let vectors = vectors();
    for vector in vectors.iter().filter(|vector| !vector.valid) {
        let file = vector.bytes(&vectors);
        let kind = match vector.opener().open_bytes(&file) {
            Ok(opened) => opened.filter_map(Result::err).map(|refused| refused.kind()).next(),
            Err(refused) => Some(refused.kind()),
        };

        assert_eq!(kind, Some(vector.error.as_str()), "{}", vector.name);
    }
}

#[test]
fn keys_are_written_and_read_as_published() {
    for vector in section::<KeyVector>("bundle.json", "keys", |vector| vector.valid) {
        let (name, text) = (&vector.name, vector.text.as_str());
        match vector.kind.as_str() {
            "key" => {
                assert_eq!(text.parse::<BundleKey>().unwrap().reveal().as_str(), text, "{name}");
            }
            "private" => {
                let key = text.parse::<RecipientKey>().unwrap();
                assert_eq!(key.reveal().as_str(), text, "{name}");
                assert_eq!(key.public().to_string(), vector.public, "{name}");
            }
            "public" => assert_eq!(text.parse::<PublicKey>().unwrap().to_string(), text, "{name}"),
            _ => assert_eq!(text.parse::<Signer>().unwrap().to_string(), text, "{name}"),
        }
    }
}

#[test]
fn a_text_that_is_no_key_is_refused() {
    for vector in section::<KeyVector>("bundle.json", "keys", |vector| !vector.valid) {
        let text = vector.text.as_str();
        let is_refused = match vector.kind.as_str() {
            "key" => text.parse::<BundleKey>().is_err(),
            "private" => text.parse::<RecipientKey>().is_err(),
            "public" => text.parse::<PublicKey>().is_err(),
            _ => text.parse::<Signer>().is_err(),
        };

        assert!(is_refused, "{}", vector.name);
    }
}
