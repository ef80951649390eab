//! Tests of the memory that the service reserves for large request and response bodies and for
//! CPU-bound work.

use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use secrets_core::engine::{Options, Ports};
use secrets_core::model::{Bound, Error, Origin, UserId};
use secrets_core::ports::memory::{ReservedMemory, WorkMemory};
use secrets_core::scans::CreateScan;
use secrets_tests::{App, Build, Kind, Person, Reply, in_memory, on_every_store, paths};
use serde_json::{Value, json};

/// Memory budget for tests, which records all reservations.
#[derive(Default)]
struct Recorded {
    /// Sizes of the reservations that belong to no account, in bytes.
    bytes: Mutex<Vec<u64>>,
    /// Total size of the reservations of accounts, in bytes.
    of_accounts: AtomicU64,
    held: Arc<HeldMemory>,
    is_used_up: AtomicBool,
    /// True if reservations wait until the memory is free, which never happens.
    waits: AtomicBool,
}

/// Memory that accounts hold at the same time, in bytes.
#[derive(Default)]
struct HeldMemory {
    now: AtomicU64,
    most: AtomicU64,
}

/// Reservation of an account.
struct Reservation {
    held: Arc<HeldMemory>,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.held.now.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

#[async_trait]
impl WorkMemory for Recorded {
    async fn reserve(&self, account: Option<UserId>, bytes: u64) -> Result<ReservedMemory, Error> {
        if self.is_used_up.load(Ordering::SeqCst) {
            return Err(Bound::Memory.reached("no memory"));
        }
        if self.waits.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
        if account.is_none() {
            self.bytes.lock().unwrap().push(bytes);
            return Ok(Box::new(()));
        }
        self.of_accounts.fetch_add(bytes, Ordering::SeqCst);
        let held = Arc::clone(&self.held);
        let now = held.now.fetch_add(bytes, Ordering::SeqCst) + bytes;
        held.most.fetch_max(now, Ordering::SeqCst);
        Ok(Box::new(Reservation { held, bytes }))
    }
}

/// Returns the request body that creates a bundle for one recipient.
fn bundle_for(recipient: &Value) -> Value {
    json!({ "recipients": [recipient] })
}

fn passphrase() -> Value {
    json!({ "type": "passphrase", "passphrase": "kvc_correct horse" })
}

async fn bundle_path(person: &Person) -> String {
    let web = person.project("Web").await;
    paths::secret(&web, "staging", "bundle")
}

async fn deriving_a_key_from_a_passphrase_reserves_64_mebibytes(app: App) {
    let memory = Arc::new(Recorded::default());
    let app = app.with(Ports { memory: Some(memory.clone()), ..app.ports() }).await;
    let alice = app.person("alice").await;
    let path = bundle_path(&alice).await;
    let archive = json!({ "include_secrets": true, "passphrase": "kvc_correct horse" });

    alice.post(&path, &bundle_for(&json!({ "type": "raw" }))).await.is(200);
    assert!(memory.bytes.lock().unwrap().is_empty());
    alice.post(&path, &bundle_for(&passphrase())).await.is(200);
    alice.post("/api/v1/account/data-export", &archive).await.is(200);

    assert_eq!(*memory.bytes.lock().unwrap(), [64 << 20, 64 << 20]);
}

async fn deriving_a_key_without_free_memory_is_503(app: App) {
    let memory = Arc::new(Recorded::default());
    let app = app.with(Ports { memory: Some(memory.clone()), ..app.ports() }).await;
    let alice = app.person("alice").await;
    let path = bundle_path(&alice).await;

    memory.is_used_up.store(true, Ordering::SeqCst);
    alice.post(&path, &bundle_for(&passphrase())).await.is(503).code("unavailable");
    memory.is_used_up.store(false, Ordering::SeqCst);

    alice.post(&path, &bundle_for(&passphrase())).await.is(200);
}

fn poll_once<F: Future + Unpin>(work: &mut F) -> Poll<F::Output> {
    Pin::new(work).poll(&mut Context::from_waker(Waker::noop()))
}

async fn a_scan_that_waits_for_a_scan_of_its_account_has_not_read_its_body(app: App) {
    let (_alice, _bob) = (app.person("alice").await, app.person("bob").await);
    let authenticate =
        async |name| app.service.authenticate(&app.jwt(name), Origin::default()).await.unwrap();
    let (alice, bob) = (authenticate("alice").await, authenticate("bob").await);
    let (api, is_read) = (app.api(), AtomicBool::new(false));
    let body = || async {
        is_read.store(true, Ordering::SeqCst);
        Err::<CreateScan, _>(Error::invalid("body", "must be complete").into())
    };

    let mut slow = Box::pin(api.perform::<CreateScan>(pending(), alice.clone()));
    assert!(poll_once(&mut slow).is_pending());
    let mut waiting = Box::pin(api.perform(body(), alice));
    assert!(poll_once(&mut waiting).is_pending());
    assert!(!is_read.load(Ordering::SeqCst));
    assert!(poll_once(&mut Box::pin(api.perform(body(), bob))).is_ready());
    assert!(is_read.swap(false, Ordering::SeqCst), "another account does not wait");

    drop(slow);

    assert!(waiting.await.is_err());
    assert!(is_read.load(Ordering::SeqCst));
}

async fn secrets_are_reserved_with_their_size_before_they_are_decrypted(app: App) {
    let memory = Arc::new(Recorded::default());
    let app = app.with(Ports { memory: Some(memory.clone()), ..app.ports() }).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("staging")).await;
    let list = paths::secrets(&web, "child");
    alice.secret(&web, "staging", "ONE", &"v".repeat(50_000)).await;
    alice.get(&list).await.is(200);
    assert_eq!(memory.of_accounts.load(Ordering::SeqCst), 0, "up to 64 KiB are not counted");
    alice.secret(&web, "child", "TWO", &"v".repeat(50_000)).await;

