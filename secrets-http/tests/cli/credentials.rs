//! Tests of the storage of credentials, and of the rules that decide to which servers the
//! credentials are sent.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::home::{Ended, Home, ended, until};
use crate::service::Scripted;

const TOKEN: &str = "kvc_token_of_the_test";

fn service() -> Scripted {
    Scripted::start(|_, _| (200, json!({ "name": "ci" }).to_string()))
}

fn login(home: &Home, url: &str, store: &str) -> Ended {
    home.run_with(&["login", url, "--token-stdin", "--store", store], TOKEN)
}

fn file(home: &Home) -> PathBuf {
    home.folder().join(".local/share/secrets/credentials.toml")
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

/// Runs shell commands in a D-Bus session. The variable `$URL` is the address of the service,
/// `$SECRETS` the path of the program, and `$TOKEN` a token.
fn in_session(home: &Home, url: &str, options: &[&str], script: &str) -> Ended {
    let run = home.folder().join("run");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::set_permissions(&run, Permissions::from_mode(0o700)).unwrap();
    let mut command = home.program("dbus-run-session", options);
    command
        .args(["--", "sh", "-ec", script])
        .env("XDG_RUNTIME_DIR", &run)
        .env("URL", url)
        .env("SECRETS", env!("CARGO_BIN_EXE_secrets"))
        .env("TOKEN", TOKEN);
    ended(command, "")
}

const UNLOCK: &str =
    "printf pw | gnome-keyring-daemon --unlock --components=secrets --daemonize >&2\n";
const LOCK: &str = "dbus-send --session --print-reply --dest=org.freedesktop.secrets \
    /org/freedesktop/secrets org.freedesktop.Secret.Service.Lock \
    array:objpath:/org/freedesktop/secrets/collection/login >&2\n";

#[test]
fn an_unlocked_keychain_holds_the_credential() {
    let (home, service) = (Home::new(), service());
    let script = format!(
        "{UNLOCK}\
         echo $TOKEN | $SECRETS login $URL --token-stdin\n\
         cat $HOME/.local/share/secrets/credentials.toml\n\
         $SECRETS -o name whoami | grep -x ci\n\
         $SECRETS status | grep usable\n\
         $SECRETS logout\n\
         $SECRETS whoami || echo code $?\n"
    );

    let ended = in_session(&home, &service.url, &[], &script);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("The credential is in the keychain."), "{ended:?}");
    assert!(ended.stdout.contains("store = \"keychain\""), "{ended:?}");
    assert!(ended.stdout.contains("code 67"), "{ended:?}");
    assert!(!ended.stdout.contains(TOKEN) && !ended.stdout.contains("scbx_"), "{ended:?}");
    assert!(service.received().contains(&format!("Bearer {TOKEN}")));
}

#[test]
fn a_locked_keychain_is_neither_waited_for_nor_unlocked() {
    let (home, service) = (Home::new(), service());
    let script = format!(
        "{UNLOCK}\
         echo $TOKEN | $SECRETS login $URL --token-stdin --store keychain\n\
         {LOCK}\
         $SECRETS whoami || echo whoami $?\n\
         echo $TOKEN | $SECRETS login $URL --token-stdin --store keychain || echo login $?\n\
         echo $TOKEN | $SECRETS login $URL --token-stdin\n\
         $SECRETS whoami\n"
    );

    let ended = in_session(&home, &service.url, &[], &script);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("whoami 78") && ended.stdout.contains("login 78"), "{ended:?}");
    assert!(ended.stderr.contains("unlock it, or sign in again"), "{ended:?}");
    assert!(ended.stderr.contains("because the keychain is locked."), "{ended:?}");
    assert_eq!(mode(&file(&home)), 0o600);
}

