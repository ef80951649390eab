//! Tests of the command `secrets bundle open`, which opens a bundle (encrypted export of an
//! environment) without a service.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrets_core::bundle::{
    self, BundleKey, BundleMetadata, BundledSecret, Recipients, SigningKey,
};
use secrets_core::crypto::Plaintext;
use secrets_core::model::{Clock as _, SystemClock};
use secrets_tests::{Person, canary};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::program::{Ended, Program, folder, jwt};

const PASSPHRASE: &str = "kvc_correct horse";

/// Starts a server, creates a bundle of two secrets for these recipients, writes it to the file
/// `along.scb`, and stops the server. Returns the response that contains the bundle.
async fn made(name: &str, recipients: Value) -> Value {
    let database = folder(name).join("secrets.db");
    let mut program = Program::serve(name, &database).start();
    let client = program.bearer(&jwt("alice"));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client, &user);
    let project = alice.project("Along").await;
    alice.secret(&project, "staging", "ONE", &canary("one")).await;
    alice.secret(&project, "staging", "with-hyphen", &canary("two")).await;
    let path = format!("{project}/environments/staging/secrets/bundle");
    let bundle = alice.post(&path, &json!({ "recipients": recipients })).await.is(200).json();
    program.terminate(Duration::from_secs(10));
    let file = STANDARD.decode(bundle["bundle"].as_str().unwrap()).unwrap();
    fs::write(database.with_file_name("along.scb"), file).unwrap();
    bundle
}

fn open(name: &str, folder: &Path, arguments: &[&str]) -> Ended {
    let file = folder.join("along.scb");
    let arguments = [&["bundle", "open", file.to_str().unwrap()], arguments].concat();
    Program::command_line(name, &arguments).run()
}

