//! Tests of creating bundles (encrypted exports of an environment).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use secrets_core::bundle::{BundleError, BundledSecret, Opener, RecipientKey, Signer, Unlock};
use secrets_core::crypto::Passphrase;
use secrets_core::model::Time;
use secrets_tests::{App, STARTED, canary, on_every_store, paths};
use serde_json::{Value, json};

const PASSPHRASE: &str = "kvc_correct horse";

fn key_of(bundle: &Value) -> Unlock {
    Unlock::Key(bundle["key"].as_str().unwrap().parse().unwrap())
}

fn signer_of(bundle: &Value) -> Signer {
    bundle["signer"].as_str().unwrap().parse().unwrap()
}

fn opened(bundle: &Value, unlock: Unlock) -> Result<Vec<BundledSecret>, BundleError> {
    let file = STANDARD.decode(bundle["bundle"].as_str().unwrap()).unwrap();
    assert!(!file.windows(4).any(|bytes| bytes == b"kvc_"));
    let now: Time = STARTED.parse().unwrap();
    let opener = Opener { unlock, signer: Some(signer_of(bundle)), at_least: 0, now };
    opener.open_bytes(&file)?.collect()
}

async fn a_bundle_contains_the_effective_secrets(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    alice.secret(&web, "staging", "B", &canary("b")).await;
    alice.secret(&web, "staging", "GONE", &canary("gone")).await;
    let described = json!({ "key": "A", "value": canary("a"), "description": "First" });
    alice.post(&paths::secrets(&web, "preview"), &described).await.is(201);
    let hide = json!({ "key": "GONE", "hidden": true });
    alice.post(&paths::secrets(&web, "preview"), &hide).await.is(201);
    let export = alice.get(&paths::secret(&web, "preview", "export")).await.is(200).json();

    let new = json!({ "recipients": [{ "type": "raw" }] });
    let bundle = alice.post(&paths::secret(&web, "preview", "bundle"), &new).await.is(200).json();

    assert_eq!(bundle["secrets"], 2);
    let secrets = json!(opened(&bundle, key_of(&bundle)).unwrap());
    let mut expected = export["secrets"].clone();
    for secret in expected.as_array_mut().unwrap() {
        let secret = secret.as_object_mut().unwrap();
        for field in ["id", "environment_id", "type", "created_at", "created_by", "updated_by"] {
            secret.remove(field);
        }
    }
    assert_eq!(secrets, expected);
    assert_eq!(secrets[1]["inherited_from"], "staging");
}

async fn a_bundle_opens_for_each_recipient(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", &canary("value")).await;
    let private = RecipientKey::generate();
    let recipients = json!([
        { "type": "passphrase", "passphrase": PASSPHRASE },
        { "type": "x25519", "public_key": private.public() },
        { "type": "raw" },
    ]);

    let new = json!({ "recipients": recipients });
    let bundle = alice.post(&paths::secret(&web, "staging", "bundle"), &new).await.is(200).json();

    let passphrase = Unlock::Passphrase(Passphrase::new(PASSPHRASE.to_owned()).unwrap());
    for unlock in [key_of(&bundle), passphrase, Unlock::Private(private)] {
        let secrets = opened(&bundle, unlock).unwrap();
        assert_eq!(secrets[0].value.reveal(), canary("value"));
    }
    let other = opened(&bundle, Unlock::Private(RecipientKey::generate())).unwrap_err();
    assert_eq!(other.kind(), "no_recipient");
}

async fn a_raw_key_is_returned_only_if_requested(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bundle");
    let public = RecipientKey::generate().public();

    let new = json!({ "recipients": [{ "type": "x25519", "public_key": public }] });
    let reply = alice.post(&path, &new).await;

    let bundle = reply.is(200).json();
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!((bundle.get("key"), &bundle["secrets"]), (None, &json!(0)));
    assert_eq!(bundle.get("expires_at"), None);
}