#[test]
fn a_file_holds_the_credential_if_there_is_no_keychain() {
    let (home, service) = (Home::new(), service());
    let configuration = home.path("bus.conf");
    let text = "<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen>\
        <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\
        <allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>";
    home.write("bus.conf", text);
    let bus = format!("--config-file={}", configuration.display());
    let script = "echo $TOKEN | $SECRETS login $URL --token-stdin";

    // First in a D-Bus session without a Secret Service, then without a D-Bus session.
    let in_session = in_session(&home, &service.url, &[&bus], script);
    let outside = login(&Home::new(), &service.url, "auto");

    for ended in [in_session, outside] {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stderr.contains("because there is no keychain."), "{ended:?}");
    }
    login(&home, &service.url, "keychain").fails(78, "there is no keychain");
    assert_eq!(mode(&file(&home)), 0o600);
    assert_eq!(mode(file(&home).parent().unwrap()), 0o700);
}

#[test]
fn a_keychain_that_never_answers_is_waited_for_a_second() {
    let (home, service) = (Home::new(), service());
    let socket = home.path("bus");
    let listener = UnixListener::bind(&socket).unwrap();
    let connections = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&connections);
    // Connections stay open, and nothing is read or written.
    thread::spawn(move || {
        for connection in listener.incoming() {
            kept.lock().unwrap().push(connection);
        }
    });
    let home = home.with("DBUS_SESSION_BUS_ADDRESS", &format!("unix:path={}", socket.display()));

    let started = Instant::now();
    let ended = login(&home, &service.url, "auto");

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("did not answer within a second"), "{ended:?}");
    // The program waits for a second; the rest is for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    // The program does not connect to the keychain for a credential in the file.
    let before = connections.lock().unwrap().len();
    home.ok(&["whoami"]);
    assert_eq!(connections.lock().unwrap().len(), before);
}

#[test]
fn a_file_that_others_can_read_is_refused_with_the_repair() {
    let (home, service) = (Home::new(), service());
    assert_eq!(login(&home, &service.url, "file").code, Some(0));
    std::fs::set_permissions(file(&home), Permissions::from_mode(0o644)).unwrap();

    home.run(&["whoami"]).fails(78, &format!("chmod 600 {}", file(&home).display()));

    std::fs::set_permissions(file(&home), Permissions::from_mode(0o600)).unwrap();
    home.ok(&["whoami"]);
}

#[test]
fn an_unreadable_file_is_not_quoted() {
    let (home, service) = (Home::new(), service());
    assert_eq!(login(&home, &service.url, "file").code, Some(0));
    std::fs::write(file(&home), format!("token = \"{TOKEN}\nx")).unwrap();

    let ended = home.run(&["whoami"]);

    ended.fails(78, "cannot be read");
    assert!(!ended.stderr.contains("kvc_"), "{ended:?}");
}

#[test]
fn logins_at_once_lose_nothing() {
    let (home, services) = (Home::new(), [(); 8].map(|()| service()));

    thread::scope(|scope| {
        for service in &services {
            scope.spawn(|| assert_eq!(login(&home, &service.url, "file").code, Some(0)));
        }
    });

    let text = std::fs::read_to_string(file(&home)).unwrap();
    for service in &services {
        assert!(text.contains(&format!("[\"{}\"]", service.url)), "{text}");
    }
    let files = std::fs::read_dir(file(&home).parent().unwrap()).unwrap().count();
    assert_eq!(files, 2, "the file and its lock");
}

#[test]
fn a_server_of_a_cloned_project_gets_no_credential() {
    let (own, foreign) = (service(), service());
    let home = Home::new();
    assert_eq!(login(&home, &own.url, "file").code, Some(0));
    home.write("secrets-project.toml", &format!("server = \"{}\"\nproject = \"web\"", foreign.url));

    home.run(&["whoami"]).fails(67, &format!("not signed in to {}", foreign.url));
    let with_token = home.with("SECRETS_TOKEN", TOKEN);
    with_token.run(&["whoami"]).fails(67, "not signed in to");
    with_token.run_with(&["login", "--token-stdin"], TOKEN).fails(64, "name the server");
    with_token.run(&["init", "--force", "--yes"]).fails(67, "not signed in to");

    assert_eq!(foreign.received(), "");
}