/// Writes a bundle key or a passphrase to a file, and returns the path of the file.
fn kept(folder: &Path, text: &str) -> String {
    let path = folder.join("unlock");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_is_printed_in_the_format_asked_for() {
    let name = "bundle_formats";
    let bundle = made(name, json!([{ "type": "raw" }])).await;
    let folder = target(name);
    let key = kept(&folder, &format!("{}\n", bundle["key"].as_str().unwrap()));
    let printed = |format: &str| {
        let signer = bundle["signer"].as_str().unwrap();
        let seq = bundle["seq"].to_string();
        let options =
            ["--key-file", &key, "--signer", signer, "--at-least", &seq, "--format", format];
        open(name, &folder, &options)
    };

    let as_json = printed("json");
    assert_eq!(as_json.code, Some(0), "{}", as_json.stderr);
    let values: Value = serde_json::from_str(&as_json.stdout).unwrap();
    assert_eq!(values, json!({ "ONE": canary("one"), "with-hyphen": canary("two") }));
    let yaml = printed("yaml");
    assert_eq!(yaml.stdout.lines().count(), 2, "{}", yaml.stdout);
    // A value that a format cannot represent is an error, and nothing is printed.
    let shell = printed("shell");
    assert_eq!((shell.code, shell.stdout.as_str()), (Some(65), ""));
    assert!(shell.stderr.contains("with-hyphen"), "{}", shell.stderr);
    assert!(!shell.stderr.contains("kvc_"), "{}", shell.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_opens_only_with_its_passphrase() {
    let name = "bundle_passphrase";
    let bundle = made(name, json!([{ "type": "passphrase", "passphrase": PASSPHRASE }])).await;
    assert_eq!(bundle.get("key"), None);
    let folder = target(name);
    let right = kept(&folder, PASSPHRASE);

    let ended = open(name, &folder, &["--passphrase-file", &right, "--format", "yaml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains(&canary("one")), "{}", ended.stdout);

    let wrong = kept(&folder, "another passphrase");
    let ended = open(name, &folder, &["--passphrase-file", &wrong]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(65), ""));
    assert!(ended.stderr.contains("(no_recipient)"), "{}", ended.stderr);
    fs::remove_file(wrong).unwrap();

    let too_long = kept(&folder, &"x".repeat(8_193));
    let ended = open(name, &folder, &["--passphrase-file", &too_long]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(65), ""));
    assert!(ended.stderr.contains("must have at most 8192 bytes"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_pair_opens_a_bundle_for_its_public_key() {
    let name = "bundle_pair";
    let pair = Program::command_line(name, &["bundle", "keygen"]).run();
    let (public, private) = pair.stdout.split_once('\n').unwrap();
    assert!(private.starts_with("scbx_"));
    let public = public.strip_prefix("# ").unwrap();
    let bundle = made(name, json!([{ "type": "x25519", "public_key": public }])).await;
    let folder = target(name);
    let key = kept(&folder, &pair.stdout);
    let signer = bundle["signer"].as_str().unwrap();
    let options = ["--private-key-file", &key, "--format", "csv"];

    let unverified = open(name, &folder, &options);
    assert_eq!((unverified.code, unverified.stdout.as_str()), (Some(65), ""));
    assert!(unverified.stderr.contains("(untrusted)"), "{}", unverified.stderr);
    let ended = open(name, &folder, &[&options[..], &["--signer", signer]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains(&canary("two")), "{}", ended.stdout);

    let file = folder.join("along.scb");
    let mut changed = fs::read(&file).unwrap();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&file, changed).unwrap();
    let ended = open(name, &folder, &[&options[..], &["--signer", signer]].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(65), ""));
    assert!(ended.stderr.contains("(tampered)"), "{}", ended.stderr);
}

#[test]
fn keys_and_passphrases_are_no_arguments() {
    for arguments in [
        &["bundle"][..],
        &["bundle", "open"],
        &["bundle", "open", "along.scb"],
        &["bundle", "open", "along.scb", "--key", "scbk_kvc"],
        &["bundle", "open", "along.scb", "--key-file", "a", "--passphrase-file", "b"],
        &["bundle", "open", "along.scb", "--key-file", "a", "--signer", "scbs_none"],
    ] {
        let ended = Program::command_line("bundle_usage", arguments).run();

        assert_eq!((ended.code, ended.stdout.as_str()), (Some(64), ""), "{arguments:?}");
    }
    let missing = ["bundle", "open", "along.scb", "--key-file", "/nowhere"];
    let ended = Program::command_line("bundle_usage", &missing).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(66), ""));
}

/// Writes a bundle of at least this many bytes to the file `along.scb`. Returns the path of a file
/// with the key that opens the bundle, and the total size of the secret values in it.
fn large(folder: &Path, bytes: usize) -> Unlocked {
    let (key, signing) = (BundleKey::generate(), SigningKey::generate());
    let now = SystemClock.now();
    let length = 65_536;
    let secrets = (0..=bytes / length).map(|number| BundledSecret {
        key: format!("KEY_{number:06}").parse().unwrap(),
        value: Plaintext::new("kvc_".repeat(length / 4)).unwrap(),
        description: None,
        version: 1,
        inherited_from: None,
        updated_at: now,
    });
    let secrets: Vec<_> = secrets.collect();
    let (project, environment) = (Uuid::nil().into(), Uuid::nil().into());
    let metadata =
        BundleMetadata { project, environment, seq: 1, created_at: now, expires_at: None };
    let file = bundle::seal(&metadata, &secrets, &Recipients::key(&key), &signing).unwrap();
    assert!(file.len() >= bytes);
    fs::write(folder.join("along.scb"), file).unwrap();
    Unlocked { key: kept(folder, &key.reveal()), values: secrets.len() * length }
}

struct Unlocked {
    key: String,
    values: usize,
}

/// Runs `bundle open` with a bundle of this size, and returns the peak memory of the process in
/// KiB.
fn peak(name: &str, bytes: usize) -> u64 {
    let folder = folder(name);
    let Unlocked { key, values } = large(&folder, bytes);
    let file = folder.join("along.scb");
    let arguments = ["bundle", "open", file.to_str().unwrap(), "--key-file", &key];
    let (mut child, mut printed) = Program::command_line(name, &arguments).pipe();
    // The program cannot end before its whole output is read.
    let mut first = vec![0; values - 100_000];
    printed.read_exact(&mut first).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let rest = printed.read_to_end(&mut Vec::new()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(rest > 100_000, "the program had ended before");
    fs::remove_dir_all(folder).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_bundle_of_8_mib_opens_in_bounded_memory() {
    let (little, much) = (peak("bundle_little", 1 << 20), peak("bundle_much", 8 << 20));

    assert!(much < little + 4 * 1_024, "{much} KiB, and {little} KiB for 1 MiB");
}

/// Returns the path of the folder that [`folder`] creates for this name, without creating it.
fn target(name: &str) -> std::path::PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().join("test/data").join(name)
}
