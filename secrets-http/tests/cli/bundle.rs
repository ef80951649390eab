//! Tests of the command `secrets bundle`.

use serde_json::{Value, json};

use crate::home::Home;
use crate::server::Server;

fn home(server: &Server) -> Home {
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    let secrets = "/projects/web/environments/staging/secrets";
    home.api("POST", secrets, &json!({ "key": "KEY", "value": "kvc_a b" }));
    home.with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging")
}

#[test]
fn a_bundle_for_a_key_pair_is_opened_without_the_service() {
    let mut server = Server::start();
    let home = home(&server);
    let keys = home.ok(&["bundle", "keygen"]);
    home.write("me.key", &keys);
    let public = keys.lines().next().unwrap().trim_start_matches("# ");
    let made = home.ok(&[
        "-o",
        "json",
        "bundle",
        "make",
        "web.scb",
        "--public-key",
        public,
        "--expires-in",
        "1h",
    ]);
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!((&made["secrets"], &made["bundle"]), (&json!(1), &Value::Null));
    server.kill();

    let open = ["bundle", "open", "web.scb", "--private-key-file", "me.key", "--signer"];
    let opened =
        home.ok(&[&open[..], &[made["signer"].as_str().unwrap(), "--format", "json"]].concat());

    assert_eq!(serde_json::from_str::<Value>(&opened).unwrap(), json!({ "KEY": "kvc_a b" }));
    home.run(&open[..5]).fails(65, "untrusted");
}

#[test]
fn a_bundle_is_opened_with_a_new_key_or_a_passphrase() {
    let server = Server::start();
    let home = home(&server);
    home.write("words", "kvc_correct horse battery\n");

    home.ok(&["bundle", "make", "web.scb", "--new-key-file", "key", "--passphrase-file", "words"]);

    for unlock in [["--key-file", "key"], ["--passphrase-file", "words"]] {
        let opened = home.ok(&[&["bundle", "open", "web.scb"], &unlock[..]].concat());
        assert_eq!(opened, "KEY='kvc_a b'\n");
    }
    home.write("wrong", "kvc_another passphrase\n");
    let open = ["bundle", "open", "web.scb", "--passphrase-file"];
    home.run(&[&open[..], &["wrong"]].concat()).fails(65, "no_recipient");
    home.run(&[&open[..], &["none"]].concat()).fails(66, "none: ");
}

#[cfg(unix)]
#[test]
fn bundles_and_keys_are_new_files_that_only_the_user_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start();
    let home = home(&server);
    home.run(&["bundle", "make", "web.scb"]).fails(64, "required");

    let shown = home.ok(&["bundle", "make", "web.scb", "--new-key-file", "key"]);

    let key = std::fs::read_to_string(home.path("key")).unwrap();
    assert!(key.starts_with("scbk_") && !shown.contains(key.trim_end()));
    for name in ["web.scb", "key"] {
        let mode = std::fs::metadata(home.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    home.run(&["bundle", "make", "web.scb", "--new-key-file", "key2"]).fails(73, "web.scb");
    assert!(!home.path("key2").exists());
}
