//! Tests of the commands that back up a database in use and restore a backup, of the database file
//! after the service was stopped, and of commands that must not create a database.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use secrets_tests::{Person, canary, paths};
use serde_json::json;

use crate::program::{Ended, Program, folder, jwt, root_key};

/// Number of backups that the test takes while the service is running.
const ROUNDS: u64 = 8;

fn with_database(name: &str, arguments: &[&str], database: &Path) -> Program {
    Program::new(name, arguments)
        .with("SECRETS_DATABASE_URL", &format!("sqlite://{}", database.display()))
}

fn verified(name: &str, database: &Path) -> Ended {
    with_database(name, &["doctor", "verify"], database)
        .with("SECRETS_ROOT_KEY", &root_key(7))
        .run()
}

/// Starts the server with this database, and returns the secret `KEY` as the API shows it.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_contains_all_acknowledged_writes() {
    let folder = folder("backup_load");
    let database = folder.join("secrets.db");
    let mut program = Program::serve("backup_load", &database).start();
    let alice = program.person("alice").await;
    let project = started(&alice).await;
    let acknowledged = Arc::new(AtomicU64::new(1));
    let (writer, path, counter) =
        (alice.clone(), paths::secret(&project, "development", "KEY"), Arc::clone(&acknowledged));
    let writing = tokio::spawn(async move {
        loop {
            let reply =
                writer.put(&path, &json!({ "value": canary("backup") })).await.is(200).json();
            counter.store(reply["secret"]["version"].as_u64().unwrap(), Ordering::SeqCst);
        }
    });

    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = acknowledged.load(Ordering::SeqCst);
        let copy = folder.join(format!("copy-{round}.db"));
        let ended =
            with_database("backup_copy", &["backup", copy.to_str().unwrap()], &database).run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        taken.push((copy, before));
    }
    writing.abort();
    program.terminate(Duration::from_secs(10));

    for (copy, before) in taken {
        let ended = verified("backup_verify", &copy);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let held = value_in("backup_restored", &copy, &project).await["version"].as_u64().unwrap();
        assert!(held >= before, "{held} of {before} acknowledged versions");
    }
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
