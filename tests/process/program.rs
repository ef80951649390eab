//! Server program `secrets-http` as a child process. Its log is written to a file, which the test
//! runner searches for secret values.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrets_core::model::{ProjectId, ids};
use secrets_core::store::{self, SealedColumn};
use secrets_core::testing::fixtures::project_rows;
use secrets_tests::{Client, Person, paths, until};
use serde_json::json;

use crate::ordinary_user::OrdinaryUser;

/// Command that runs the server program, or the program `secrets`.
pub(crate) struct Program {
    command: Command,
    name: String,
}

/// Running server program, killed when dropped.
pub(crate) struct Running {
    child: Child,
    /// Thread that copies the log to its file. Ends with the program.
    log: Option<JoinHandle<()>>,
    /// Address on which the program listens.
    pub(crate) address: SocketAddr,
}

/// Exit code and output of a program that has ended by itself.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// HMAC secret that signs the identity tokens of the tests. The tested programs accept tokens that
/// are signed with it.
pub(crate) const ISSUER_SECRET: &str = "a secret of the test suite, of 32 bytes or more";

/// Creates an empty folder with this name in `target/test/data`, which the test runner searches for
/// secret values.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = target().join("test/data").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns a root key, all of whose bytes have this value, in the format of the configuration.
pub(crate) fn root_key(byte: u8) -> String {
    STANDARD.encode([byte; 32])
}

/// Creates an identity token for the user with this name, from the issuer that the tested programs
/// trust.
pub(crate) fn jwt(name: &str) -> String {
    jwt_of("https://issuer.test", name)
}

/// Creates an identity token with this issuer, signed with [`ISSUER_SECRET`].
pub(crate) fn jwt_of(issuer: &str, name: &str) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let claims = json!({
        "iss": issuer, "aud": "secrets", "sub": name, "exp": now + 3600,
        "email": format!("{name}@example.com"), "email_verified": true,
    });
    let key = jsonwebtoken::EncodingKey::from_secret(ISSUER_SECRET.as_bytes());
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap()
}

fn target() -> PathBuf {
    // .../target/debug/deps/process-…
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_owned()
}

/// Returns the folder that contains the programs built by the test runner.
pub(crate) fn programs() -> PathBuf {
    target().join("debug")
}

impl Program {
    /// Creates a command that runs the server program with these arguments and no environment
    /// variables. `name` is the name of the log file.
    pub(crate) fn new(name: &str, arguments: &[&str]) -> Self {
        Self::of(Command::new(programs().join("secrets-http")), name, arguments)
    }

    /// Creates a command that runs the program `secrets`, the command line, with these arguments and
    /// no environment variables except for the home folder, which is the folder of the test. `name`
    /// is the name of the log file and of the folder.
    pub(crate) fn command_line(name: &str, arguments: &[&str]) -> Self {
        let home = target().join("test/data").join(name);
        Self::of(Command::new(programs().join("secrets")), name, arguments)
            .with("HOME", home.to_str().unwrap())
    }

    /// Creates a command that runs the server program as an ordinary user, with these arguments and
    /// no environment variables. `name` is the name of the log file.
    pub(crate) fn of_user(user: &OrdinaryUser, name: &str, arguments: &[&str]) -> Self {
        Self::of(user.command(user.program()), name, arguments)
    }

    fn of(mut command: Command, name: &str, arguments: &[&str]) -> Self {
        command.args(arguments).env_clear().stdin(Stdio::null());
        Self { command, name: name.to_owned() }
    }

    /// Creates a command that runs `secrets-http serve` with all required settings and an SQLite
    /// database in this file. `name` is the name of the log file.
    pub(crate) fn serve(name: &str, database: &Path) -> Self {
        Self::configured(name, "serve", database)
    }

    /// Creates a command that runs this subcommand of the server program, such as `serve`, with all
    /// settings that `serve` requires.
    pub(crate) fn configured(name: &str, command: &str, database: &Path) -> Self {
        Self::new(name, &[command])
            .with("SECRETS_LISTEN", "127.0.0.1:0")
            .with("SECRETS_DATABASE_URL", &format!("sqlite://{}", database.display()))
            .with("SECRETS_ROOT_KEY", &root_key(7))
            .with("SECRETS_JWT_ISSUER", "https://issuer.test")
            .with("SECRETS_JWT_AUDIENCE", "secrets")
            .with("SECRETS_JWT_HS256_SECRET", ISSUER_SECRET)
            .with("SECRETS_RATE_LIMIT_PER_IP", "0")
            .with("SECRETS_RATE_LIMIT_PER_PRINCIPAL", "0")
            .with("SECRETS_LOG", "debug")
    }

