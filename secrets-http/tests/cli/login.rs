//! Tests of the commands `secrets login` with a token, `logout`, `whoami`, `status` and `open`.

use std::process::Command;

use secrets_core::bundle::SigningKey;
use serde_json::{Value, json};

use crate::home::{Ended, Home};
use crate::server::Server;
use crate::service::Scripted;

pub(crate) const TOKEN: &str = "kvc_token_of_the_test";

/// Starts a service that accepts each token. The token expires after this number of days.
fn accepting(days: f64) -> Scripted {
    let end = chrono_text(days);
    Scripted::start(move |request, _| match request {
        "GET /api/v1/users/me" => (200, json!({ "name": "ci", "expires_at": end }).to_string()),
        _ => (200, json!({ "message": "secrets API" }).to_string()),
    })
}

/// Returns the time that is this number of days from now, as text.
fn chrono_text(days: f64) -> String {
    let output = Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &format!("{:.0} seconds", days * 86_400.0)])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn login_with_token(home: &Home, url: &str, arguments: &[&str]) -> Ended {
    home.run_with(&[&["login", url, "--token-stdin"], arguments].concat(), TOKEN)
}

#[test]
fn a_token_is_verified_before_it_is_stored() {
    let server = Server::start();
    let home = Home::new();
    let login = |token: &str| {
        home.run_with(&["login", &server.url, "--token-stdin", "--store", "file"], token)
    };

    login("kvc_wrong").fails(67, "invalid credential");
    login("").fails(65, "must contain one token");
    login("two tokens").fails(65, "must contain one token");
    login(&"x".repeat(64 * 1024 + 1)).fails(65, "must have at most 65536 bytes");
    assert!(!home.folder().join(".local/share/secrets/credentials.toml").exists());

    let ended = login(&format!("{}\n", server.token));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(home.ok(&["whoami"]).contains("dev@example.com"));
    let printed = home.ok(&["-o", "json", "whoami"]);
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap()["email"], "dev@example.com");
}

#[test]
fn the_first_sign_in_creates_the_account() {
    let (server, home) = (Server::start(), Home::new());
    let token = server.token_of("bob@example.com");

    let ended = home.run_with(&["login", &server.url, "--token-stdin", "--store", "file"], &token);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(home.ok(&["whoami"]).contains("bob@example.com"));
}

#[test]
fn a_service_token_can_be_stored() {
    let server = Server::start();
    let (home, owner) = (Home::new(), server.home());
    let project = owner.api("POST", "/projects", &json!({ "name": "Web" }));
    let body = json!({
        "name": "ci", "project_ids": [project["id"]], "permissions": ["read"], "expires_in_days": 2,
    });
    let created = owner.api("POST", "/tokens", &body);
    let token = created["token"].as_str().or(created["secret"].as_str()).expect("a token");

    let ended = home.run_with(&["login", &server.url, "--token-stdin", "--store", "file"], token);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("as ci, until "), "{ended:?}");
    assert!(!ended.stderr.contains(token) && !ended.stdout.contains(token));
    let ended = home.run(&["whoami"]);
    assert!(ended.stderr.contains("warning: the session at "), "{ended:?}");
    assert!(home.run(&["logout"]).stderr.contains("remains valid at the service"));
}

