//! Benchmark of the command-line program `secrets`: times of commands compared with `true` and
//! `curl`, the throughput of `run --mask`, delays of `run`, the scan of a long Git history, and the
//! size of the program file. `docs/performance.md` describes it.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Parser;

/// Error that ends the benchmark.
type Failure = Box<dyn std::error::Error>;

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// Command-line program to measure
    #[arg(long, default_value = "target/release/secrets")]
    program: PathBuf,
    /// Program of the server that the commands call
    #[arg(long, default_value = "target/release/secrets-http")]
    server: PathBuf,
    /// Number of runs of each command
    #[arg(long, default_value_t = 50)]
    runs: usize,
    /// Number of MiB that `run --mask` copies
    #[arg(long, default_value_t = 1_024)]
    mebibytes: usize,
    /// Number of commits that `scan --history` reads
    #[arg(long, default_value_t = 10_000)]
    commits: usize,
}

/// Running secrets server with one project and 20 secrets. Stops when dropped.
struct Server {
    child: Child,
    url: String,
    token: String,
    data: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let program = arguments.program.canonicalize()?;
    let server = start(&arguments.server)?;
    fill(&program, &server)?;
    let home = sign_in(&program, &server)?;
    let program = program.to_str().ok_or("the path of the program is not UTF-8")?;
    let size = fs::metadata(program)?.len();
    println!("{:<34} {:>8.1} MB", "size of the program", size as f64 / 1e6);

    short_commands(program, &server, &home, arguments.runs)?;
    signals(program, &server)?;
    outages(program, &server, &home)?;
    restarts(program, &server)?;
    history(program, &home, arguments.commits)?;
    mask(program, &server, arguments.mebibytes)
}

fn print(name: &str, time: Duration) {
    println!("{name:<34} {:>8.2} ms", time.as_secs_f64() * 1e3);
}

const SIGNED_IN: &str = "run of a signed-in user";
const WITH_COPY: &str = "the same, with an offline copy (304)";

/// Measures commands that take milliseconds: the median of many runs.
fn short_commands(
    program: &str,
    server: &Server,
    home: &Path,
    runs: usize,
) -> Result<(), Failure> {
    let export = format!("{}/api/v1/projects/web/environments/staging/secrets/export", server.url);
    let bearer = format!("Authorization: Bearer {}", server.token);
    // Commands of the signed-in user, with the setting for offline copies.
    let offline = |name: &str| match name {
        SIGNED_IN => Some("off"),
        WITH_COPY => Some("on"),
        _ => None,
    };
    let commands: [(&str, Vec<&str>); 6] = [
        ("true", vec!["true"]),
        ("secrets --version", vec![program, "--version"]),
        ("curl of the export", vec!["curl", "-sf", "-H", &bearer, &export]),
        ("secrets run -- true", vec![program, "run", "--", "true"]),
        (SIGNED_IN, vec![program, "run", "--", "true"]),
        (WITH_COPY, vec![program, "run", "--", "true"]),
    ];

    let mut times = vec![Vec::new(); commands.len()];
    // The commands take turns, so that a slow phase of the machine affects all of them.
    for _ in 0..runs {
        for ((name, words), times) in commands.iter().zip(&mut times) {
            let time = match offline(name) {
                Some(mode) => timed(signed_in(words, home).env("SECRETS_OFFLINE", mode)),
                None => timed(&mut command(words, server)),
            };
            times.push(time?);
        }
    }
    let medians: Vec<_> = times.into_iter().map(median).collect();
    for ((name, _), median) in commands.iter().zip(&medians) {
        print(name, *median);
    }
    let ratio = medians[1].as_secs_f64() / medians[0].as_secs_f64();
    println!("{:<34} {ratio:>8.2}", "--version / true");
    print("run - curl", medians[3].saturating_sub(medians[2]));
    Ok(())
}

/// Measures the time from SIGTERM to the end of a supervised program.
fn signals(program: &str, server: &Server) -> Result<(), Failure> {
    let mut times = Vec::new();
    for _ in 0..20 {
        let words = [program, "run", "--mask", "--", "sh", "-c", "echo ready; exec sleep 100"];
        let mut child = command(&words, server).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut String::new())?;
        let began = Instant::now();
        check(send("-TERM", child.id())?, "kill")?;
        child.wait()?;
        times.push(began.elapsed());
    }
    print("SIGTERM until all have ended", median(times));
    Ok(())
}

