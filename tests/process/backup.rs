//! Tests of the command that backs up a database in use and of the command that restores a backup,
//! of the database file after the service was stopped, and of commands that must not create a
//! database.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrets_tests::targets::Target;
use secrets_tests::{Person, canary, paths, until};
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tokio::task::JoinSet;

use crate::program::{Ended, Program, folder, jwt, root_key};

/// Number of backups that the test takes of a running service.
const ROUNDS: usize = 20;

/// Number of clients that write during the backups. Each writes its own secret.
const WRITERS: usize = 3;

fn with_database(name: &str, arguments: &[&str], database: &Path) -> Program {
    Program::new(name, arguments)
        .with("SECRETS_DATABASE_URL", &format!("sqlite://{}", database.display()))
}

fn verified(name: &str, database: &Path) -> Ended {
    with_database(name, &["doctor", "verify"], database)
        .with("SECRETS_ROOT_KEY", &root_key(7))
        .run()
}

/// Starts the server with this database, reads the secret `KEY` through the API, and stops the
/// server. Returns the secret.
async fn value_in(name: &str, database: &Path, project: &str) -> serde_json::Value {
    let mut program = Program::serve(name, database).start();
    let alice = program.bearer(&jwt("alice"));
    let secret = alice.get(&paths::secret(project, "development", "KEY")).await.is(200).json();
    program.terminate(Duration::from_secs(10));
    secret["secret"].clone()
}

async fn started(alice: &Person) -> String {
    let project = alice.project("Backup").await;
    alice.secret(&project, "development", "KEY", "kvc_0").await;
    project
}

/// Last version of each secret that the service has acknowledged, by secret key.
type Acknowledged = Arc<Mutex<BTreeMap<String, i64>>>;

/// Writes new versions of several secrets, one client for each secret, until the returned tasks are
/// dropped. Records the acknowledged versions.
fn write(alice: &Person, project: &str, acknowledged: &Acknowledged) -> JoinSet<()> {
    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        let (alice, acknowledged) = (alice.clone(), Arc::clone(acknowledged));
        let (key, project) = (format!("KEY_{number}"), project.to_owned());
        writers.spawn(async move {
            alice.secret(&project, "development", &key, &canary("backup")).await;
            let path = paths::secret(&project, "development", &key);
            loop {
                let body = json!({ "value": canary("backup") });
                let reply = alice.put(&path, &body).await;
                // On a loaded machine, a write can reach its time limit.
                if reply.status == 503 {
                    continue;
                }
                let reply = reply.is(200).json();
                let version = reply["secret"]["version"].as_i64().unwrap();
                acknowledged.lock().unwrap().insert(key.clone(), version);
            }
        });
    }
    writers
}

