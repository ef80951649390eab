//! Tests of replacing the root key and the project keys.

use std::fs;
use std::path::Path;
use std::time::Duration;

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::{Client, paths, until};
use serde_json::json;

use crate::program::{Ended, Program, folder, jwt, log_path, records, root_key, stopped_at};

/// Value of each byte of the root key before its replacement.
const OLD: u8 = 7;
/// Value of each byte of the root key after its replacement.
const NEW: u8 = 8;

/// Creates a command that runs the server program with these arguments, such as `keys rotate-root`.
/// `keys` are the current root key and, if any, the previous one.
fn keyed(name: &str, arguments: &[&str], url: &str, keys: (u8, Option<u8>)) -> Program {
    with_keys(Program::new(name, arguments).with("SECRETS_DATABASE_URL", url), keys)
}

fn serve(name: &str, url: &str, keys: (u8, Option<u8>)) -> Program {
    let program = Program::serve(name, Path::new("unused")).with("SECRETS_DATABASE_URL", url);
    with_keys(program, keys)
}

fn with_keys(program: Program, (current, previous): (u8, Option<u8>)) -> Program {
    let program = program.with("SECRETS_ROOT_KEY", &root_key(current));
    match previous {
        Some(previous) => program.with("SECRETS_PREVIOUS_ROOT_KEY", &root_key(previous)),
        None => program,
    }
}

fn rotate_root(name: &str, url: &str, keys: (u8, Option<u8>)) -> Ended {
    keyed(name, &["keys", "rotate-root"], url, keys).run()
}

/// Asserts that a service with this database starts with these root keys (the current one and, if
/// any, the previous one), and can read the secret `KEY`.
async fn assert_reads(name: &str, url: &str, keys: (u8, Option<u8>), project: &str) {
    let mut program = serve(name, url, keys).start();
    assert_value(&program.bearer(&jwt("alice")), project).await;
    program.terminate(Duration::from_secs(10));
}