#[test]
fn the_end_of_a_session_is_warned_about_for_three_days() {
    let (soon, later) = (accepting(2.9), accepting(3.1));
    let home = Home::new();
    let warnings = |url: &str| {
        let ended = home.run(&["--server", url, "whoami"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stderr.matches("warning: the session at ").count()
    };

    for service in [&soon, &later] {
        assert_eq!(login_with_token(&home, &service.url, &["--store", "file"]).code, Some(0));
    }

    assert_eq!(warnings(&soon.url), 1);
    assert_eq!(warnings(&later.url), 0);
}

#[test]
fn logout_forgets_a_session_that_cannot_be_revoked() {
    let home = Home::new();
    let service = Scripted::start(|request, _| match request {
        "POST /api/v1/auth/cli/revoke" => (503, json!({ "error": "unavailable" }).to_string()),
        _ => (200, json!({ "name": "dev" }).to_string()),
    });
    let login = ["login", &service.url, "--token-stdin", "--store", "file"];
    assert_eq!(home.run_with(&login, "cli_kvc_session").code, Some(0));

    let ended = home.run(&["logout"]);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("was not revoked"), "{ended:?}");
    assert!(ended.stderr.contains("Signed out of "), "{ended:?}");
    home.run(&["logout"]).fails(67, "not signed in");
}

#[test]
fn logout_all_signs_out_of_all_servers() {
    let (home, services) = (Home::new(), [accepting(9.0), accepting(9.0)]);
    for service in &services {
        assert_eq!(login_with_token(&home, &service.url, &["--store", "file"]).code, Some(0));
    }
    home.run(&["logout"]).fails(78, "several servers");

    let ended = home.run(&["logout", "--all"]);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.matches("Signed out of ").count(), 2);
    assert!(home.run(&["logout", "--all"]).stderr.contains("Not signed in to any server."));
}

#[test]
fn the_signer_of_bundles_is_pinned_at_the_login() {
    let [first, second] = [(); 2].map(|()| SigningKey::generate().signer().to_string());
    let keys = [first.clone(), second.clone()];
    let service = Scripted::start(move |request, number| match request {
        "GET /api/v1" => {
            let signer = &keys[number];
            (200, json!({ "message": "secrets API", "bundle_signer": signer }).to_string())
        }
        _ => (200, json!({ "name": "ci" }).to_string()),
    });
    let home = Home::new();
    let stored = || {
        let path = home.folder().join(".local/share/secrets/credentials.toml");
        std::fs::read_to_string(path).unwrap()
    };

    let ended = login_with_token(&home, &service.url, &["--store", "file"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(stored().contains(&format!("signer = \"{first}\"")));
    assert!(stored().contains("private_key = \"scbx_"));
    let ended = login_with_token(&home, &service.url, &["--store", "file"]);
    assert!(ended.stderr.contains("signs bundles with a new key"), "{ended:?}");
    assert!(stored().contains(&second));
}

#[test]
fn status_contacts_the_service_only_for_an_unknown_end() {
    let (home, service) = (Home::new(), accepting(20.0));
    assert_eq!(login_with_token(&home, &service.url, &["--store", "file"]).code, Some(0));
    let asked = || service.times("GET /api/v1/users/me").len();
    let before = asked();

    let printed = home.ok(&["status"]);

    assert!(printed.contains("session") && printed.contains("until "), "{printed}");
    assert!(!printed.contains("kvc_") && !printed.contains("scbx_"), "{printed}");
    assert_eq!(asked(), before);
    let with_token = Home::new().with("SECRETS_URL", &service.url).with("SECRETS_TOKEN", TOKEN);
    let printed = with_token.ok(&["status"]);
    assert!(printed.contains("variable SECRETS_TOKEN"), "{printed}");
    assert_eq!(asked(), before + 1);
}

#[test]
fn status_says_offline_if_the_service_is_unreachable() {
    // No other test can take this port.
    let url = "http://127.0.0.1:9";
    let home = Home::new().with("SECRETS_URL", url).with("SECRETS_TOKEN", TOKEN);

    let printed = home.ok(&["-o", "json", "status"]);

    let status: Value = serde_json::from_str(&printed).unwrap();
    let rows = status["status"].as_array().unwrap();
    let value = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["value"].clone();
    assert!(value("session").as_str().unwrap().starts_with("offline: "), "{printed}");
    assert_eq!(value("server"), url);
}

#[test]
fn open_prints_the_address_where_there_is_no_desktop() {
    let home = Home::new().with("SECRETS_URL", "https://secrets.example.com/base");

    assert_eq!(home.ok(&["open"]), "https://secrets.example.com/base\n");
    assert_eq!(
        home.ok(&["-p", "web", "open", "--print"]),
        "https://secrets.example.com/base/projects/web\n"
    );
}