#[test]
fn the_token_of_a_variable_goes_to_its_server_only() {
    let (own, other) = (service(), service());
    let home = Home::new().with("SECRETS_TOKEN", TOKEN).with("SECRETS_URL", &own.url);

    home.ok(&["whoami"]);
    home.run(&["--server", &other.url, "whoami"]).fails(67, "not signed in to");

    assert_eq!(other.received(), "");
    assert!(own.received().contains(TOKEN));
    // The program may send the token to the other server once the user has signed in to this
    // server.
    assert_eq!(login(&home, &other.url, "file").code, Some(0));
    home.ok(&["--server", &other.url, "whoami"]);
}

#[test]
fn a_token_file_is_read() {
    let own = service();
    let home = Home::new().with("SECRETS_URL", &own.url);
    home.write("token", &format!("{TOKEN}\n"));
    let path = home.path("token").display().to_string();
    let home = home.with("SECRETS_TOKEN_FILE", &path);

    home.ok(&["whoami"]);
    assert!(own.received().contains(&format!("Bearer {TOKEN}\r\n")));

    home.write("token", "two tokens");
    home.run(&["whoami"]).fails(78, "must contain one token");
    std::fs::remove_file(home.path("token")).unwrap();
    home.run(&["whoami"]).fails(66, "SECRETS_TOKEN_FILE");
}

#[test]
fn plain_http_goes_to_this_machine_only() {
    let home = Home::new().with("SECRETS_TOKEN", TOKEN);

    home.run(&["--server", "http://192.0.2.1", "whoami"]).fails(78, "--insecure-http");
    home.run(&["login", "http://192.0.2.1"]).fails(78, "--insecure-http");
    home.run(&["--server", "https://user:pw@host", "whoami"]).fails(78, "must not contain");
}

#[test]
fn a_redirect_is_not_followed() {
    let other = service();
    let target = other.url.clone();
    let service = Scripted::start(move |_, _| (307, target.clone()));
    let home = Home::new().with("SECRETS_TOKEN", TOKEN).with("SECRETS_URL", &service.url);

    home.run(&["whoami"]).fails(76, "redirects are not followed");

    assert_eq!(other.received(), "");
}

#[test]
fn a_proxy_does_not_see_requests_to_this_machine() {
    let (own, proxy) = (service(), service());
    let home = Home::new()
        .with("SECRETS_TOKEN", TOKEN)
        .with("SECRETS_URL", &own.url)
        .with("HTTP_PROXY", &proxy.url)
        .with("http_proxy", &proxy.url)
        .with("ALL_PROXY", &proxy.url);

    home.ok(&["whoami"]);

    assert_eq!(proxy.received(), "");
}

#[test]
fn programs_that_are_started_get_no_credential() {
    let home = Home::new();
    home.write("secrets-project.toml", "[branches]\nmain = \"staging\"");
    for program in ["git", "xdg-open"] {
        let path = home.path(&format!("bin/{program}"));
        let script = format!(
            "#!/bin/sh\nenv > \"$HOME/{program}.new\"\nmv \"$HOME/{program}.new\" \"$HOME/{program}\"\n"
        );
        home.write(&format!("bin/{program}"), &script);
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let path =
        format!("{}:{}", home.path("bin").display(), std::env::var_os("PATH").unwrap().display());
    let home = home
        .with("PATH", &path)
        .with("DISPLAY", ":7")
        .with("SECRETS_URL", "https://secrets.example.com")
        .with("SECRETS_TOKEN", TOKEN)
        .with("SECRETS_TOKEN_FILE", "/run/kvc_token");

    for (command, program) in [("open", "git"), ("open", "xdg-open"), ("scan --staged", "git")] {
        let written = home.folder().join(program);
        let _ = std::fs::remove_file(&written);

        // The program may fail, because the other program does nothing but write its environment.
        home.run(&command.split(' ').collect::<Vec<_>>());

        until(|| written.exists());
        let environment = std::fs::read_to_string(written).unwrap();
        assert!(
            environment.contains("DISPLAY=:7") && !environment.contains("kvc_"),
            "{environment}"
        );
    }
}
