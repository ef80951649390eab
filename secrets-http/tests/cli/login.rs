//! Tests of the commands `secrets login`, `logout`, `whoami` and `status`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use secrets_core::bundle::SigningKey;
use serde_json::{Value, json};

use crate::home::{Home, wait};
use crate::server::Server;
use crate::service::Scripted;

const TOKEN: &str = "kvc_token_of_the_test";

/// Running command `secrets login` that waits for the user's approval.
pub(crate) struct Waiting {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// User code, with which a user approves the login.
    pub(crate) code: String,
    said: String,
}

impl Waiting {
    /// Starts the program with these arguments, and waits until it shows the user code.
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut child = home
            .command([&["login"], arguments].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut code, mut said) = (String::new(), String::new());
        // `login` prints this text last, before it waits for the approval.
        while !said.contains("Ctrl-C") {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "{said}");
            if line.starts_with("    ") {
                line.trim().clone_into(&mut code);
            }
            said.push_str(&line);
        }
        Self { child, stderr, code, said }
    }

    /// Waits until the command has ended. Returns its exit code and its output.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = wait(&mut self.child);
        self.stderr.read_to_string(&mut self.said).unwrap();
        (code, self.said)
    }

    fn interrupt(&self) {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    }
}

/// Returns the scripted response to a request of a device login, whose codes are valid for
/// `seconds` seconds. `poll` returns the response to a request for the token.
fn device(request: &str, seconds: u32, poll: impl FnOnce() -> (u16, Value)) -> (u16, String) {
    let (status, body) = match request {
        "POST /api/v1/auth/cli/device" => {
            let body = json!({
                "device_code": "kvc_device_code", "user_code": "ABCD-EFGH", "interval": 1,
                "verification_uri": "http://127.0.0.1/device", "expires_in": seconds,
            });
            (200, body)
        }
        "POST /api/v1/auth/cli/token" => poll(),
        _ => (200, json!({ "message": "secrets API" })),
    };
    (status, body.to_string())
}

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

fn login_with_token(home: &Home, url: &str, arguments: &[&str]) -> crate::home::Ended {
    home.run_with(&[&["login", url, "--token-stdin"], arguments].concat(), TOKEN)
}

#[test]
fn an_approved_login_is_a_session_until_the_logout() {
    let server = Server::start();
    let (home, approver) = (Home::new(), server.home());

    let waiting = Waiting::start(&home, &[&server.url, "--no-browser", "--store", "file"]);
    assert!(waiting.said.contains(&format!("{}/device", server.url)), "{}", waiting.said);
    approver.api("POST", "/auth/cli/approve", &json!({ "user_code": waiting.code }));
    let (code, said) = waiting.end();

    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("as dev@example.com, until "), "{said}");
    assert!(said.contains("The credential is in the file "), "{said}");
    assert!(home.ok(&["whoami"]).contains("dev@example.com"));
    let sessions = approver.api("GET", "/auth/cli/sessions", &Value::Null);
    let session = &sessions["sessions"][0];
    assert!(session["client_name"].as_str().unwrap().starts_with("secrets "));
    assert_eq!(session["os"].as_str().unwrap(), format!("linux {}", std::env::consts::ARCH));
    assert!(session["hostname"].is_string(), "{session}");

    std::fs::create_dir_all(home.folder().join(".local/state/secrets/copies/one")).unwrap();
    home.ok(&["logout"]);

    assert!(!home.folder().join(".local/state/secrets/copies").exists());
    let sessions = approver.api("GET", "/auth/cli/sessions", &Value::Null);
    assert_eq!(sessions["sessions"], json!([]));
    home.run(&["whoami"]).fails(67, "not signed in");
}

#[test]
fn a_denied_login_fails() {
    let server = Server::start();
    let home = Home::new();

    let waiting = Waiting::start(&home, &[&server.url]);
    server.home().api("POST", "/auth/cli/deny", &json!({ "user_code": waiting.code }));
    let (code, said) = waiting.end();

    assert_eq!(code, Some(67), "{said}");
    assert!(said.contains("the sign-in was denied"), "{said}");
}