async fn an_instance_signs_and_numbers_its_bundles(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bundle");
    let new = json!({ "recipients": [{ "type": "raw" }], "expires_in_seconds": 60 });

    let first = alice.post(&path, &new).await.is(200).json();
    app.wait(TimeDelta::microseconds(1));
    let second = alice.post(&path, &new).await.is(200).json();

    assert_eq!(first["signer"], second["signer"]);
    assert_ne!(first["key"], second["key"]);
    assert_eq!(first["seq"].as_u64().unwrap() + 1, second["seq"].as_u64().unwrap());
    let created: Time = first["created_at"].as_str().unwrap().parse().unwrap();
    let expires: Time = first["expires_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(expires - created, TimeDelta::seconds(60));
}

async fn a_bundle_is_recorded_as_an_export(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let path = paths::secret(&web, "staging", "bundle");

    alice.post(&path, &json!({ "recipients": [] })).await.is(400);
    alice.post(&path, &json!({ "recipients": [{ "type": "raw" }] })).await.is(200);

    let entry = app.entry(&alice.team, "secrets.exported").await;
    assert_eq!(entry.environment_name.as_deref(), Some("staging"));
    assert_eq!(entry.metadata, r#"{"count":1,"format":"bundle","inherited_count":0}"#);
}

async fn a_bundle_needs_the_permission_to_read(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let write = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&write).await);
    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let path = paths::secret(&web, "staging", "bundle");
    let new = json!({ "recipients": [{ "type": "passphrase", "passphrase": PASSPHRASE }] });

    reader.post(&path, &new).await.is(200);

    writer.post(&path, &new).await.is(403).says("this token may not read");
    bob.post(&path, &new).await.is(403);
    let unknown = paths::secret(&web, "none", "bundle");
    alice.post(&unknown, &new).await.is(404).says("environment not found");
    // Permissions are checked before the rules for the whole body.
    bob.post(&path, &json!({ "recipients": [] })).await.is(403);
}

async fn invalid_recipients_are_named_by_field(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bundle");
    let public = RecipientKey::generate().public();
    let x25519 = json!({ "type": "x25519", "public_key": public });
    let passphrase = json!({ "type": "passphrase", "passphrase": PASSPHRASE });
    let raw = json!({ "type": "raw" });

    for (recipients, field) in [
        (json!([]), "recipients"),
        (json!(vec![&x25519; 17]), "recipients"),
        (json!("raw"), "recipients"),
        (json!(["raw"]), "recipients[0]"),
        (json!([raw, raw]), "recipients[1]"),
        (json!([passphrase, raw, passphrase]), "recipients[2]"),
        (json!([x25519, x25519]), "recipients[1]"),
        (json!([{ "type": "scrypt" }]), "recipients[0].type"),
        (json!([{ "type": "passphrase", "passphrase": "kvc_short" }]), "recipients[0].passphrase"),
        (json!([{ "type": "passphrase" }]), "recipients[0]"),
        (json!([{ "type": "raw", "passphrase": PASSPHRASE }]), "recipients[0]"),
        (json!([{ "type": "x25519", "public_key": "scbp_kvc_none" }]), "recipients[0].public_key"),
    ] {
        let reply = alice.post(&path, &json!({ "recipients": recipients })).await;
        reply.is(400).names(field);
        assert!(!reply.text().contains("kvc_"), "{}", reply.text());
    }
    alice.post(&path, &json!({})).await.is(400).names("recipients");
    for seconds in [json!(59), json!(31_536_001), json!("60"), json!(-1)] {
        let new = json!({ "recipients": [raw], "expires_in_seconds": seconds });
        alice.post(&path, &new).await.is(400).names("expires_in_seconds");
    }
    alice.post(&path, &json!({ "recipients": [raw], "expires": 60 })).await.is(400).names("body");
}

async fn a_secret_may_be_called_bundle(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bundle");
    alice.secret(&web, "staging", "bundle", "kvc_value").await;

    let read = alice.get(&path).await.is(200).json();
    alice.put(&path, &json!({ "value": "kvc_two" })).await.is(200);
    let history = alice.get(&format!("{path}/history")).await.is(200).json();

    assert_eq!(read["secret"]["value"], "kvc_value");
    assert_eq!(history["history"].as_array().unwrap().len(), 1);
    let allowed = "GET, HEAD, POST, PUT, DELETE";
    let other = alice.raw(http::Method::PATCH, &path, &[], "").await;
    assert_eq!(other.is(405).header("allow"), Some(allowed));
    alice.delete(&path).await.is(204);
    alice.get(&path).await.is(404).says("secret not found");
}

on_every_store![
    a_bundle_contains_the_effective_secrets,
    a_bundle_opens_for_each_recipient,
    a_raw_key_is_returned_only_if_requested,
    an_instance_signs_and_numbers_its_bundles,
    a_bundle_is_recorded_as_an_export,
    a_bundle_needs_the_permission_to_read,
    invalid_recipients_are_named_by_field,
    a_secret_may_be_called_bundle,
];