/// Measures `run` with an offline copy while the service is silent, and `login` while the session
/// bus, which connects to the keychain, is silent.
fn outages(program: &str, server: &Server, home: &Path) -> Result<(), Failure> {
    check(send("-STOP", server.child.id())?, "kill")?;
    let waited = timed(&mut signed_in(&[program, "run", "--", "true"], home));
    check(send("-CONT", server.child.id())?, "kill")?;
    print("run with a silent service", waited?);

    let socket = home.join("bus");
    // Accepts connections, and never responds.
    let _silent = UnixListener::bind(&socket)?;
    let address = format!("unix:path={}", socket.display());
    let token = home.join("token");
    fs::write(&token, &server.token)?;
    // Uses another home folder, so that the stored credential stays.
    let other = server.data.path().join("other");
    fs::create_dir(&other)?;
    let mut login = signed_in(&[program, "login", &server.url, "--token-stdin"], &other);
    login.env("DBUS_SESSION_BUS_ADDRESS", address).stdin(fs::File::open(token)?);
    print("login with a silent keychain", timed(login.stderr(Stdio::null()))?);
    Ok(())
}

/// Counts how often `run --watch` starts a program during 100 changes.
fn restarts(program: &str, server: &Server) -> Result<(), Failure> {
    let starts = server.data.path().join("starts");
    let script = format!("echo >> '{}'; exec sleep 1000", starts.display());
    let words = [program, "run", "--watch", "--", "sh", "-c", &script];
    let mut child = command(&words, server).spawn()?;
    let count = || fs::read_to_string(&starts).unwrap_or_default().lines().count();
    while count() == 0 {
        sleep(Duration::from_millis(10));
    }
    // The watch of the environment has begun by then.
    sleep(Duration::from_secs(2));
    let before = count();
    for number in 0..100 {
        let value = format!("KEY_1=kvc_next_{number}");
        timed(&mut command(&[program, "-q", "set", &value], server))?;
    }
    sleep(Duration::from_secs(5));
    println!("{:<34} {:>8}", "restarts for 100 changes", count() - before);
    check(send("-TERM", child.id())?, "kill")?;
    child.wait()?;
    Ok(())
}

/// Measures the scan of a Git history.
fn history(program: &str, home: &Path, commits: usize) -> Result<(), Failure> {
    let folder = home.join("repository");
    check(Command::new("git").args(["init", "-q"]).arg(&folder).status()?.success(), "git init")?;
    let mut git = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .spawn()?;
    let mut text = String::new();
    for number in 0..commits {
        let line = format!("let setting_{number} = \"value {number}\";\n").repeat(20);
        write!(
            text,
            "commit refs/heads/main\ncommitter A <a@example.com> {number} +0000\ndata 1\nx\n\
             M 644 inline file_{}\ndata {}\n{line}\n",
            number % 100,
            line.len(),
        )?;
    }
    git.stdin.take().ok_or("no input")?.write_all(text.as_bytes())?;
    check(git.wait()?.success(), "git fast-import")?;
    let mut scan = signed_in(&[program, "scan", "--history"], home);
    let time = timed(scan.current_dir(&folder).stderr(Stdio::null()))?;
    print(&format!("scan of {commits} commits"), time);
    Ok(())
}

/// Measures the throughput of copying to a pipe, first by a shell alone and then by the same shell
/// under `run --mask`: of zeros, and of a log that contains the beginnings of values.
fn mask(program: &str, server: &Server, mebibytes: usize) -> Result<(), Failure> {
    let log = server.data.path().join("log");
    let line = "2026-01-01T00:00:00Z INFO kvc_value_ key kvc_ value kvc_value_100 of KEY_1 is set\n";
    fs::write(&log, line.repeat((16 << 20) / line.len()))?;
    let zeros = format!("head -c {mebibytes}M /dev/zero");
    let logs = format!("for i in $(seq {}); do cat '{}'; done", mebibytes / 16, log.display());
    for (name, script) in [("zeros", zeros), ("a log", logs)] {
        for (how, words) in [
            ("sh alone", vec!["sh", "-c", &script]),
            ("run --mask", vec![program, "run", "--mask", "--", "sh", "-c", &script]),
        ] {
            // The output goes through a pipe, like the log of a build.
            let started = Instant::now();
            let mut child = command(&words, server).stdout(Stdio::piped()).spawn()?;
            let mut output = child.stdout.take().ok_or("no output")?;
            let bytes = std::io::copy(&mut output, &mut std::io::sink())?;
            check(child.wait()?.success(), name)?;
            let rate = bytes as f64 / 1e6 / started.elapsed().as_secs_f64();
            println!("{:<34} {rate:>8.0} MB/s", format!("{name}, {how}"));
        }
    }
    Ok(())
}