    /// Makes the program ignore the signal SIGXFSZ, so that writes beyond the file size limit that
    /// [`Running::fill_disk`] sets fail like writes to a full disk.
    pub(crate) fn ignoring_full_disk(self) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).env_clear();
        command.arg(self.command.get_program()).args(self.command.get_args());
        for (variable, value) in self.command.get_envs() {
            if let Some(value) = value {
                command.env(variable, value);
            }
        }
        command.stdin(Stdio::null());
        Self { command, name: self.name }
    }

    /// Sets an environment variable of the program.
    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self
    }

    /// Removes an environment variable of the program.
    pub(crate) fn without(mut self, variable: &str) -> Self {
        self.command.env_remove(variable);
        self
    }

    /// Starts the program, waits until it listens, and returns the running program.
    #[track_caller]
    pub(crate) fn start(mut self) -> Running {
        let mut child = self.command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut log = log_file(&self.name);
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {:?}", child.wait());
            log.write_all(line.as_bytes()).unwrap();
            if let Some((_, address)) = line.trim().split_once("listening on http://") {
                break address.parse().unwrap();
            }
        };
        let log = std::thread::spawn(move || drop(std::io::copy(&mut lines, &mut log)));
        Running { child, log: Some(log), address }
    }

    /// Starts the program and returns its standard output as a stream. Its log is discarded.
    pub(crate) fn pipe(mut self) -> (Child, ChildStdout) {
        let child = self.command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        let printed = child.stdout.take().unwrap();
        (child, printed)
    }

    /// Runs the program until it ends, and returns its result.
    pub(crate) fn run(mut self) -> Ended {
        let output = self.command.output().unwrap();
        log_file(&self.name).write_all(&output.stderr).unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Running {
    /// Creates an HTTP client of the program that sends this credential.
    pub(crate) fn bearer(&self, credential: &str) -> Client {
        Client::new(self.address, Some(credential))
    }

    /// Signs in the user with this name, and returns the user with an HTTP client.
    pub(crate) async fn person(&self, name: &str) -> Person {
        let client = self.bearer(&jwt(name));
        let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
        Person::new(client, &user)
    }

    /// Makes every write of the program to a file fail, as on a full disk, or succeed again. The
    /// program must have been started by [`Program::ignoring_full_disk`].
    pub(crate) fn fill_disk(&self, is_full: bool) {
        let size = if is_full { "--fsize=0:" } else { "--fsize=unlimited:" };
        let id = self.child.id().to_string();
        assert!(Command::new("prlimit").args(["--pid", &id, size]).status().unwrap().success());
    }

    /// Kills the program with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM to the program and waits for its end, but not longer than `patience`. Returns
    /// the exit status.
    pub(crate) fn terminate(&mut self, patience: Duration) -> ExitStatus {
        self.stop();
        self.wait(patience)
    }

    /// Sends SIGTERM to the program.
    pub(crate) fn stop(&self) {
        self.signal("-TERM");
    }

    /// Stops the program with SIGSTOP, and waits until each of its threads has stopped. A thread
    /// completes a running system call first, for example a write to a file.
    pub(crate) async fn freeze(&self) {
        self.signal("-STOP");
        until("each thread has stopped", async || self.is_stopped()).await;
    }

    /// Lets the stopped program continue, with SIGCONT.
    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    /// Whether the kernel reports each thread as stopped, see `/proc/PID/stat` in proc(5).
    fn is_stopped(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        threads.map(|thread| thread.unwrap().path().join("stat")).all(|stat| {
            // A thread that has ended has no file.
            let Ok(stat) = fs::read_to_string(stat) else { return true };
            let (_, after_name) = stat.rsplit_once(')').unwrap();
            after_name.trim_start().starts_with('T')
        })
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for the end of the program, but not longer than `patience`. Returns the exit status.
    pub(crate) fn wait(&mut self, patience: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // The log file is complete when this function returns.
                if let Some(log) = self.log.take() {
                    log.join().unwrap();
                }
                return status;
            }
            assert!(began.elapsed() < patience, "the program did not stop in time");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of the log file with this name.
pub(crate) fn log_path(name: &str) -> PathBuf {
    target().join("test/logs").join(format!("{name}.log"))
}

/// Opens the log file with this name for appending. Creates it if it is missing.
pub(crate) fn log_file(name: &str) -> File {
    let path = log_path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::options().create(true).append(true).open(path).unwrap()
}

/// Runs SQL statements on an SQLite database file. No program may have the file open.
pub(crate) async fn sql(database: &Path, text: &'static str) {
    use sqlx::Connection as _;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(database).foreign_keys(false);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// Returns the number of current and previous values in a project that are encrypted with this
/// version of the project key.
pub(crate) async fn records(url: &str, project: &str, version: u32) -> usize {
    let store = store::open_shared(&url.parse().unwrap()).await.unwrap();
    let mut reads = store.read().await.unwrap();
    let project = ProjectId::from(ids::parse(paths::last(project)).unwrap());
    let mut number = 0;
    for column in [SealedColumn::Value, SealedColumn::PreviousValue] {
        number += project_rows(&mut *reads, column, (project, version)).await.len();
    }
    number
}

/// Waits until the server program has stopped at this failpoint (a place in the code at which it
/// stops on request), as its log file `name` shows.
pub(crate) async fn stopped_at(name: &str, failpoint: &str) {
    let line = format!("failpoint {failpoint}");
    let is_logged = |log: String| log.lines().any(|it| it == line);
    until(&line, async || fs::read_to_string(log_path(name)).is_ok_and(is_logged)).await;
}