    memory.is_used_up.store(true, Ordering::SeqCst);
    alice.get(&list).await.is(503).code("unavailable");
    alice.get(&paths::secret(&web, "child", "TWO")).await.is(200);
    memory.is_used_up.store(false, Ordering::SeqCst);
    alice.get(&list).await.is(200);

    let reserved = memory.of_accounts.load(Ordering::SeqCst);
    assert!((100_000..110_000).contains(&reserved), "{reserved}");
}

async fn a_scan_reserves_the_secrets_of_one_environment_at_a_time(app: App) {
    let memory = Arc::new(Recorded::default());
    let app = app.with(Ports { memory: Some(memory.clone()), ..app.ports() }).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    // The inherited secrets of this environment are not loaded a second time.
    alice.environment(&web, "child", Some("staging")).await;
    for environment in ["development", "staging", "production"] {
        for key in ["ONE", "TWO"] {
            alice.secret(&web, environment, key, &format!("{key}{}", "v".repeat(50_000))).await;
        }
    }

    memory.is_used_up.store(true, Ordering::SeqCst);
    let text = json!({ "source": { "type": "text" }, "content": "nothing" });
    alice.post("/api/v1/scans", &text).await.is(503).code("unavailable");
    memory.is_used_up.store(false, Ordering::SeqCst);
    let scan = alice.scan_text("nothing").await.is(201).json();

    assert_eq!(scan["secrets_compared"], 6);
    let [reserved, most, held] = [&memory.of_accounts, &memory.held.most, &memory.held.now]
        .map(|bytes| bytes.load(Ordering::SeqCst));
    assert!((300_000..330_000).contains(&reserved), "{reserved}");
    assert!((100_000..110_000).contains(&most), "{most}");
    assert_eq!(held, 0);
}

async fn a_scan_skips_an_environment_that_is_larger_than_the_memory_of_an_account(kind: Kind) {
    let options = Options { max_answer_bytes: 4_096, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "development", "ONE", "kvc_first_value_1").await;
    alice.secret(&web, "staging", "LARGE", &"v".repeat(5_000)).await;
    alice.secret(&web, "production", "ONE", "kvc_other_value_2").await;

    let scan = alice.scan_text("kvc_other_value_2").await.is(201).json();

    assert_eq!(scan["secrets_compared"], 2);
}

async fn a_scan_reads_no_more_environments_once_it_has_10_000_values(app: App) {
    let memory = Arc::new(Recorded::default());
    let app = app.with(Ports { memory: Some(memory.clone()), ..app.ports() }).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for number in 0..10 {
        let environment = format!("many-{number}");
        alice.environment(&web, &environment, None).await;
        let set = |key: u32| {
            let key = format!("KEY_{key}");
            json!({ "environment": environment, "key": key, "action": "set", "value": "kvc_1" })
        };
        let changes: Vec<_> = (0..1_000).map(set).collect();
        let changes = json!({ "changes": changes });
        alice.post(&format!("{web}/changes"), &changes).await.is(200);
    }
    alice.environment(&web, "last", None).await;
    for key in ["ONE", "TWO"] {
        alice.secret(&web, "last", key, &"v".repeat(50_000)).await;
    }
    let before = memory.of_accounts.load(Ordering::SeqCst);

    alice.scan_text("nothing").await.is(201);

    // An encrypted short value has 111 bytes.
    let reserved = memory.of_accounts.load(Ordering::SeqCst) - before;
    assert!((1_110_000..1_200_000).contains(&reserved), "{reserved}");
}

