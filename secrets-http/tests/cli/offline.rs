//! Tests of the offline copies that `secrets run` keeps.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use secrets_core::bundle::{self, BundleMetadata, RecipientKey, Recipients, Signer, SigningKey};
use secrets_core::model::{Clock as _, SystemClock, Time};
use serde_json::{Value, json};

use crate::home::Home;
use crate::run::{SECRETS, staging};
use crate::server::Server;

const PRINT: [&str; 4] = ["run", "--", "printenv", "A"];

/// Signed-in user, with a project file that enables offline copies of `staging`.
struct User {
    home: Home,
    key: RecipientKey,
    url: String,
    token: String,
}

impl User {
    fn new(server: &Server, home: Home) -> Self {
        let (url, token) = (server.url.clone(), server.token.clone());
        let home = home.with("SECRETS_TOKEN", "");
        home.write(
            "secrets-project.toml",
            "[offline]\nmax_age = \"1h\"\nenvironments = [\"staging\"]\n",
        );
        let user = Self { home, key: RecipientKey::generate(), url, token };
        user.sign_in(None);
        user
    }

    /// Stores a credential for the user, as the command `login` does.
    fn sign_in(&self, signer: Option<Signer>) {
        let folder = self.home.folder().join(".local/share/secrets");
        let mut text = format!(
            "[\"{}\"]\nstore = \"file\"\nuser = \"dev@example.com\"\ntoken = \"{}\"\n\
             private_key = \"{}\"\n",
            self.url,
            self.token,
            *self.key.reveal()
        );
        if let Some(signer) = signer {
            writeln!(text, "signer = \"{signer}\"").unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("credentials.toml"), text).unwrap();
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(folder.join("credentials.toml"), private).unwrap();
    }

    /// Returns the folder of the only offline copy.
    fn copy(&self) -> PathBuf {
        let mut folder = self.home.folder().join(".local/state/secrets/copies");
        while !folder.join("record.json").exists() {
            let mut folders = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            folder = folders.find(|path| path.is_dir()).unwrap();
        }
        folder
    }

    fn bundle(&self) -> PathBuf {
        self.copy().join("secrets.bundle")
    }

    fn has_copies(&self) -> bool {
        self.home.folder().join(".local/state/secrets/copies").exists()
    }

    /// Replaces the offline copy by a bundle that `signing` has signed. `change` can change its
    /// sequence number and its IDs.
    fn forge(&self, signing: &SigningKey, change: impl FnOnce(&mut BundleMetadata)) {
        let record: Value =
            serde_json::from_slice(&fs::read(self.copy().join("record.json")).unwrap()).unwrap();
        let mut metadata = BundleMetadata {
            project: serde_json::from_value(record["project"].clone()).unwrap(),
            environment: serde_json::from_value(record["environment"].clone()).unwrap(),
            seq: record["seq"].as_u64().unwrap(),
            created_at: now(),
            expires_at: Some(now() + TimeDelta::hours(1)),
        };
        change(&mut metadata);
        let recipient = json!([{ "type": "x25519", "public_key": self.key.public() }]);
        let recipients = serde_json::from_value(recipient).unwrap();
        let (recipients, _) = Recipients::prepare(recipients).unwrap();
        let file = bundle::seal(&metadata, &[], &recipients, signing).unwrap();
        fs::write(self.bundle(), file).unwrap();
    }

    /// Returns the address of the server, at which a test can listen after the server was stopped.
    fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }
}

fn now() -> Time {
    SystemClock.now()
}

fn start() -> (Server, User) {
    let (server, home) = staging(&[("A", "kvc_1")]);
    let user = User::new(&server, home);
    (server, user)
}

/// Returns the text of an error response of the service with this status line, such as
/// `403 Forbidden`.
fn refusal(status: &str, code: &str, error: &str) -> &'static str {
    let body = json!({ "error": error, "code": code }).to_string();
    let head = "Connection: close\r\nContent-Length: ";
    format!("HTTP/1.1 {status}\r\n{head}{}\r\n\r\n{body}", body.len()).leak()
}

/// Starts to listen at the address of the stopped server. Responds to each request with this text,
/// or not at all if the text is empty.
fn answer(address: &str, text: &'static str) {
    let listener = TcpListener::bind(address).unwrap();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if text.is_empty() {
                silent.push(stream);
                continue;
            }
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(text.as_bytes());
        }
    });
}