#[test]
fn slow_down_makes_polls_rarer() {
    let service = Scripted::start(|request, number| {
        device(request, 60, || match number {
            0 => (400, json!({ "error": "slow_down" })),
            _ => (200, json!({ "access_token": TOKEN, "token_type": "Bearer", "expires_in": 60 })),
        })
    });
    let home = Home::new();

    let (code, said) = Waiting::start(&home, &[&service.url, "--store", "file"]).end();

    assert_eq!(code, Some(0), "{said}");
    let polls = service.times("POST /api/v1/auth/cli/token");
    assert!(polls[1] - polls[0] >= Duration::from_secs(6), "{polls:?}");
}

#[test]
fn an_expired_code_ends_the_login() {
    let service = Scripted::start(|request, _| {
        device(request, 60, || (400, json!({ "error": "expired_token" })))
    });
    let silent = Scripted::start(|request, _| {
        device(request, 1, || (400, json!({ "error": "authorization_pending" })))
    });

    for url in [&service.url, &silent.url] {
        let (code, said) = Waiting::start(&Home::new(), &[url]).end();
        assert_eq!(code, Some(67), "{said}");
        assert!(said.contains("the code has expired"), "{said}");
    }
    assert_eq!(silent.times("POST /api/v1/auth/cli/token").len(), 0);
}

#[test]
fn a_service_that_is_away_for_a_poll_is_asked_again() {
    let service = Scripted::start(|request, number| {
        device(request, 60, || match number {
            0 => (502, json!("bad gateway")),
            _ => (400, json!({ "error": "access_denied" })),
        })
    });

    let (code, said) = Waiting::start(&Home::new(), &[&service.url]).end();

    assert_eq!(code, Some(67), "{said}");
}

#[test]
fn ctrl_c_ends_the_login() {
    let service = Scripted::start(|request, _| {
        device(request, 60, || (400, json!({ "error": "authorization_pending" })))
    });

    let waiting = Waiting::start(&Home::new(), &[&service.url]);
    waiting.interrupt();
    let (code, said) = waiting.end();

    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("not signed in"), "{said}");
}

#[test]
fn a_browser_opens_on_a_desktop_only() {
    let service = Scripted::start(|request, _| {
        device(request, 60, || (400, json!({ "error": "access_denied" })))
    });
    let path = |home: &Home| {
        format!("{}:{}", home.path("bin").display(), std::env::var_os("PATH").unwrap().display())
    };
    let desktop = || {
        let home = Home::new();
        home.write(
            "bin/xdg-open",
            "#!/bin/sh\necho \"$1\" > \"$HOME/new\"; mv \"$HOME/new\" \"$HOME/opened\"\n",
        );
        make_executable(&home.path("bin/xdg-open"));
        let path = path(&home);
        home.with("PATH", &path).with("DISPLAY", ":7")
    };
    let opens = |home: &Home, arguments: &[&str]| {
        let (_, said) = Waiting::start(home, &[&[service.url.as_str()], arguments].concat()).end();
        said.contains("in your browser")
    };

    let home = desktop();
    assert!(opens(&home, &[]));
    until(|| home.folder().join("opened").exists());
    let opened = std::fs::read_to_string(home.folder().join("opened")).unwrap();
    assert_eq!(opened, "http://127.0.0.1/device\n");
    assert!(!opens(&desktop(), &["--no-browser"]));
    assert!(!opens(&desktop().with("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"), &[]));
    assert!(!opens(&desktop().with("DISPLAY", ""), &[]));
}

#[test]
fn a_page_that_is_no_web_page_is_refused() {
    let service = Scripted::start(|_, _| {
        let body = json!({
            "device_code": "kvc_x", "user_code": "A", "verification_uri": "file:///etc/passwd",
            "expires_in": 60,
        });
        (200, body.to_string())
    });

    Home::new().run(&["login", &service.url]).fails(76, "names no page");
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
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let home = Home::new().with("SECRETS_URL", &url).with("SECRETS_TOKEN", TOKEN);

    let printed = home.ok(&["-o", "json", "status"]);

    let status: Value = serde_json::from_str(&printed).unwrap();
    let rows = status["status"].as_array().unwrap();
    let value = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["value"].clone();
    assert!(value("session").as_str().unwrap().starts_with("offline: "), "{printed}");
    assert_eq!(value("server"), url.as_str());
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

/// Waits until a condition is true.
pub(crate) fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "the condition does not hold");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