/// Returns the version of each secret in a database file, by secret key. No program may have the
/// file open.
async fn versions(database: &Path) -> BTreeMap<String, i64> {
    let options = SqliteConnectOptions::new().filename(database);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let rows = sqlx::query_as("SELECT key, version FROM secrets").fetch_all(&mut connection).await;
    let versions: Vec<(String, i64)> = rows.unwrap();
    connection.close().await.unwrap();
    versions.into_iter().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_contains_all_acknowledged_writes() {
    let folder = folder("backup_load");
    let database = folder.join("secrets.db");
    let mut program = Program::serve("backup_load", &database).start();
    let alice = program.person("alice").await;
    let project = started(&alice).await;
    let acknowledged = Acknowledged::default();
    let mut writers = write(&alice, &project, &acknowledged);
    until("every key was written", async || acknowledged.lock().unwrap().len() == WRITERS).await;

    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        let before = acknowledged.lock().unwrap().clone();
        let copy = folder.join(format!("copy-{round}.db"));
        let ended =
            with_database("backup_copy", &["backup", copy.to_str().unwrap()], &database).run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        taken.push((copy, before));
        // Waits until each client has written again, so that the next backup differs from this one.
        let last = taken[taken.len() - 1].1.clone();
        until("writes go on", async || {
            let now = acknowledged.lock().unwrap();
            last.iter().all(|(key, version)| now[key] > *version)
        })
        .await;
    }
    writers.shutdown().await;
    program.terminate(Duration::from_secs(10));

    for (round, (copy, before)) in taken.iter().enumerate() {
        let place = folder.join(format!("restored-{round}.db"));
        // `restore` verifies every record.
        let ended = restored("backup_restored", &place, copy);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let held = versions(&place).await;
        for (key, version) in before {
            assert!(held[key] >= *version, "{key}: {held:?} of {before:?}");
        }
    }
    let last = folder.join(format!("restored-{}.db", ROUNDS - 1));
    assert_eq!(value_in("backup_restored", &last, &project).await["value"], "kvc_0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_does_not_overwrite_a_file() {
    let folder = folder("backup_overwrite");
    let (database, copy) = (folder.join("secrets.db"), folder.join("copy.db"));
    Program::serve("backup_overwrite", &database).start().terminate(Duration::from_secs(10));
    fs::write(&copy, "precious").unwrap();

    let ended =
        with_database("backup_overwrite", &["backup", copy.to_str().unwrap()], &database).run();

    assert_eq!(ended.code, Some(69), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(&copy).unwrap(), "precious");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_file_is_complete_after_a_stop() {
    let folder = folder("backup_stop");
    let database = folder.join("secrets.db");
    let mut program = Program::serve("backup_stop", &database).start();
    let alice = program.person("alice").await;
    let project = started(&alice).await;
    program.terminate(Duration::from_secs(10));

    let copy = folder.join("copy.db");
    fs::copy(&database, &copy).unwrap();

    let ended = verified("backup_stop", &copy);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(value_in("backup_stop", &copy, &project).await["value"], "kvc_0");
}

#[test]
fn read_only_commands_create_nothing() {
    let folder = folder("backup_nothing");
    let database = folder.join("missing.db");

    let doctor = verified("backup_nothing", &database);
    let check = Program::configured("backup_nothing", "check", &database).run();
    let backup = with_database("backup_nothing", &["backup", "copy.db"], &database).run();

    assert_eq!((doctor.code, check.code, backup.code), (Some(69), Some(0), Some(69)));
    assert!(doctor.stderr.contains("the database does not exist"), "{}", doctor.stderr);
    assert!(check.stdout.contains("will create the database"), "{}", check.stdout);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert!(!Path::new("copy.db").exists());
}

/// Returns the content of every file in a folder, by file name. The content of SQLite's shared
/// memory file is left out, because readers take locks in it.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = paths.map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let content = if name.ends_with("-shm") { Vec::new() } else { fs::read(&path).unwrap() };
        (name, content)
    });
    named.collect()
}

