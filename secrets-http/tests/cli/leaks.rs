//! Test that runs many commands of a user, and checks that no secret value and no credential
//! appears in files, logs, argument lists or messages.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::json;

use crate::device_login::Waiting;
use crate::home::{Ended, Home, wait};
use crate::server::Server;

/// Secret values that the test searches for. They occur in no other test and in no file of the
/// repository.
struct Canaries(Vec<String>);

impl Canaries {
    fn new(names: &[&str]) -> Self {
        let id = std::process::id();
        Self(names.iter().map(|name| format!("kvc_leak_{id}_{name}")).collect())
    }

    /// True if the bytes contain one of the secret values, as text or in base64.
    fn are_in(&self, bytes: &[u8]) -> bool {
        let bytes = String::from_utf8_lossy(bytes);
        let contains = |text: &str| bytes.contains(text);
        // The last character of Base64 depends on the text that follows.
        let encoded = |text: &str| {
            let length = text.len() / 3 * 3;
            STANDARD_NO_PAD.encode(&text[..length])
        };
        self.0.iter().any(|value| contains(value) || contains(&encoded(value)))
    }

    /// Returns the files below a folder that contain one of the secret values.
    fn files(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                found.extend(self.files(&path));
            } else if kind.is_file() && self.are_in(&fs::read(&path).unwrap_or_default()) {
                found.push(path);
            }
        }
        found
    }
}

/// Thread that searches the argument lists of all processes for the secret values, as often as
/// possible.
struct ArgumentLists {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<Vec<String>>,
}

impl ArgumentLists {
    fn watch(canaries: Canaries) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut found = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                found.extend(all_arguments().into_iter().filter(|list| canaries.are_in(list)));
                thread::sleep(Duration::from_millis(1));
            }
            found.into_iter().map(|list| String::from_utf8_lossy(&list).into_owned()).collect()
        });
        Self { stop, thread }
    }

    fn end(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn all_arguments() -> Vec<Vec<u8>> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    processes
        .filter(|entry| is_process(&entry.file_name().to_string_lossy()))
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .collect()
}

/// Test user whose folders are all in the home folder, and a folder outside of it for files into
/// which the user writes the secret values.
struct Session {
    home: Home,
    outside: tempfile::TempDir,
    canaries: Canaries,
    messages: String,
}

/// Names from which the secret values are made. The user enters the value of the last one in the
/// editor.
const NAMES: [&str; 4] = ["first", "second", "third_value", "edited"];

impl Session {
    fn new() -> Self {
        let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let home = Home::new();
        let below = |name: &str| {
            let path = home.folder().join(name);
            fs::create_dir_all(&path).unwrap();
            path.display().to_string()
        };
        let folders = [
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_RUNTIME_DIR",
            "XDG_STATE_HOME",
            "TMPDIR",
        ]
        .map(|name| (name, below(name)));
        let editor = format!("python3 {}", outside.path().join("editor.py").display());
        let home = folders.iter().fold(home, |home, (name, path)| home.with(name, path));
        let home = home
            .with("SECRETS_EDITOR", &editor)
            .with("OUTSIDE", &outside.path().display().to_string());
        Self { home, outside, canaries: Canaries::new(&NAMES), messages: String::new() }
    }

    fn value(&self, number: usize) -> &str {
        &self.canaries.0[number]
    }

    /// Writes a file to the folder outside of the home folder.
    fn write(&self, name: &str, text: &str) {
        fs::write(self.outside.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.outside.path().join(name)).unwrap()
    }

    /// Runs a command, checks that it ends with this exit code, and remembers its output as
    /// messages to search.
    #[track_caller]
    fn shows(&mut self, code: i32, words: &[&str], input: &str) {
        let Ended { code: actual, stdout, stderr } =
            self.home.run_with(&[&["-v"], words].concat(), input);
        assert_eq!(actual, Some(code), "{words:?}: {stdout}{stderr}");
        self.messages.push_str(&stdout);
        self.messages.push_str(&stderr);
    }

    /// Runs a command whose standard output is data. Returns this data, and remembers only its
    /// standard error as a message to search.
    #[track_caller]
    fn data(&mut self, words: &[&str]) -> String {
        let ended = self.home.run(&[&["-v"], words].concat());
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        self.messages.push_str(&ended.stderr);
        ended.stdout
    }
}

/// Python script that is used as the editor. It stores the argument lists of all processes. In its
/// first run, it enters a new value; in its second run, an invalid line.
const EDITOR: &str = "\
import glob, os, sys
outside = os.environ['OUTSIDE']
with open(outside + '/while-editing', 'wb') as lists:
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            lists.write(open(path, 'rb').read() + b'\\n')
        except OSError:
            pass  # The process has ended.
text = open(sys.argv[1]).read()
old, new = open(outside + '/values').read().split()
open(sys.argv[1], 'w').write(text.replace(old, new) if old in text else text + new + '\\n')
";

