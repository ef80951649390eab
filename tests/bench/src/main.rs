//! Benchmark of the service: requests per second, CPU time per request and latency of each
//! operation, compared with minimal servers (limits) and other secrets managers (peers) that are
//! measured in the same run.
//!
//! The load and the servers share the machine, so only ratios of one run mean something. Every
//! round measures each case once, and each number in the report is the median of all rounds.

mod cases;
mod charts;
mod growth;
mod http;
mod inserts;
mod limits;
mod load;
mod operations;
mod report;
mod server;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Error that ends the benchmark.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(about, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    limit: Option<Limit>,
    /// Program to measure, built with `cargo build --release -p secrets-http`
    #[arg(long, default_value = "target/release/secrets-http")]
    program: PathBuf,
    /// Short run, under 90 seconds
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Long run, about 20 minutes with --charts
    #[arg(long)]
    full: bool,
    /// Empty PostgreSQL database; without it, PostgreSQL is not measured
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// URL at which another secrets manager, such as Vault, returns one secret; can be repeated
    #[arg(long = "peer", value_name = "NAME=URL")]
    peers: Vec<String>,
    /// Header with the credential for the other secrets managers (--peer)
    #[arg(long, value_name = "NAME:VALUE")]
    peer_header: Option<String>,
    /// Run only the cases whose name contains this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// File to which the results are written as JSON
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Measure growth curves too, and draw them into this folder (SVG)
    #[arg(long, value_name = "FOLDER")]
    charts: Option<PathBuf>,
}

/// Minimal server to which the service is compared. The benchmark starts itself with this
/// subcommand.
#[derive(Clone, Copy, Subcommand)]
enum Limit {
    /// Minimal server with hyper that returns one secret
    #[command(hide = true)]
    Hyper,
    /// Minimal server with warp that returns one secret or a list of 10,000 secrets
    #[command(hide = true)]
    Warp,
}

/// Number of rounds of a measurement, and the duration of each round.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    warm_up: Duration,
    time: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    match arguments.limit {
        Some(Limit::Hyper) => return limits::hyper().await,
        Some(Limit::Warp) => return limits::warp().await,
        None => {}
    }
    let effort = match (arguments.quick, arguments.full) {
        (true, _) => Effort::of(1, 150, 700),
        (_, true) => Effort::of(5, 300, 2000),
        _ => Effort::of(3, 300, 2000),
    };
    let figures = cases::run(&arguments, effort).await?;
    print!("{}", report::table(&figures));
    let mut curves = Vec::new();
    if let Some(folder) = &arguments.charts {
        curves = growth::run(&arguments.program, effort).await?;
        print!("{}", report::curves(&curves));
        charts::draw(&curves, folder)?;
    }
    if let Some(path) = &arguments.json {
        std::fs::write(path, report::json(&figures, &curves)?)?;
    }
    Ok(())
}

impl Effort {
    fn of(rounds: usize, warm_up: u64, time: u64) -> Self {
        Self { rounds, warm_up: Duration::from_millis(warm_up), time: Duration::from_millis(time) }
    }
}