fn set(server: &Server, value: &str) {
    server.home().api("PUT", &format!("{SECRETS}/A"), &json!({ "value": value }));
}

#[test]
fn the_copy_is_used_if_the_service_is_stopped() {
    let (mut server, user) = start();
    assert_eq!(user.home.ok(&PRINT), "kvc_1\n");
    server.kill();

    let ended = user.home.run(&PRINT);

    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "kvc_1\n"), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("copy is used, which is"), "{ended:?}");
    assert!(!ended.stderr.contains("kvc_"), "{ended:?}");
    user.home.run(&[&["--no-offline"], &PRINT[..]].concat()).fails(125, "refused");
}

#[test]
fn the_copy_is_private_and_contains_no_value() {
    let (_server, user) = start();
    user.home.ok(&PRINT);

    for name in ["secrets.bundle", "record.json"] {
        let path = user.copy().join(name);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let bytes = fs::read(path).unwrap();
        assert!(!bytes.windows(4).any(|window| window == b"kvc_"));
    }
    assert_eq!(fs::metadata(user.copy()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn an_unchanged_environment_keeps_its_copy_and_a_changed_one_renews_it() {
    let (server, user) = start();
    user.home.ok(&PRINT);
    let first = fs::read(user.bundle()).unwrap();

    let printed = user.home.run(&[&["-v"], &PRINT[..]].concat());
    assert!(printed.stderr.contains(": 304,"), "{printed:?}");
    assert_eq!(printed.stdout, "kvc_1\n");
    assert_eq!(fs::read(user.bundle()).unwrap(), first);
    set(&server, "kvc_2");
    assert_eq!(user.home.ok(&PRINT), "kvc_2\n");
    assert_ne!(fs::read(user.bundle()).unwrap(), first);
}

#[test]
fn the_copy_is_used_at_once_if_asked() {
    let (mut server, user) = start();
    user.home.ok(&PRINT);
    set(&server, "kvc_2");

    assert_eq!(user.home.run(&[&["--offline"], &PRINT[..]].concat()).stdout, "kvc_1\n");
    server.kill();
    assert_eq!(user.home.run(&[&["--offline"], &PRINT[..]].concat()).stdout, "kvc_1\n");
}

#[test]
fn the_copy_is_used_after_10_seconds_if_the_service_is_silent() {
    let (mut server, user) = start();
    user.home.ok(&PRINT);
    server.kill();
    answer(&user.address(), "");
    let started = Instant::now();

    let ended = user.home.run(&PRINT);

    assert_eq!(ended.stdout, "kvc_1\n", "{ended:?}");
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn the_copy_is_used_if_the_service_is_unavailable() {
    let (mut server, user) = start();
    user.home.ok(&PRINT);
    server.kill();
    answer(
        &user.address(),
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );

    assert_eq!(user.home.run(&PRINT).stdout, "kvc_1\n");
}

#[test]
fn the_copy_is_deleted_if_the_permission_was_withdrawn() {
    let (server, user) = start();
    user.home.ok(&PRINT);
    assert!(user.bundle().exists());

    server.home().api("DELETE", "/projects/web", &Value::Null);
    user.home.run(&PRINT).fails(125, "not found");

    assert!(!user.bundle().exists());
    user.home.run(&[&["--offline"], &PRINT[..]].concat()).fails(125, "there is none");
}

#[test]
fn the_copy_is_deleted_and_not_used_if_the_service_forbids_the_access() {
    let (mut server, user) = start();
    user.home.ok(&PRINT);
    server.kill();
    answer(&user.address(), refusal("403 Forbidden", "forbidden", "you may not read secrets here"));

    let ended = user.home.run(&PRINT);

    ended.fails(125, "you may not read secrets here");
    assert_eq!(ended.stdout, "");
    assert!(!user.bundle().exists());
    user.home.run(&[&["--offline"], &PRINT[..]].concat()).fails(125, "there is none");
}

#[test]
fn a_refusal_that_is_not_of_the_service_does_not_delete_the_copy() {
    let (mut server, user) = start();
    user.home.ok(&PRINT);
    server.kill();
    let page = "HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    answer(&user.address(), page);

    let ended = user.home.run(&PRINT);

    ended.fails(125, "not the service's error format");
    assert_eq!(ended.stdout, "");
    assert_eq!(user.home.ok(&[&["--offline"], &PRINT[..]].concat()), "kvc_1\n");
}

#[test]
fn the_copy_is_not_used_if_the_session_has_ended() {
    let (mut server, user) = start();
    user.home.ok(&PRINT);
    server.kill();
    answer(&user.address(), refusal("401 Unauthorized", "unauthorized", "invalid credential"));

    user.home.run(&PRINT).fails(125, "invalid credential");

    assert!(user.bundle().exists());
}

#[test]
fn each_unusable_copy_has_its_own_message() {
    let (mut server, user) = start();
    user.home.ok(&PRINT);
    let old = fs::read(user.bundle()).unwrap();
    set(&server, "kvc_2");
    user.home.ok(&PRINT);
    server.kill();
    let new = fs::read(user.bundle()).unwrap();
    let offline = || user.home.run(&[&["--offline"], &PRINT[..]].concat());
    let signing = SigningKey::generate();

    fs::write(user.bundle(), old).unwrap();
    offline().fails(125, "older than a copy that was seen before");
    fs::write(user.bundle(), &new[..new.len() - 1]).unwrap();
    offline().fails(125, "changed or is incomplete");
    fs::write(user.bundle(), &new[..20]).unwrap();
    offline().fails(125, "changed or is incomplete");
    user.forge(&signing, |_| {});
    offline().fails(125, "signed by another service");
    user.sign_in(Some(signing.signer()));
    user.forge(&signing, |metadata| metadata.expires_at = Some(now() - TimeDelta::seconds(1)));
    offline().fails(125, "has expired");
    user.forge(&signing, |metadata| metadata.project = uuid::Uuid::nil().into());
    offline().fails(125, "another project or environment");
    fs::write(user.bundle(), new).unwrap();
    offline().fails(125, "signed by another service");
    fs::remove_file(user.bundle()).unwrap();
    offline().fails(125, "there is none");
    // If the service is unreachable, the message contains both reasons.
    user.home.run(&PRINT).fails(125, "refused").fails(125, "there is none");
}

#[test]
fn logout_deletes_all_copies_except_those_of_servers_that_are_signed_in_to() {
    const OTHER: &str = "https://other.example";
    let (_server, user) = start();
    user.home.ok(&PRINT);
    let bundle = user.bundle();
    let credentials = user.home.folder().join(".local/share/secrets/credentials.toml");
    let text = fs::read_to_string(&credentials).unwrap();
    let entry = format!("\n[\"{OTHER}\"]\nstore = \"file\"\ntoken = \"kvc_token\"\n");
    fs::write(&credentials, text + &entry).unwrap();
    let copies = user.home.folder().join(".local/state/secrets/copies");
    for name in ["https%3A%2F%2Fother%2Eexample", "https%3A%2F%2Funknown%2Eexample"] {
        fs::create_dir(copies.join(name)).unwrap();
        fs::write(copies.join(name).join("signer"), "").unwrap();
    }
    fs::write(copies.join("file"), "").unwrap();

    user.home.ok(&["--server", OTHER, "logout"]);

    assert!(bundle.exists());
    assert_eq!(fs::read_dir(&copies).unwrap().count(), 1);
    user.home.ok(&["logout", "--all"]);
    assert_eq!(fs::read_dir(&copies).unwrap().count(), 0);
}

#[test]
fn copies_are_kept_only_if_the_project_file_enables_them() {
    let (_server, user) = start();

    user.home.ok(&["--no-offline", "run", "--", "true"]);
    user.home.ok(&["run", "-e", "development", "--", "true"]);
    assert!(!user.has_copies());
    let mut command = user.home.command(PRINT);
    command.env("CI", "true").output().unwrap();
    assert!(!user.has_copies());
    let mut command = user.home.command(PRINT);
    command.env("SECRETS_TOKEN", &user.token).output().unwrap();
    assert!(!user.has_copies());
    let mut command = user.home.command(PRINT);
    command.env("CI", "true").env("SECRETS_OFFLINE", "on").output().unwrap();
    assert!(user.has_copies());
}