async fn assert_value(alice: &Client, project: &str) {
    let secret = alice.get(&paths::secret(project, "development", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "kvc_0");
}

/// Asserts that a service with this database does not start with these root keys (the current one
/// and, if any, the previous one).
fn assert_refused(name: &str, url: &str, keys: (u8, Option<u8>)) {
    let ended = serve(name, url, keys).run();
    assert_eq!(ended.code, Some(77), "{}", ended.stderr);
    assert!(ended.stderr.contains("wrong root key"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_key_is_replaced_and_backups_need_the_earlier_one() {
    let name = "keys_root";
    let folder = folder(name);
    let (database, copy) = (folder.join("secrets.db"), folder.join("copy.db"));
    let (url, copied) =
        [&database, &copy].map(|path| format!("sqlite://{}", path.display())).into();
    let mut program = serve(name, &url, (OLD, None)).start();
    let alice = program.person("alice").await;
    let project = alice.project("Keys").await;
    alice.secret(&project, "development", "KEY", "kvc_0").await;
    let backup = keyed(name, &["backup", copy.to_str().unwrap()], &url, (OLD, None)).run();
    assert_eq!(backup.code, Some(0), "{}", backup.stderr);

    let busy = rotate_root(name, &url, (NEW, Some(OLD)));
    assert_eq!(busy.code, Some(69), "{}", busy.stderr);
    program.terminate(Duration::from_secs(10));

    for (keys, code) in [((NEW, None), 77), ((NEW, Some(NEW)), 77), ((OLD, Some(NEW)), 0)] {
        let unchanged = rotate_root(name, &url, keys);
        assert_eq!(unchanged.code, Some(code), "{keys:?} {}", unchanged.stderr);
    }
    assert_reads(name, &url, (NEW, Some(OLD)), &project).await;
    assert_reads(name, &url, (OLD, None), &project).await;

    let replaced = rotate_root(name, &url, (NEW, Some(OLD)));
    assert_eq!(replaced.code, Some(0), "{}", replaced.stderr);
    assert!(replaced.stdout.contains(" replaced "), "{}", replaced.stdout);
    let again = rotate_root(name, &url, (NEW, Some(OLD)));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("already"), "{}", again.stdout);

    assert_refused(name, &url, (OLD, None));
    for keys in [(NEW, None), (NEW, Some(OLD)), (OLD, Some(NEW))] {
        assert_reads(name, &url, keys, &project).await;
    }
    let verified = keyed(name, &["doctor", "verify"], &url, (NEW, None)).run();
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);

    for (keys, code) in [((NEW, None), 77), ((NEW, Some(OLD)), 0)] {
        let restored = keyed(name, &["restore", copy.to_str().unwrap()], &url, keys).run();
        assert_eq!(restored.code, Some(code), "{keys:?} {}", restored.stderr);
    }
    assert_refused(name, &url, (NEW, None));
    assert_refused(name, &copied, (NEW, None));
    assert_reads(name, &url, (NEW, Some(OLD)), &project).await;
    for text in [replaced.stdout, replaced.stderr, again.stdout, again.stderr] {
        assert!([OLD, NEW].iter().all(|key| !text.contains(&root_key(*key))), "{text}");
    }
    assert!(fs::exists(&database).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_go_on_while_the_root_key_is_replaced() {
    let name = "keys_nodes";
    let database = TestDatabase::create().await;
    let url = database.url();
    let first = serve(name, &url, (OLD, None)).start();
    let alice = first.person("alice").await;
    let project = alice.project("Keys").await;
    alice.secret(&project, "development", "KEY", "kvc_0").await;
    let second = serve("keys_nodes_2", &url, (NEW, Some(OLD))).start();

    // Two operators run the command at once: one command replaces the key, and the other command
    // finds the new key.
    let commands: Vec<_> = (0..2)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || rotate_root("keys_nodes_command", &url, (NEW, Some(OLD))))
        })
        .collect();
    let ended: Vec<_> = commands.into_iter().map(|command| command.join().unwrap()).collect();

    let replaced = ended.iter().filter(|ended| ended.stdout.contains(" replaced ")).count();
    assert_eq!(replaced, 1, "{:?}", ended.iter().map(|ended| &ended.stderr).collect::<Vec<_>>());
    for node in [&first, &second] {
        assert_value(&node.bearer(&jwt("alice")), &project).await;
    }
    assert_refused("keys_nodes_3", &url, (OLD, None));
    assert_reads("keys_nodes_3", &url, (NEW, None), &project).await;
    drop((first, second));
}

/// Number of current and previous values that the test stores.
const RECORDS: usize = 6;

/// Requests the replacement of the project keys, and kills the service when it reaches this
/// failpoint of the replacement. Starts the service again, which must complete the replacement.
async fn killed_at(failpoint: &str, url: &str) {
    let name = format!("keys_{failpoint}");
    let _ = fs::remove_file(log_path(&name));
    let program = serve(&name, url, (OLD, None)).start();
    let alice = program.person("alice").await;
    let project = alice.project("Keys").await;
    for key in ["KEY", "ONE", "TWO"] {
        alice.secret(&project, "development", key, "kvc_1").await;
        alice
            .put(&paths::secret(&project, "development", key), &json!({ "value": "kvc_0" }))
            .await
            .is(200);
    }
    let requested = keyed(&name, &["keys", "rotate-data"], url, (OLD, None)).run();
    assert_eq!(requested.code, Some(0), "{}", requested.stderr);
    let status = keyed(&name, &["keys", "status"], url, (OLD, None)).run();
    assert!(status.stdout.contains("requested at"), "{}{}", status.stdout, status.stderr);
    program.kill();

    let stopping =
        serve(&name, url, (OLD, None)).with("SECRETS_DEBUG_FAILPOINT", failpoint).start();
    stopped_at(&name, failpoint).await;
    stopping.kill();

    let mut program = serve(&name, url, (OLD, None)).start();
    until("all records have the new key", async || records(url, &project, 2).await >= RECORDS)
        .await;
    assert_eq!(records(url, &project, 1).await, 0);
    assert_value(&program.bearer(&jwt("alice")), &project).await;
    program.terminate(Duration::from_secs(10));
    let status = keyed(&name, &["keys", "status"], url, (OLD, None)).run();
    assert!(status.stdout.contains("1 current, 1 being replaced"), "{}", status.stdout);
    let verified = keyed(&name, &["doctor", "verify"], url, (OLD, None)).run();
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

/// Failpoints in the replacement of project keys, at which the test kills the service.
const STEPS: [&str; 3] = ["after-key", "in-key-batch", "after-key-batch"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn project_keys_are_replaced_although_the_process_is_killed_on_sqlite() {
    let folder = folder("keys_killed");
    for step in STEPS {
        let database = folder.join(format!("{step}.db"));
        killed_at(step, &format!("sqlite://{}", database.display())).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn project_keys_are_replaced_although_the_process_is_killed_on_postgresql() {
    for step in STEPS {
        let database = TestDatabase::create().await;
        killed_at(step, &database.url()).await;
    }
}