/// Runs the commands `check`, `doctor verify` and `doctor sizes` on a database. Asserts that they
/// succeed and change no file in its folder.
fn must_change_nothing(name: &str, database: &Path) -> [Ended; 3] {
    let folder = database.parent().unwrap();
    let before = contents(folder);
    let ended = [
        Program::configured(name, "check", database).run(),
        verified(name, database),
        with_database(name, &["doctor", "sizes"], database).run(),
    ];
    let after = contents(folder);
    assert!(before.keys().eq(after.keys()), "{:?} {:?}", before.keys(), after.keys());
    let changed: Vec<_> = before.keys().filter(|name| before[*name] != after[*name]).collect();
    assert!(changed.is_empty(), "changed files: {changed:?}");
    for ended in &ended {
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    }
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_commands_change_nothing_beside_a_running_service() {
    let database = folder("backup_beside").join("secrets.db");
    let program = Program::serve("backup_beside", &database).start();
    started(&program.person("alice").await).await;

    // A stopped process holds its locks and writes nothing itself.
    program.freeze().await;
    let [check, verify, _] = must_change_nothing("backup_beside", &database);
    program.resume();

    let warning = "another process uses the database";
    assert!(check.stdout.contains(warning), "{}", check.stdout);
    assert!(check.stdout.contains("are valid"), "{}", check.stdout);
    assert!(verify.stderr.contains(warning), "{}", verify.stderr);
    assert!(verify.stdout.contains("1 secrets with 1 records decrypted"), "{}", verify.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_commands_change_nothing_after_a_stop() {
    let database = folder("backup_after").join("secrets.db");
    let mut program = Program::serve("backup_after", &database).start();
    started(&program.person("alice").await).await;
    program.terminate(Duration::from_secs(10));

    let [check, verify, _] = must_change_nothing("backup_after", &database);
    // A copied database has no lock file, and the commands create none.
    let copy = folder("backup_after_copy").join("copy.db");
    fs::copy(&database, &copy).unwrap();
    must_change_nothing("backup_after_copy", &copy);

    assert!(!check.stdout.contains("another process"), "{}", check.stdout);
    assert!(!verify.stderr.contains("another process"), "{}", verify.stderr);
    // The commands have released their locks, so the service starts.
    Program::serve("backup_after", &database).start();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_commands_create_nothing_in_an_empty_postgresql_database() {
    let store = Target::postgres().database().await;
    let Target { user, password, host, port, .. } = &store.target;
    let url = format!("postgres://{user}:{password}@{host}:{port}/{}", store.name);
    let with_store = |program: Program| program.with("SECRETS_DATABASE_URL", &url).run();
    let before = relations(&url).await;

    let check = with_store(Program::configured("backup_empty", "check", "unused".as_ref()));
    let doctor = with_store(
        Program::new("backup_empty", &["doctor", "verify"]).with("SECRETS_ROOT_KEY", &root_key(7)),
    );

    assert_eq!((check.code, doctor.code), (Some(0), Some(69)), "{}", check.stderr);
    assert!(check.stdout.contains("will create the database"), "{}", check.stdout);
    assert!(doctor.stderr.contains("the database is empty"), "{}", doctor.stderr);
    assert_eq!(relations(&url).await, before);
}

/// Returns the number of tables, views, indexes and sequences of a PostgreSQL database.
async fn relations(url: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let count = "SELECT COUNT(*) FROM pg_class";
    sqlx::query_scalar(count).fetch_one(&mut connection).await.unwrap()
}

fn restored(name: &str, database: &Path, backup: &Path) -> Ended {
    with_database(name, &["restore", backup.to_str().unwrap()], database)
        .with("SECRETS_ROOT_KEY", &root_key(7))
        .run()
}

/// Returns the names of the files in a folder, without lock files.
fn files(folder: &Path) -> Vec<String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let kept = paths.filter(|path| path.extension().is_none_or(|suffix| suffix != "lock"));
    let mut names: Vec<_> =
        kept.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_puts_a_backup_in_the_place_of_the_database() {
    let folder = folder("backup_restore");
    let (database, copy) = (folder.join("secrets.db"), folder.join("copy.db"));
    let program = Program::serve("backup_restore", &database).start();
    let alice = program.person("alice").await;
    let project = started(&alice).await;
    let ended = with_database("backup_restore", &["backup", copy.to_str().unwrap()], &database);
    assert_eq!(ended.run().code, Some(0));
    let secret = paths::secret(&project, "development", "KEY");
    alice.put(&secret, &json!({ "value": "kvc_1" })).await.is(200);
    // The latest changes are still in the `-wal` file after a kill.
    program.kill();
    assert!(files(&folder).contains(&"secrets.db-wal".to_owned()));

    let ended = restored("backup_restore", &database, &copy);

    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(files(&folder), ["copy.db", "secrets.db", "secrets.db.before-restore"]);
    assert_eq!(value_in("backup_restore", &database, &project).await["value"], "kvc_0");
    let earlier = folder.join("secrets.db.before-restore");
    assert_eq!(value_in("backup_restore", &earlier, &project).await["value"], "kvc_1");
    let again = restored("backup_restore", &database, &copy);
    assert_eq!(again.code, Some(69));
    assert!(again.stderr.contains("move it away"), "{}", again.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_of_an_unusable_backup_changes_nothing() {
    let folder = folder("backup_unusable");
    let (database, copy) = (folder.join("secrets.db"), folder.join("copy.db"));
    let mut program = Program::serve("backup_unusable", &database).start();
    let alice = program.person("alice").await;
    let project = started(&alice).await;
    let ended = with_database("backup_unusable", &["backup", copy.to_str().unwrap()], &database);
    assert_eq!(ended.run().code, Some(0));
    let busy = restored("backup_unusable", &database, &copy);
    assert_eq!(busy.code, Some(69));
    assert!(busy.stderr.contains("another process uses the database"), "{}", busy.stderr);
    program.terminate(Duration::from_secs(10));

    let whole = fs::read(&copy).unwrap();
    let (before, unchanged) = (files(&folder), fs::read(&database).unwrap());
    for (name, contents, code) in [
        ("missing", None, 69),
        ("no database", Some(b"kvc_text".repeat(1_000)), 69),
        ("empty", Some(Vec::new()), 69),
        ("cut", Some(whole[..whole.len() / 2].to_vec()), 69),
    ] {
        let path = folder.join("unusable.db");
        if let Some(contents) = contents {
            fs::write(&path, contents).unwrap();
        }
        let ended = restored("backup_unusable", &database, &path);
        assert_eq!(ended.code, Some(code), "{name}: {}", ended.stderr);
        let _ = fs::remove_file(&path);
        assert_eq!(files(&folder), before, "{name}");
    }
    let other_key =
        with_database("backup_unusable", &["restore", copy.to_str().unwrap()], &database)
            .with("SECRETS_ROOT_KEY", &root_key(8))
            .run();
    assert_eq!(other_key.code, Some(77), "{}", other_key.stderr);
    assert_eq!(files(&folder), before);
    assert!(fs::read(&database).unwrap() == unchanged);
    assert_eq!(value_in("backup_unusable", &database, &project).await["value"], "kvc_0");
}
