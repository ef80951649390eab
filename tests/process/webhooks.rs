//! Tests of webhooks that the server program sends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use secrets_tests::{Person, Receiver, Taken, paths};
use serde_json::{Value, json};

use crate::program::{Program, Running, folder, log_path, sql};

/// SQL statement that inserts a paused rotation into each environment with the name `production`.
const ROTATION: &str = "INSERT INTO rotations
    (id, environment_id, name, integration, method, level, connection, keys, interval_days, status,
     failures, checks, next_rotation_at, sequence, lease_epoch, created_at, updated_at)
    SELECT id, id, 'main-db', 'postgresql', 'direct', 'read', x'00', '{}', 30, 'paused',
           0, 0, created_at, 0, 0, created_at, updated_at
    FROM environments WHERE name = 'production'";

/// Running server, with a user, the path of a webhook of the user, and the signing secret of the
/// webhook.
struct World {
    program: Running,
    alice: Person,
    webhook: String,
    secret: String,
}

fn serve(name: &str, folder: &Path) -> Running {
    Program::serve(name, &folder.join("secrets.db"))
        .with("SECRETS_EGRESS_ALLOW", "127.0.0.1")
        .start()
}

async fn world(name: &str, folder: &Path, url: &str) -> World {
    let mut program = serve(name, folder);
    let project = program.person("alice").await.project("main").await;
    program.terminate(Duration::from_secs(20));
    sql(&folder.join("secrets.db"), ROTATION).await;
    let program = serve(name, folder);
    let alice = program.person("alice").await;
    let webhooks = paths::webhooks(&project, "production", "main-db");
    let body = json!({ "url": url, "events": ["rotation.failed"] });
    let made = alice.post(&webhooks, &body).await.is(201).json();
    let webhook = format!("{webhooks}/{}", made["id"].as_str().unwrap());
    World { program, alice, webhook, secret: made["secret"].as_str().unwrap().to_owned() }
}

impl World {
    async fn test(&self) {
        self.alice.post(&format!("{}/test", self.webhook), &json!({})).await.is(200);
    }
}

/// Writes the signing secret, the headers and the body of a delivery to a file, as input for a
/// program that verifies the delivery. Returns the path of the file.
fn written(folder: &Path, secret: &str, taken: &Taken, body: &str) -> PathBuf {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers = names.map(|name| (name.to_owned(), Value::from(taken.header(name))));
    let headers: serde_json::Map<_, _> = headers.into_iter().collect();
    let delivery = json!({ "secret": secret, "headers": headers, "body": body });
    let path = folder.join("delivery.json");
    fs::write(&path, delivery.to_string()).unwrap();
    path
}

fn verifiers() -> [Command; 2] {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/webhooks"));
    let tools = std::env::var_os("SECRETS_TEST_TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| here.join("../../target/tools"));
    let (mut python, mut node) =
        (Command::new(tools.join("venv/bin/python")), Command::new("node"));
    python.arg(here.join("verify.py"));
    node.arg(here.join("verify.mjs"));
    [python, node]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_published_libraries_verify_what_is_sent() {
    let folder = folder("webhooks_verified");
    let receiver = Receiver::start().await;
    let world = world("webhooks_verified", &folder, &receiver.url("/")).await;

    world.test().await;

    let taken = receiver.wait_for(1).await.remove(0);
    let forged = taken.body.replace("main-db", "other-db");
    for (body, is_ours) in [(taken.body.as_str(), true), (forged.as_str(), false)] {
        let folder = tempfile::tempdir_in(secrets_core::testing::folder()).unwrap();
        let file = written(folder.path(), &world.secret, &taken, body);
        for mut verifier in verifiers() {
            let output = verifier.arg(&file).stdin(Stdio::null()).output().unwrap();
            assert_eq!(output.status.success(), is_ours, "{verifier:?}: {output:?}");
            if is_ours {
                let message: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(message, taken.json());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsettled_delivery_is_sent_again_with_its_id_after_a_kill() {
    let folder = folder("webhooks_kill");
    let receiver = Receiver::start().await;
    let world = world("webhooks_kill", &folder, &receiver.url("/")).await;
    receiver.pause(Duration::from_mins(1));
    world.test().await;
    receiver.wait_for(1).await;

    world.program.kill();
    receiver.pause(Duration::ZERO);
    let program = serve("webhooks_kill", &folder);

    let taken = receiver.wait_for(2).await;
    assert_eq!(taken[0].header("webhook-id"), taken[1].header("webhook-id"));
    assert_eq!(taken[0].body, taken[1].body);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(receiver.taken().len(), 2, "what is settled is not sent again");
    drop(program);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_contains_no_url_and_no_signing_secret() {
    let folder = folder("webhooks_log");
    let receiver = Receiver::start().await;
    receiver.answer(500, &[]);
    let path = "/kvc_webhook_path?token=kvc_webhook_token";
    let world = world("webhooks_log", &folder, &receiver.url(path)).await;

    world.test().await;
    receiver.wait_for(2).await;

    let log = fs::read_to_string(log_path("webhooks_log")).unwrap();
    assert!(log.contains("not delivered"), "{log}");
    let port = receiver.address.port().to_string();
    for hidden in ["kvc_webhook", &format!("127.0.0.1:{port}"), &world.secret[6..]] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
    let stored = fs::read(folder.join("secrets.db")).unwrap();
    let stored = String::from_utf8_lossy(&stored);
    assert!(!stored.contains("kvc_webhook") && !stored.contains(&world.secret[6..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_list_stops_the_start() {
    let folder = folder("webhooks_list");
    let program = Program::configured("webhooks_list", "check", &folder.join("secrets.db"));

    let ended = program.with("SECRETS_EGRESS_ALLOW", "10.0.0.0/8,169.254.169.254").run();

    assert_eq!(ended.code, Some(78), "{}", ended.stderr);
    assert!(ended.stderr.contains("SECRETS_EGRESS_ALLOW"), "{}", ended.stderr);
}
