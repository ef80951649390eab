//! Benchmark of the command-line program `secrets`: the times of short commands compared with
//! `true` and `curl`, the throughput of `run --mask`, and the size of the program file.
//!
//! ```text
//! cargo build --release -p secrets-http --features client
//! cargo run --release --manifest-path tests/bench/Cargo.toml --bin cli
//! ```

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
    mebibytes: u64,
}

/// Server with one project and 20 secrets. Stops when dropped.
struct Server {
    child: Child,
    url: String,
    token: String,
    _data: tempfile::TempDir,
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
    let export = format!("{}/api/v1/projects/web/environments/staging/secrets/export", server.url);
    let bearer = format!("Authorization: Bearer {}", server.token);
    let program = program.to_string_lossy().into_owned();
    let commands: [(&str, Vec<&str>); 4] = [
        ("true", vec!["true"]),
        ("secrets --version", vec![&program, "--version"]),
        ("curl of the export", vec!["curl", "-sf", "-H", &bearer, &export]),
        ("secrets run -- true", vec![&program, "run", "--", "true"]),
    ];

    let mut times = vec![Vec::new(); commands.len()];
    // The commands take turns, so that a slow phase of the machine affects all of them.
    for _ in 0..arguments.runs {
        for ((_, words), times) in commands.iter().zip(&mut times) {
            times.push(timed(&mut command(words, &server))?);
        }
    }
    let medians: Vec<_> = times.into_iter().map(median).collect();
    for ((name, _), median) in commands.iter().zip(&medians) {
        println!("{name:<22} {:>8.2} ms", median.as_secs_f64() * 1e3);
    }
    println!("--version / true       {:>8.2}", medians[1].as_secs_f64() / medians[0].as_secs_f64());
    let over = medians[3].as_secs_f64() - medians[2].as_secs_f64();
    println!("run - curl             {:>8.2} ms", over * 1e3);
    let size = std::fs::metadata(&program)?.len();
    println!("size                   {:>8.1} MB", size as f64 / 1e6);
    mask(&program, &server, arguments.mebibytes)
}

/// Measures the throughput of copying zeros to a pipe, first by a shell alone and then by the same
/// shell under `run --mask`.
fn mask(program: &str, server: &Server, mebibytes: u64) -> Result<(), Failure> {
    let copy = format!("head -c {mebibytes}M /dev/zero");
    for (name, words) in [
        ("sh alone", vec!["sh", "-c", &copy]),
        ("run --mask", vec![program, "run", "--mask", "--", "sh", "-c", &copy]),
    ] {
        let mut command = command(&words, server);
        // The output goes through a pipe, like the log of a build.
        let started = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut output = child.stdout.take().ok_or("no output")?;
        std::io::copy(&mut output, &mut std::io::sink())?;
        check(child.wait()?.success(), name)?;
        let rate = mebibytes as f64 * 1.048_576 / started.elapsed().as_secs_f64();
        println!("{name:<22} {rate:>8.0} MB/s");
    }
    Ok(())
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
    Ok(Server { child, url, token, _data: data })
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
