//! Growth curves: the cost of an operation as its data or its clients grow.

use std::path::Path;
use std::sync::Arc;

use hyper::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::cases::median;
use crate::http::{Call, Connection};
use crate::load::{self, Sample, Work};
use crate::server::{Account, Server, key, secret};
use crate::{Effort, Failure};

/// Number of connections, unless their number grows.
const CONNECTIONS: u64 = 16;

/// Growth curve: the cost of a request, by the size of the data or the number of clients.
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    /// Name of the items that are counted as the size, such as `secrets`.
    pub(crate) unit: &'static str,
    /// Name of the measured value, with its unit.
    pub(crate) measure: &'static str,
    /// Points of the curve: the size, and the measured value.
    pub(crate) points: Vec<(u64, f64)>,
}

impl Curve {
    /// Returns a curve of the CPU time of the server per request, in microseconds.
    fn of_cpu_time(name: &'static str, unit: &'static str, points: Vec<(u64, f64)>) -> Self {
        Self { name, unit, measure: "CPU time, µs", points }
    }
}

/// Measures all curves, with a service on SQLite.
pub(crate) async fn run(program: &Path, effort: Effort) -> Result<Vec<Curve>, Failure> {
    Ok(vec![
        by_secrets_of_others(program, effort).await?,
        by_secrets_of_the_environment(program, effort).await?,
        by_depth(program, effort).await?,
        by_versions(program, effort).await?,
        by_teams(program, effort).await?,
        by_tokens(program, effort).await?,
        by_connections(program, effort).await?,
    ])
}

/// Measures the read of a secret while the database grows to 100,000 secrets in other environments.
async fn by_secrets_of_others(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let account = Account::new(&server).await?;
    account.import("development", 0..10).await?;
    let path = format!("{}/{}", account.secrets("development"), key(7));
    let mut points = Vec::new();
    let mut total = 10;
    for size in [10, 1_000, 10_000, 100_000] {
        while total < size {
            let name = format!("others-{total}");
            account.environment(&name, None).await?;
            let number = (size - total).min(10_000);
            account.import(&name, 0..number).await?;
            total += number;
        }
        points.push((size, cpu(&server, &account, path.clone(), "postgres://", effort).await?));
    }
    Ok(Curve::of_cpu_time("read, by secrets in the database", "secrets", points))
}

/// Measures the export of an environment while the environment grows from 10 to 10,000 secrets. The
/// CPU time is per secret.
async fn by_secrets_of_the_environment(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let account = Account::new(&server).await?;
    let path = format!("{}/export", account.secrets("development"));
    let mut points = Vec::new();
    let mut total = 0;
    for size in [10, 100, 1_000, 10_000] {
        account.import("development", total..size).await?;
        total = size;
        let all = cpu(&server, &account, path.clone(), "KEY_000009", effort).await?;
        points.push((size, all / size as f64));
    }
    Ok(Curve::of_cpu_time("export, per secret, by secrets of the environment", "secrets", points))
}

/// Measures the read of an inherited secret while the chain of environments grows from 1 to 16, the
/// maximum.
async fn by_depth(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let account = Account::new(&server).await?;
    let mut parent = account.environment("depth-1", None).await?;
    account.import("depth-1", 0..100).await?;
    let mut points = Vec::new();
    for depth in 1..=16 {
        let name = format!("depth-{depth}");
        if depth > 1 {
            parent = account.environment(&name, Some(&parent)).await?;
        }
        if [1, 2, 4, 8, 16].contains(&depth) {
            let path = format!("{}/{}", account.secrets(&name), key(7));
            points.push((depth, cpu(&server, &account, path, "postgres://", effort).await?));
        }
    }
    Ok(Curve::of_cpu_time("read of an inherited secret, by depth", "environments", points))
}

/// Measures the read of a secret while the secret grows from 1 version to 100, the limit of the plan.
async fn by_versions(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let account = Account::new(&server).await?;
    account.import("development", 0..10).await?;
    let path = format!("{}/{}", account.secrets("development"), key(7));
    let update = Call::send(Method::PUT, path.clone(), &account.token, &secret(&key(7)));
    let (mut points, mut version) = (Vec::new(), 1);
    for versions in [1, 10, 100] {
        for _ in version..versions {
            Connection::open(server.address).await?.json(&update).await?;
        }
        version = versions;
        points.push((versions, cpu(&server, &account, path.clone(), "postgres://", effort).await?));
    }
    Ok(Curve::of_cpu_time("read, by versions of the secret", "versions", points))
}