#[expect(clippy::too_many_lines, reason = "a session from beginning to end")]
#[test]
fn a_session_leaves_values_and_credentials_nowhere_else() {
    let mut server = Server::start();
    let mut session = Session::new();
    let approver = server.home();
    let [first, second, third, edited] =
        [0, 1, 2, 3].map(|number| session.value(number).to_owned());
    session.write("editor.py", EDITOR);
    session.write("values", &format!("{first} {edited}"));
    let lists = ArgumentLists::watch(Canaries::new(&NAMES));

    // Sign-in and project.
    let waiting =
        Waiting::start(&session.home, &[&server.url, "--no-browser", "--store", "file", "-v"]);
    approver.api("POST", "/auth/cli/approve", &json!({ "user_code": waiting.code }));
    let (code, said) = waiting.end();
    assert_eq!(code, Some(0), "{said}");
    session.messages.push_str(&said);
    session.shows(0, &["project", "create", "Web"], "");
    session.shows(0, &["init", "--project", "web", "--environment", "staging", "--yes"], "");
    let file = session.home.path("secrets-project.toml");
    let offline = "\n[offline]\nmax_age = \"1h\"\nenvironments = [\"staging\"]\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + offline).unwrap();

    // Import of a valid file, and of a file that is refused.
    let document = format!("A={first}\nB=\"{second}\"\n");
    session.shows(0, &["import", "-", "--from", "dotenv", "--dry-run"], &document);
    session.shows(0, &["import", "-", "--from", "dotenv"], &document);
    session.shows(65, &["import", "-", "--from", "dotenv"], &format!("C={third}\n{third} ?\n"));
    session.shows(65, &["import", "-", "--from", "json"], &format!("{{\"C\": {third}}}"));
    session.shows(0, &["set", "C"], &third);
    session.shows(
        1,
        &["import", "-", "--expect-same", "--from", "dotenv"],
        &format!("A={third}\n"),
    );

    // Runs: the program gets the values, and sees the argument lists.
    let script = "cat /proc/[0-9]*/cmdline > \"$OUTSIDE/while-running\" 2> /dev/null; \
                  printenv A > \"$OUTSIDE/got\"";
    session.data(&["run", "--", "sh", "-c", script]);
    assert_eq!(session.read("got"), format!("{first}\n").as_bytes());
    assert_eq!(session.data(&["run", "--mask", "--", "sh", "-c", "echo $A $B"]), "*** ***\n");
    session.data(&[
        "run",
        "--mount",
        "app.env",
        "--",
        "sh",
        "-c",
        "cat app.env > \"$OUTSIDE/got\"",
    ]);
    assert!(session.canaries.are_in(&session.read("got")));
    session.shows(127, &["run", "--", "no-such-program"], "");

    // Reading, comparing, editing, scanning.
    assert_eq!(session.data(&["get", "A"]), first);
    session.shows(0, &["list"], "");
    session.shows(0, &["list", "--all-environments"], "");
    session.shows(1, &["diff", "staging", "production"], "");
    session.shows(1, &["diff", "-", "staging"], &format!("A={second}\n"));
    session.shows(0, &["copy", "--from", "staging", "--to", "production", "A"], "");
    session.shows(0, &["edit"], "");
    assert_eq!(session.data(&["get", "A"]), edited);
    session.shows(65, &["edit"], "");
    session.shows(0, &["history", "A"], "");
    session.shows(0, &["rollback", "A", "--to", "1"], "");
    let lines = format!("password = \"{second}\"\n");
    session.shows(1, &["scan", "--stdin", "--own-values"], &lines);
    session.shows(0, &["scan"], "");
    session.shows(0, &["status"], "");
    session.shows(0, &["check", "A", "B", "C"], "");

    // The service is not running: `run` uses the offline copy, and `list` fails.
    session.data(&["run", "--", "true"]);
    server.kill();
    assert_eq!(session.data(&["run", "--", "printenv", "A"]), format!("{first}\n"));
    session.shows(69, &["list"], "");

    let found = lists.end();
    let credentials = session.home.folder().join("XDG_DATA_HOME/secrets/credentials.toml");
    let text = fs::read_to_string(&credentials).unwrap();
    let token = text.lines().find_map(|line| line.strip_prefix("token = \"")).unwrap();
    let token = Canaries(vec![token.trim_end_matches('"').to_owned()]);
    assert!(token.0[0].starts_with("cli_"), "the token is in the file that is documented");
    for canaries in [&session.canaries, &token] {
        assert!(!canaries.are_in(session.messages.as_bytes()), "{}", session.messages);
        assert!(!canaries.are_in(server.log().as_bytes()), "{}", server.log());
        for name in ["while-running", "while-editing"] {
            let lists = session.read(name);
            let is_complete = String::from_utf8_lossy(&lists).contains("secrets-http\0dev");
            assert!(is_complete, "{name}");
            assert!(!canaries.are_in(&lists), "{name}");
        }
    }
    assert_eq!(found, Vec::<String>::new());
    // The search works: it finds the values in the folder outside of the home folder.
    assert_eq!(session.canaries.files(session.outside.path()).len(), 2);
    for folder in [session.home.folder(), Path::new("/dev/shm")] {
        assert_eq!(session.canaries.files(folder), Vec::<PathBuf>::new());
    }
    assert_eq!(token.files(session.home.folder()), std::slice::from_ref(&credentials));
    assert_eq!(fs::metadata(&credentials).unwrap().permissions().mode() & 0o7777, 0o600);
    let copies = session.home.folder().join("XDG_STATE_HOME/secrets/copies");
    assert!(copies.exists(), "the session has left an encrypted copy");
}

#[test]
fn argument_lists_with_a_value_are_found() {
    let canaries = Canaries::new(&["in_an_argument"]);
    let value = canaries.0[0].clone();
    let home = Home::new();
    let mut command = home.program("sh", ["-c", "read line", "sh", &value]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();

    let found = all_arguments().iter().any(|list| canaries.are_in(list));

    drop(child.stdin.take());
    wait(&mut child);
    assert!(found);
}