async fn an_answer_that_is_too_large_is_413_and_names_the_limit(kind: Kind) {
    let options = Options { max_answer_bytes: 4_096, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("staging")).await;
    alice.secret(&web, "staging", "ONE", &"v".repeat(3_500)).await;
    let list = paths::secrets(&web, "child");
    alice.get(&list).await.is(200);
    alice.secret(&web, "child", "TWO", &"v".repeat(1_000)).await;

    let error = "the secrets of this environment and of those it inherits from exceed 4 KiB: read \
                 them one by one, or let it inherit from fewer environments";
    let expected = json!({ "error": error, "code": "answer_too_large" });
    let raw = bundle_for(&json!({ "type": "raw" }));
    for refused in [
        alice.get(&list).await,
        alice.get(&format!("{list}/export")).await,
        alice.post(&format!("{list}/bundle"), &raw).await,
    ] {
        assert_eq!(refused.is(413).json(), expected);
    }
    for key in ["ONE", "TWO"] {
        alice.get(&paths::secret(&web, "child", key)).await.is(200);
    }
    alice.get(&paths::secrets(&web, "staging")).await.is(200);
}

/// Copies `ONE` and `TWO` from `staging` to `production`.
async fn copy(person: &Person, project: &str) -> Reply {
    let copied = |key: &str| json!({ "environment": "production", "key": key, "action": "copy", "from": "staging" });
    let body = json!({ "changes": [copied("ONE"), copied("TWO")] });
    person.post(&format!("{project}/changes"), &body).await
}

async fn a_change_set_reserves_the_values_that_it_copies_and_replaces(app: App) {
    let memory = Arc::new(Recorded::default());
    let app = app.with(Ports { memory: Some(memory.clone()), ..app.ports() }).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["ONE", "TWO"] {
        alice.secret(&web, "staging", key, &"v".repeat(50_000)).await;
        alice.secret(&web, "production", key, &"w".repeat(60_000)).await;
    }

    // The change set has an open transaction, so it fails at once instead of waiting for memory.
    memory.waits.store(true, Ordering::SeqCst);
    copy(&alice, &web).await.is(503).code("unavailable");
    memory.waits.store(false, Ordering::SeqCst);
    copy(&alice, &web).await.is(200);

    let reserved = memory.of_accounts.load(Ordering::SeqCst);
    assert!((220_000..230_000).contains(&reserved), "{reserved}");
}

async fn a_change_set_that_copies_too_much_is_413_and_changes_nothing(kind: Kind) {
    let options = Options { max_answer_bytes: 4_096, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "ONE", &"v".repeat(2_500)).await;
    alice.secret(&web, "staging", "TWO", &"v".repeat(2_500)).await;

    let error = "the secrets to copy and replace exceed 4 KiB: send fewer changes at a time";
    let expected = json!({ "error": error, "code": "answer_too_large" });
    assert_eq!(copy(&alice, &web).await.is(413).json(), expected);

    alice.get(&paths::secret(&web, "production", "ONE")).await.is(404);
    let one =
        json!({ "environment": "production", "key": "ONE", "action": "copy", "from": "staging" });
    alice.post(&format!("{web}/changes"), &json!({ "changes": [one] })).await.is(200);
}

in_memory![
    deriving_a_key_from_a_passphrase_reserves_64_mebibytes,
    deriving_a_key_without_free_memory_is_503,
    a_scan_that_waits_for_a_scan_of_its_account_has_not_read_its_body,
    a_change_set_reserves_the_values_that_it_copies_and_replaces,
    a_scan_reads_no_more_environments_once_it_has_10_000_values,
    ;
    a_change_set_that_copies_too_much_is_413_and_changes_nothing,
    a_scan_skips_an_environment_that_is_larger_than_the_memory_of_an_account,
    an_answer_that_is_too_large_is_413_and_names_the_limit,
];

// The stores select the secrets whose sizes count.
on_every_store![
    secrets_are_reserved_with_their_size_before_they_are_decrypted,
    a_scan_reserves_the_secrets_of_one_environment_at_a_time,
];