/// Measures the read of a secret while the service grows to 10,000 teams, each with a project and a
/// service token.
async fn by_teams(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Arc::new(Server::service("SQLite", program, "")?);
    let account = Account::new(&server).await?;
    account.import("development", 0..10).await?;
    let path = format!("{}/{}", account.secrets("development"), key(7));
    let (mut points, mut total) = (Vec::new(), 1);
    for teams in [10, 100, 1_000, 10_000] {
        let service = server.clone();
        repeat(total..teams, move |number| {
            let server = service.clone();
            async move { Account::of(&server, &format!("other-{number}")).await.map(drop) }
        })
        .await?;
        total = teams;
        points.push((teams, cpu(&server, &account, path.clone(), "postgres://", effort).await?));
    }
    Ok(Curve::of_cpu_time("read, by teams", "teams", points))
}

/// Measures the read of a secret while the account grows to 100,000 service tokens.
async fn by_tokens(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let account = Account::new(&server).await?;
    account.import("development", 0..10).await?;
    let path = format!("{}/{}", account.secrets("development"), key(7));
    let new = json!({ "name": "other", "all_projects": true, "permissions": ["read"] });
    let create = Call::send(Method::POST, "/api/v1/tokens", &account.jwt, &new);
    let (mut points, mut total, address) = (Vec::new(), 1, server.address);
    for tokens in [10, 1_000, 10_000, 100_000] {
        let create = create.clone();
        repeat(total..tokens, move |_| {
            let create = create.clone();
            async move { Connection::open(address).await?.json(&create).await.map(drop) }
        })
        .await?;
        total = tokens;
        points.push((tokens, cpu(&server, &account, path.clone(), "postgres://", effort).await?));
    }
    Ok(Curve::of_cpu_time("read, by service tokens of the account", "tokens", points))
}

/// Measures the rate of reads while the number of connections grows from 1 to 256.
async fn by_connections(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let account = Account::new(&server).await?;
    account.import("development", 0..10).await?;
    let path = format!("{}/{}", account.secrets("development"), key(7));
    let mut points = Vec::new();
    for connections in [1, 4, 16, 64, 256] {
        let work = reading(&account, path.clone(), "postgres://", connections);
        points.push((connections, measure(&server, work, effort, |sample| sample.rate).await?));
    }
    Ok(Curve {
        name: "read, by connections",
        unit: "connections",
        measure: "reads per second",
        points,
    })
}

/// Runs an action for each number, [`CONNECTIONS`] at a time.
async fn repeat<F>(numbers: std::ops::Range<u64>, action: impl Fn(u64) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for number in numbers {
        if running.len() as u64 == CONNECTIONS
            && let Some(done) = running.join_next().await
        {
            done??;
        }
        running.spawn(action(number));
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}

/// Returns the CPU time of a read, in microseconds.
async fn cpu(
    server: &Server,
    account: &Account,
    path: String,
    text: &'static str,
    effort: Effort,
) -> Result<f64, Failure> {
    let work = reading(account, path, text, CONNECTIONS);
    measure(server, work, effort, |sample| sample.cpu).await
}

fn reading(account: &Account, path: String, text: &'static str, connections: u64) -> Work {
    let token = account.token.clone();
    crate::cases::reading(connections, text, move |_| Call::get(path.clone(), &token))
}

/// Returns the median of a measured value over all rounds.
async fn measure(
    server: &Server,
    work: Work,
    effort: Effort,
    value: fn(Sample) -> f64,
) -> Result<f64, Failure> {
    let (work, numbers) = (Arc::new(work), Arc::default());
    let mut values = Vec::new();
    for _ in 0..effort.rounds {
        let run = load::run(server, &work, &numbers, effort.warm_up, effort.time);
        values.push(value(run.await?));
    }
    Ok(median(values))
}
