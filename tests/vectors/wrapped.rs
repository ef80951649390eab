//! Tests of the golden vectors of wrapped (encrypted) keys: instance keys, and project keys.

use secrets_core::crypto::published::{
    instance_key_context, keyring, purpose_key, wrap_instance_key, wrap_project_key,
};
use secrets_core::crypto::{
    Key, Plaintext, ProjectKey, ProjectKeyError, ProjectKeyRecord, Purpose, RecordContext,
    RootKeys, Sealed, StaticRootKey,
};
use serde::Deserialize;
use uuid::Uuid;

use crate::{Bytes, section};

#[derive(Deserialize)]
struct OfProject {
    name: String,
    valid: bool,
    kek: Bytes,
    instance_id: Uuid,
    project_id: Uuid,
    dek_ver: u32,
    #[serde(default)]
    nonce: Bytes,
    #[serde(default)]
    key: Bytes,
    wrapped: Bytes,
}

impl OfProject {
    fn unwrap(&self) -> Result<ProjectKey, ProjectKeyError> {
        let keyring = keyring(&self.kek.key(), self.instance_id.into(), 1);
        keyring.project_key(&ProjectKeyRecord {
            project: self.project_id.into(),
            version: self.dek_ver,
            kek_id: 1,
            wrapped: self.wrapped.0.clone(),
        })
    }
}

#[derive(Deserialize)]
struct OfInstance {
    name: String,
    valid: bool,
    root: Bytes,
    instance_id: Uuid,
    kek_id: u32,
    #[serde(default)]
    nonce: Bytes,
    #[serde(default)]
    key: Bytes,
    wrapped: Bytes,
}

impl OfInstance {
    fn context(&self) -> Vec<u8> {
        instance_key_context(self.instance_id.into(), self.kek_id)
    }

    async fn unwrap(&self) -> Option<Key> {
        let root = StaticRootKey::new(&self.root.key());
        root.unwrap(&self.wrapped.0, &self.context()).await.ok()
    }
}

#[test]
fn a_project_key_unwraps_and_is_wrapped_again() {
    for vector in section::<OfProject>("wrapped.json", "project_keys", |vector| vector.valid) {
        let opened = vector.unwrap().unwrap_or_else(|_| panic!("{} does not open", vector.name));
        let key = vector.key.key();
        let keyring = keyring(&vector.kek.key(), vector.instance_id.into(), 1);
        let (project, nonce) = (vector.project_id.into(), vector.nonce.array());

        let wrapped = wrap_project_key(&keyring, project, vector.dek_ver, &key, nonce);

        let expected = ProjectKey::new(&key, vector.dek_ver);
        assert_eq!(seals(&opened), seals(&expected), "{}", vector.name);
        assert_eq!(wrapped, vector.wrapped.0, "{}", vector.name);
    }
}

#[test]
fn any_other_project_key_is_refused() {
    for vector in section::<OfProject>("wrapped.json", "project_keys", |vector| !vector.valid) {
        assert!(vector.unwrap().is_err(), "{}", vector.name);
    }
}

#[tokio::test]
async fn an_instance_key_unwraps_and_is_wrapped_again() {
    for vector in section::<OfInstance>("wrapped.json", "instance_keys", |vector| vector.valid) {
        let opened = vector.unwrap().await.unwrap();
        let (root, key, nonce) = (vector.root.key(), vector.key.key(), vector.nonce.array());

        let wrapped = wrap_instance_key(&root, &vector.context(), &key, nonce);

        assert_eq!(tells(&opened), tells(&key), "{}", vector.name);
        assert_eq!(wrapped, vector.wrapped.0, "{}", vector.name);
    }
}

#[tokio::test]
async fn any_other_instance_key_is_refused() {
    for vector in section::<OfInstance>("wrapped.json", "instance_keys", |vector| !vector.valid) {
        assert!(vector.unwrap().await.is_none(), "{}", vector.name);
    }
}

#[test]
fn a_root_key_is_known_by_its_id() {
    #[derive(Deserialize)]
    struct Vector {
        name: String,
        root: Bytes,
        rk_id: Bytes,
    }

    for vector in section::<Vector>("wrapped.json", "root_ids", |_| true) {
        let id = StaticRootKey::new(&vector.root.key()).id();

        assert_eq!(id.0.as_slice(), vector.rk_id.0, "{}", vector.name);
    }
}

#[test]
fn each_purpose_has_its_key() {
    #[derive(Deserialize)]
    struct Vector {
        name: String,
        kek: Bytes,
        instance_id: Uuid,
        purpose: String,
        key: Bytes,
    }

    for vector in section::<Vector>("wrapped.json", "purpose_keys", |_| true) {
        let key = purpose_key(&vector.kek.key(), vector.instance_id.into(), &vector.purpose);

        assert_eq!(tells(&key), tells(&vector.key.key()), "{}", vector.name);
    }
}

/// Encrypts a fixed value with the key and a fixed nonce. Two keys are equal if the results are
/// equal; the type `Key` itself cannot be compared.
fn tells(key: &Key) -> Sealed {
    seals(&ProjectKey::new(key, 1))
}

fn seals(key: &ProjectKey) -> Sealed {
    let context = RecordContext {
        purpose: Purpose::Value,
        hidden: false,
        instance: Uuid::nil().into(),
        project: Uuid::nil().into(),
        environment: None,
        object: Uuid::nil(),
        key: "",
        version: 0,
    };
    Sealed::seal_with_nonce(key, &context, &Plaintext::nothing(), &[0; 24])
}
