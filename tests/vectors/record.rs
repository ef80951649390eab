//! Tests of the golden vectors of sealed (encrypted) records.

use secrets_core::crypto::{Plaintext, ProjectKey, Purpose, RecordContext, Sealed, Undecryptable};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{Bytes, section};

#[derive(Deserialize)]
struct Vector {
    name: String,
    valid: bool,
    dek: Bytes,
    dek_ver: u32,
    purpose: u8,
    flags: u8,
    instance_id: Uuid,
    project_id: Uuid,
    environment_id: Uuid,
    object_id: Uuid,
    key_name: String,
    version: String,
    #[serde(default)]
    nonce: Bytes,
    #[serde(default)]
    value: Value,
    record: Bytes,
}

impl Vector {
    fn key(&self) -> ProjectKey {
        ProjectKey::new(&self.dek.key(), self.dek_ver)
    }

    fn context(&self) -> RecordContext<'_> {
        assert!(self.flags < 2, "{}: a flag that no context has", self.name);
        RecordContext {
            purpose: Purpose::from_number(self.purpose).unwrap(),
            hidden: self.flags == 1,
            instance: self.instance_id.into(),
            project: self.project_id.into(),
            environment: Some(self.environment_id).filter(|id| !id.is_nil()).map(Into::into),
            object: self.object_id,
            key: &self.key_name,
            version: self.version.parse().unwrap(),
        }
    }

    fn open(&self) -> Result<Plaintext, Undecryptable> {
        Sealed::from_bytes(self.record.0.clone()).open(&self.key(), &self.context())
    }

    fn value(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            long => {
                let times = long["times"].as_u64().unwrap().try_into().unwrap();
                long["repeat"].as_str().unwrap().repeat(times)
            }
        }
    }
}

#[test]
fn a_valid_record_opens_to_its_value() {
    for vector in section::<Vector>("record.json", "vectors", |vector| vector.valid) {
        let value = vector.open().unwrap_or_else(|_| panic!("{} does not open", vector.name));

        assert_eq!(value.reveal(), vector.value(), "{}", vector.name);
    }
}

#[test]
fn a_value_is_sealed_to_the_published_record() {
    for vector in section::<Vector>("record.json", "vectors", |vector| vector.valid) {
        let value = vector.open().unwrap();
        let (key, context) = (vector.key(), vector.context());

        let sealed = Sealed::seal_with_nonce(&key, &context, &value, vector.nonce.array());

        assert_eq!(sealed.as_bytes(), vector.record.0, "{}", vector.name);
    }
}

#[test]
fn a_record_that_was_moved_changed_or_cut_is_refused() {
    for vector in section::<Vector>("record.json", "vectors", |vector| !vector.valid) {
        assert_eq!(vector.open().err(), Some(Undecryptable), "{}", vector.name);
    }
}

#[test]
fn a_record_is_as_long_as_the_bucket_of_its_value() {
    #[derive(Deserialize)]
    struct Padding {
        value_length: usize,
        inner_length: usize,
    }
    const HEADER_NONCE_TAG: usize = 7 + 24 + 16;

    let golden = &section::<Vector>("record.json", "vectors", |vector| vector.valid)[0];
    for Padding { value_length, inner_length } in section("record.json", "padding", |_| true) {
        let value = Plaintext::new("v".repeat(value_length)).unwrap();

        let sealed = Sealed::seal(&golden.key(), &golden.context(), &value);

        let length = sealed.as_bytes().len();
        assert_eq!(length, HEADER_NONCE_TAG + inner_length, "{value_length}");
    }
}