/// Signs a user in with a device login, and enables offline copies of the environment. Returns the
/// home folder of the user, which is also the working folder.
fn sign_in(program: &Path, server: &Server) -> Result<PathBuf, Failure> {
    let home = server.data.path().join("home");
    fs::create_dir(&home)?;
    let program = program.to_string_lossy();
    let words = [program.as_ref(), "login", &server.url, "--no-browser", "--store", "file"];
    let mut login = signed_in(&words, &home).stderr(Stdio::piped()).spawn()?;
    let mut said = BufReader::new(login.stderr.take().ok_or("no output")?).lines();
    let code = loop {
        let line = said.next().ok_or("`secrets login` printed no code")??;
        if line.starts_with("    ") {
            break line.trim().to_owned();
        }
    };
    let field = format!("-fuser_code={code}");
    timed(&mut command(&[&program, "api", "POST", "auth/cli/approve", &field], server))?;
    // Read to the end: a closed pipe would end the program.
    for line in said {
        line?;
    }
    check(login.wait()?.success(), "secrets login")?;
    let file = format!(
        "server = \"{}\"\nproject = \"web\"\nenvironment = \"staging\"\n\
         [offline]\nmax_age = \"1h\"\nenvironments = [\"staging\"]\n",
        server.url
    );
    fs::write(home.join("secrets-project.toml"), file)?;
    // Creates the offline copy.
    timed(&mut signed_in(&[&program, "run", "--", "true"], &home))?;
    Ok(home)
}

/// Returns a command that runs with the stored credential of the user, in the home folder.
fn signed_in(words: &[&str], home: &Path) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HOME", home).current_dir(home).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Sends a signal to a process.
fn send(signal: &str, id: u32) -> Result<bool, Failure> {
    Ok(Command::new("kill").args([signal, &id.to_string()]).status()?.success())
}

fn start(program: &Path) -> Result<Server, Failure> {
    let data = tempfile::tempdir()?;
    let mut child = Command::new(program)
        .args(["dev", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data.path().join("data"))
        .envs([("SECRETS_RATE_LIMIT_PER_IP", "0"), ("SECRETS_RATE_LIMIT_PER_PRINCIPAL", "0")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (mut url, mut token) = (None, None);
    for line in BufReader::new(child.stdout.take().ok_or("no output")?).lines() {
        let line = line?;
        url = url.or(line.strip_prefix("export SECRETS_URL=").map(str::to_owned));
        token = token.or(line.strip_prefix("export SECRETS_TOKEN=").map(str::to_owned));
        if token.is_some() {
            break;
        }
    }
    let (url, token) = (url.ok_or("the server did not start")?, token.ok_or("no token")?);
    Ok(Server { child, url, token, data })
}

fn fill(program: &Path, server: &Server) -> Result<(), Failure> {
    let program = program.to_string_lossy();
    let secrets = "projects/web/environments/staging/secrets";
    let mut calls = vec![vec!["api".to_owned(), "POST".into(), "projects".into(), "-fname=Web".into()]];
    calls.extend((0..20).map(|number| {
        let fields = [format!("-fkey=KEY_{number}"), format!("-fvalue=kvc_value_{number}")];
        ["api", "POST", secrets].map(str::to_owned).into_iter().chain(fields).collect()
    }));
    for call in calls {
        let mut words = vec![program.as_ref()];
        words.extend(call.iter().map(String::as_str));
        timed(&mut command(&words, server))?;
    }
    Ok(())
}

fn command(words: &[&str], server: &Server) -> Command {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env("SECRETS_URL", &server.url)
        .env("SECRETS_TOKEN", &server.token)
        .env("SECRETS_PROJECT", "web")
        .env("SECRETS_ENVIRONMENT", "staging")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn timed(command: &mut Command) -> Result<Duration, Failure> {
    let started = Instant::now();
    let status = command.status()?;
    check(status.success(), &format!("{:?}", command.get_program()))?;
    Ok(started.elapsed())
}

fn check(succeeded: bool, name: &str) -> Result<(), Failure> {
    if succeeded { Ok(()) } else { Err(format!("{name} failed").into()) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
