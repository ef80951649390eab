//! Growth curves: the CPU time of an operation as its data grows.

use std::path::Path;
use std::sync::Arc;

use hyper::StatusCode;

use crate::http::Call;
use crate::load::{self, Work};
use crate::server::{Account, Server, key};
use crate::{Effort, Failure};

/// Growth curve: the CPU time of the server per request, by the size of the data.
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    /// Name of the items that are counted as the size, such as `secrets`.
    pub(crate) unit: &'static str,
    /// Points of the curve: the size, and the CPU time per request in microseconds.
    pub(crate) points: Vec<(usize, f64)>,
}

/// Measures all curves, with a service on SQLite.
pub(crate) async fn run(program: &Path, effort: Effort) -> Result<Vec<Curve>, Failure> {
    Ok(vec![
        by_secrets_of_others(program, effort).await?,
        by_secrets_of_the_environment(program, effort).await?,
        by_depth(program, effort).await?,
    ])
}

/// Measures the read of a secret while the database grows to 100,000 secrets in other environments.
async fn by_secrets_of_others(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let mut account = Account::new(&server).await?;
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
    Ok(Curve { name: "read, by secrets in the database", unit: "secrets", points })
}

/// Measures the export of an environment while the environment grows from 10 to 10,000 secrets. The
/// CPU time is per secret.
async fn by_secrets_of_the_environment(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let mut account = Account::new(&server).await?;
    let path = format!("{}/export", account.secrets("development"));
    let mut points = Vec::new();
    let mut total = 0;
    for size in [10, 100, 1_000, 10_000] {
        account.import("development", total..size).await?;
        total = size;
        let all = cpu(&server, &account, path.clone(), "KEY_000009", effort).await?;
        points.push((size, all / size as f64));
    }
    Ok(Curve { name: "export, per secret, by secrets of the environment", unit: "secrets", points })
}

/// Measures the read of an inherited secret while the chain of parent environments grows from 1 to
/// 10 environments.
async fn by_depth(program: &Path, effort: Effort) -> Result<Curve, Failure> {
    let server = Server::service("SQLite", program, "")?;
    let mut account = Account::new(&server).await?;
    let mut parent = account.environment("depth-1", None).await?;
    account.import("depth-1", 0..100).await?;
    let mut points = Vec::new();
    for depth in 1..=10 {
        let name = format!("depth-{depth}");
        if depth > 1 {
            parent = account.environment(&name, Some(&parent)).await?;
        }
        if [1, 2, 4, 8, 10].contains(&depth) {
            let path = format!("{}/{}", account.secrets(&name), key(7));
            points.push((depth, cpu(&server, &account, path, "postgres://", effort).await?));
        }
    }
    Ok(Curve { name: "read of an inherited secret, by depth", unit: "environments", points })
}

async fn cpu(
    server: &Server,
    account: &Account,
    path: String,
    text: &'static str,
    effort: Effort,
) -> Result<f64, Failure> {
    let token = account.token.clone();
    let call = Box::new(move |_| Call::get(path.clone(), &token));
    let work = Arc::new(Work { call, status: StatusCode::OK, text, connections: 16 });
    let (mut cpu, numbers) = (Vec::new(), Arc::default());
    for _ in 0..effort.rounds {
        let run = load::run(server, &work, &numbers, effort.warm_up, effort.time);
        cpu.push(run.await?.cpu);
    }
    Ok(crate::cases::median(cpu))
}
