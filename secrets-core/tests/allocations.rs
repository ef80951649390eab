//! Limits on the heap allocations that a read from the in-memory store makes, and on the size of
//! its futures. Unlike the duration of a read, these numbers are the same on every machine, so the
//! test fails on every machine if a read becomes more expensive. The test is a separate binary,
//! because it replaces the global allocator.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use allocation_counter::measure;
use futures_executor::block_on;
use secrets_core::Service;
use secrets_core::crypto::Key;
use secrets_core::eso::{GetEsoSecret, GetEsoSecrets};
use secrets_core::model::{EnvironmentPath, Identity, Origin};
use secrets_core::registry;
use secrets_core::secrets::KeyRef;
use secrets_core::store::MemoryStore;
use serde_json::{Value, json};

/// Maximum number of heap allocations of a request that reads one secret.
const MAX_OF_ONE: u64 = 58;
/// Maximum number of bytes that a request that reads one secret allocates.
const MAX_BYTES_OF_ONE: u64 = 16_000;
/// Maximum size in bytes of the future of an authentication or of a read. A future is copied
/// several times before it is polled.
const MAX_FUTURE: usize = 2_048;
/// Maximum number of heap allocations per secret of a request that reads many secrets.
const MAX_PER_SECRET: u64 = 2;

const MANY: usize = 1_000;

/// Creates a service with an environment of 1,000 secrets, and a service token that can read all
/// projects of the team. Returns the service and the token string.
async fn filled() -> (Service, String) {
    let service = Service::builder(Arc::new(MemoryStore::new()), &Key::generate());
    let service = service.build().await.unwrap();
    let alice = Identity::new("here", "alice", "alice@example.com");
    let caller = service.sign_in(alice, Origin::default()).await.unwrap();
    let call = async |name: &str, arguments: Value| {
        registry::call(&service, &caller, name, arguments).await.unwrap()
    };
    call("project.create", json!({ "name": "Web" })).await;
    for start in (0..MANY).step_by(100) {
        let secrets: Vec<_> = (start..start + 100)
            .map(|number| json!({ "key": format!("KEY_{number}"), "value": "x".repeat(66) }))
            .collect();
        let at = json!({ "project": "web", "environment": "production", "secrets": secrets });
        call("secret.import", at).await;
    }
    let new = json!({ "name": "ci", "all_projects": true, "permissions": ["read"] });
    let token = call("token.create", new).await;
    (service, token["token"].as_str().unwrap().to_owned())
}

fn at() -> EnvironmentPath {
    EnvironmentPath::new("web", "production")
}

#[test]
fn a_read_makes_few_allocations() {
    let (service, token) = block_on(filled());
    let read = || {
        let secret = block_on(async {
            let caller = service.authenticate(&token, Origin::default()).await.unwrap();
            let key = KeyRef::new("KEY_7");
            service.perform(&caller, GetEsoSecret { at: at(), key }).await.unwrap()
        });
        assert_eq!(secret.value.reveal().len(), 66);
    };
    read();

    let measured = measure(read);

    let (count, bytes) = (measured.count_total, measured.bytes_total);
    assert!(count <= MAX_OF_ONE, "{count} allocations");
    assert!(bytes <= MAX_BYTES_OF_ONE, "{bytes} bytes");
}

#[test]
fn the_futures_of_a_read_are_small() {
    let (service, token) = block_on(filled());

    let authentication = service.authenticate(&token, Origin::default());
    let size = size_of_val(&authentication);
    assert!(size <= MAX_FUTURE, "authentication: {size} bytes");

    let caller = block_on(authentication).unwrap();
    let read = service.perform(&caller, GetEsoSecret { at: at(), key: KeyRef::new("KEY_7") });
    let size = size_of_val(&read);
    assert!(size <= MAX_FUTURE, "read: {size} bytes");
}

#[test]
fn a_read_of_many_makes_few_allocations_for_each() {
    let (service, token) = block_on(filled());
    let read = || {
        let found = block_on(async {
            let caller = service.authenticate(&token, Origin::default()).await.unwrap();
            let all = GetEsoSecrets { at: at(), precondition: <_>::default() };
            serde_json::to_vec(&service.perform(&caller, all).await.unwrap()).unwrap()
        });
        assert!(found.len() > MANY * 66);
    };
    read();

    let count = measure(read).count_total;

    let limit = MAX_OF_ONE + MAX_PER_SECRET * MANY as u64;
    assert!(count <= limit, "{count} allocations");
}
