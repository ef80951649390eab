//! Tests of starting the server program, and of errors at the start.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use secrets_tests::targets::Target;
use secrets_tests::{Person, canary};
use serde_json::json;

use crate::program::{Program, folder, jwt, log_path, root_key, sql};

/// Creates a database file with a project and a secret. Returns the path of the file.
async fn filled(name: &str) -> std::path::PathBuf {
    let database = folder(name).join("secrets.db");
    let program = Program::serve(name, &database).start();
    let client = program.bearer(&jwt("alice"));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client, &user);
    let project = alice.project("Start").await;
    alice.secret(&project, "production", "KEY", &canary("start")).await;
    let mut program = program;
    program.terminate(Duration::from_secs(10));
    database
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_root_key_may_come_from_a_file() {
    let database = filled("key_file").await;
    let file = database.with_file_name("root.key");
    fs::write(&file, root_key(7) + "\n").unwrap();

    let program = Program::serve("key_file", &database)
        .without("SECRETS_ROOT_KEY")
        .with("SECRETS_ROOT_KEY_FILE", file.to_str().unwrap())
        .start();

    let client = program.bearer(&jwt("alice"));
    client.get("/api/v1/projects/start/environments/production/secrets/KEY").await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_root_key_is_refused_and_writes_nothing() {
    let database = filled("wrong_key").await;
    let before = contents(&database).await;

    let ended = Program::serve("wrong_key", &database).with("SECRETS_ROOT_KEY", &root_key(8)).run();

    assert_eq!(ended.code, Some(77), "{}", ended.stderr);
    assert!(ended.stderr.contains("wrong root key"), "{}", ended.stderr);
    assert_eq!(contents(&database).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_without_its_keys_is_refused() {
    let database = filled("orphan").await;
    sql(&database, "DELETE FROM instance_keys; DELETE FROM instance").await;

    let ended = Program::serve("orphan", &database).run();

    assert_eq!(ended.code, Some(66), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_key_rows_are_refused() {
    let database = filled("tampered").await;
    sql(&database, "UPDATE instance SET canary = zeroblob(64)").await;

    let ended = Program::serve("tampered", &database).run();

    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_do_not_open_are_refused() {
    let database = filled("unreadable").await;
    sql(&database, "UPDATE secrets SET sealed = zeroblob(111)").await;

    let ended = Program::serve("unreadable", &database).run();

    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_owns_a_file() {
    let database = filled("owned").await;
    let _first = Program::serve("owned", &database).start();

    let second = Program::serve("owned", &database).run();

    assert_eq!(second.code, Some(69), "{}", second.stderr);
    assert!(second.stderr.contains("secrets.db.lock"), "{}", second.stderr);
}

#[test]
fn an_address_in_use_has_its_own_code() {
    let folder = folder("address");
    let first = Program::serve("address", &folder.join("first.db")).start();

    let second = Program::serve("address", &folder.join("second.db"))
        .with("SECRETS_LISTEN", &first.address.to_string())
        .run();

    assert_eq!(second.code, Some(73), "{}", second.stderr);
    assert!(second.stderr.contains("choose another address with --listen"), "{}", second.stderr);
}

#[test]
fn the_words_of_an_unknown_path_and_the_address_of_a_bad_credential_are_logged() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = folder("logged").join("secrets.db");
    let _ = fs::remove_file(log_path("logged"));
    let mut program = Program::serve("logged", &database).start();
    let client = program.bearer("nonsense");

    runtime.block_on(async {
        client.get("/api/v1/project/web-api/enviroments/kvc_path?key=kvc_query").await.is(404);
        client.get("/api/v1/users/me").await.is(401);
    });
    program.terminate(Duration::from_secs(10));

    let log = fs::read_to_string(log_path("logged")).unwrap();
    let line = |status: &str| log.lines().find(|line| line.contains(status)).unwrap();
    assert!(line("status=404").contains(r#"path="/api/v1/projects?/*/environments?/*""#), "{log}");
    assert!(line("status=401").contains("address=127.0.0.1"), "{log}");
    assert!(!line("status=404").contains("address="), "{log}");
}

#[test]
fn a_missing_setting_is_named_in_one_line() {
    for variable in
        ["SECRETS_DATABASE_URL", "SECRETS_ROOT_KEY", "SECRETS_JWT_ISSUER", "SECRETS_JWT_AUDIENCE"]
    {
        let database = folder("missing").join("secrets.db");

        let ended = Program::serve("missing", &database).without(variable).run();

        assert_eq!(ended.code, Some(78), "{}", ended.stderr);
        assert!(ended.stderr.contains(variable), "{}", ended.stderr);
        assert_eq!(ended.stderr.trim().lines().count(), 1, "{}", ended.stderr);
        assert!(!database.exists());
    }
}

#[test]
fn a_wrong_setting_is_named_and_not_repeated() {
    let secret = canary("root_key");

    let ended = Program::serve("wrong_setting", &folder("wrong_setting").join("secrets.db"))
        .with("SECRETS_ROOT_KEY", &secret)
        .run();

    assert_eq!(ended.code, Some(78), "{}", ended.stderr);
    assert!(ended.stderr.contains("SECRETS_ROOT_KEY"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("kvc_"), "{}", ended.stderr);
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let ended = Program::new("usage", &["serve", "--nonsense"]).run();

    assert_eq!(ended.code, Some(64), "{}", ended.stderr);
}

#[test]
fn check_and_migrate_report_the_state_of_the_database() {
    let database = folder("check").join("secrets.db");

    let migrated = Program::configured("check", "migrate", &database).run();
    let empty = Program::configured("check", "check", &database).run();
    Program::serve("check", &database).start().terminate(Duration::from_secs(10));
    let checked = Program::configured("check", "check", &database).run();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let in_use =
        Program::configured("check", "check", &database).with("SECRETS_LISTEN", &address).run();
    let wrong = Program::configured("check", "check", &database)
        .with("SECRETS_ROOT_KEY", &root_key(9))
        .run();

    assert_eq!(
        (migrated.code, migrated.stdout.as_str()),
        (Some(0), "the database is up to date\n")
    );
    assert!(empty.stdout.contains("`serve` will create the keys"), "{}", empty.stdout);
    assert_eq!((empty.code, checked.code), (Some(0), Some(0)), "{}", checked.stderr);
    assert_eq!(in_use.code, Some(0), "{}", in_use.stderr);
    let expected = format!("`serve` would not start now: cannot listen on {address}");
    assert!(in_use.stdout.starts_with(&expected), "{}", in_use.stdout);
    assert!(checked.stdout.contains("the keys and the database are valid"), "{}", checked.stdout);
    assert_eq!(wrong.code, Some(77), "{}", wrong.stderr);
}

#[test]
fn check_prints_the_limits_in_effect() {
    let limits = [
        ("SECRETS_RATE_LIMIT_PER_IP", "100", "7"),
        ("SECRETS_RATE_LIMIT_PER_PRINCIPAL", "60", "8"),
        ("SECRETS_RATE_LIMIT_PER_TEAM", "600", "9"),
        ("SECRETS_REQUEST_TIMEOUT", "4", "5"),
        ("SECRETS_MEMORY_BUDGET", "256", "128"),
        ("SECRETS_WATCH_LIMIT", "100", "12"),
        ("SECRETS_SHUTDOWN_DELAY", "0", "30"),
        ("SECRETS_DATABASE_CONNECTIONS", "4", "6"),
        ("SECRETS_DATABASE_CACHE", "24", "0"),
        ("SECRETS_SESSION_HOURS", "12", "3"),
        ("SECRETS_SESSION_IDLE_MINUTES", "60", "31"),
    ];
    let database = folder("limits").join("secrets.db");
    let checked = || Program::configured("limits", "check", &database);

    let unset = limits.iter().fold(checked(), |program, (name, ..)| program.without(name)).run();
    let set =
        limits.iter().fold(checked(), |program, (name, _, set)| program.with(name, set)).run();

    for (name, default, value) in limits {
        assert!(unset.stdout.contains(&format!("  {name}={default}\n")), "{}", unset.stdout);
        assert!(set.stdout.contains(&format!("  {name}={value}\n")), "{}", set.stdout);
    }
}

#[test]
fn an_address_of_the_metrics_that_is_in_use_is_reported() {
    let database = folder("metrics_in_use").join("secrets.db");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = |command| {
        let program = Program::configured("metrics_in_use", command, &database);
        program.with("SECRETS_METRICS_LISTEN", &address).run()
    };

    let (checked, served) = (run("check"), run("serve"));

    let reason = format!("cannot listen on {address}: the address is in use");
    assert_eq!((checked.code, served.code), (Some(0), Some(73)), "{}", served.stderr);
    assert!(checked.stdout.contains(&reason), "{}", checked.stdout);
    assert!(served.stderr.contains(&reason), "{}", served.stderr);
    assert!(served.stderr.contains("SECRETS_METRICS_LISTEN"), "{}", served.stderr);
}

#[test]
fn dev_refuses_an_address_that_others_reach() {
    let folder = folder("dev_listen");

    let ended = Program::new(
        "dev_listen",
        &["dev", "--listen", "0.0.0.0:0", "--data-dir", folder.to_str().unwrap()],
    )
    .run();

    assert_eq!(ended.code, Some(64), "{}", ended.stderr);
}

#[test]
fn dev_token_without_a_signing_key_names_the_folder() {
    let folder = folder("dev_token");
    let data = folder.to_str().unwrap();

    let ended = Program::new(
        "dev_token",
        &["dev", "token", "--email", "bob@example.com", "--data-dir", data],
    )
    .run();

    assert_eq!(ended.code, Some(78), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("run `secrets-http dev` in this folder first"),
        "{}",
        ended.stderr
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn dev_refuses_a_database_whose_key_was_lost() {
    let folder = folder("dev_lost");
    let data = folder.to_str().unwrap();
    let arguments = ["dev", "--listen", "127.0.0.1:0", "--data-dir", data];
    drop(Program::new("dev_lost", &arguments).start());
    fs::remove_file(folder.join("root.key")).unwrap();

    let ended = Program::new("dev_lost", &arguments).run();

    assert_eq!(ended.code, Some(66), "{}", ended.stderr);
    assert!(!folder.join("root.key").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_keeps_its_files_to_its_owner_and_signs_tokens() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = folder("dev").join("data");
    let data = folder.to_str().unwrap();
    let program =
        Program::new("dev", &["dev", "--listen", "127.0.0.1:0", "--data-dir", data]).start();
    let signed =
        Program::new("dev", &["dev", "token", "--email", "bob@example.com", "--data-dir", data])
            .run();

    let bob = program.bearer(signed.stdout.trim());
    bob.get("/api/v1/users/me").await.is(404);
    let user = bob.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    assert_eq!(user["email"], "bob@example.com");

    assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in [".gitignore", "address", "root.key", "signing.key", "secrets.db"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
}

/// Returns the bytes of an SQLite database file after a checkpoint, because a killed process can
/// leave some of its writes in the write-ahead log.
async fn contents(database: &Path) -> Vec<u8> {
    sql(database, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    fs::read(database).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_gives_a_team_an_owner() {
    let database = folder("team_owner").join("secrets.db");
    let mut program = Program::serve("team_owner", &database).start();
    let (alice, bob) = (program.person("alice").await, program.person("bob").await);
    let team = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).id();
    let invited = json!({ "email": "bob@example.com", "role": "member" });
    alice.post(&format!("/api/v1/teams/{team}/members"), &invited).await.is(201);
    let pending = bob.get("/api/v1/invitations").await.is(200).json();
    let token = pending[0]["token"].as_str().unwrap();
    bob.post(&format!("/api/v1/invitations/{token}/accept"), &json!({})).await.is(200);
    program.terminate(Duration::from_secs(10));
    let appoint = |member: &str| {
        let arguments = ["team", "owner", "--team", &team, "--member", member];
        Program::new("team_owner", &arguments)
            .with("SECRETS_DATABASE_URL", &format!("sqlite://{}", database.display()))
            .run()
    };

    let unknown_user = appoint("eve@example.com");
    let appointed = appoint("bob@example.com");

    assert_eq!(unknown_user.code, Some(64), "{}", unknown_user.stderr);
    assert_eq!(appointed.code, Some(0), "{}", appointed.stderr);
    let program = Program::serve("team_owner", &database).start();
    let bob = program.bearer(&jwt("bob"));
    let log = format!("/api/v1/teams/{team}/audit?action=member.role_changed");
    let entry = bob.get(&log).await.is(200).json()["logs"][0].clone();
    assert_eq!([&entry["actor_type"], &entry["resource_name"]], ["system", "bob@example.com"]);
    let expected = json!({ "role": "owner", "previous_role": "member", "changed_by": "operator" });
    assert_eq!(entry["metadata"], expected);
}

#[test]
fn a_wrong_password_of_the_database_is_reported_without_the_source_line() {
    let server = Target::postgres();
    let address =
        format!("postgres://{}:kvc_wrong@{}:{}/postgres", server.user, server.host, server.port);

    let ended = Program::serve("wrong_password", "unused".as_ref())
        .with("SECRETS_DATABASE_URL", &address)
        .run();

    assert_eq!(ended.code, Some(69), "{}", ended.stderr);
    assert!(ended.stderr.contains("password authentication failed"), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains("at line") && !ended.stderr.contains("kvc_"),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_document_of_the_interface_is_printed() {
    let ended = Program::new("openapi", &["openapi"]).run();

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/api/v1/eso/secret"]["get"].is_object());
}
