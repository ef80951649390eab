//! Tests of the command `secrets login` that waits for the approval of a user code.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::home::{Home, until, wait};
use crate::login::TOKEN;
use crate::server::Server;
use crate::service::Scripted;

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

    assert!(!home.folder().join(".local/state/secrets/copies/one").exists());
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

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
