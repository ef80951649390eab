//! Cases of the benchmark: the operations of the service on each store, the unavoidable part of their
//! work (called limits), and other secrets managers (called peers).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyper::StatusCode;

use crate::http::Call;
use crate::inserts::Inserts;
use crate::load::{self, Sample, Work};
use crate::server::Server;
use crate::{Arguments, Effort, Failure, operations};

/// Name of the case that measures a minimal server with one secret. Results of requests about one
/// secret are compared with its result.
pub(crate) const LIMIT: &str = "one secret, serialized";
/// Name of the case that measures a minimal server with a list. Results of requests for lists are
/// compared with its result.
pub(crate) const LIST_LIMIT: &str = "list of 10,000, serialized";
/// Number of concurrent connections in cases with small responses.
pub(crate) const CONNECTIONS: u64 = 64;
/// Number of concurrent connections in cases with large responses.
pub(crate) const FEW_CONNECTIONS: u64 = 16;

/// Result of one case of the benchmark. The numbers in `sample` are medians over all rounds.
pub(crate) struct Figures {
    pub(crate) server: String,
    pub(crate) case: String,
    pub(crate) sample: Sample,
    /// Resident memory of the server after the last round, in bytes.
    pub(crate) memory: u64,
}

/// Case of the benchmark: requests to send to a server.
struct Case {
    server: Arc<Server>,
    name: &'static str,
    work: Arc<Work>,
    numbers: Arc<AtomicU64>,
}

/// Measures all cases. Every round measures each case once, so that a slow moment of the machine
/// affects all cases.
pub(crate) async fn run(arguments: &Arguments, effort: Effort) -> Result<Vec<Figures>, Failure> {
    let mut cases = limit_cases()?;
    let mut databases = vec![("memory", "memory:"), ("SQLite", "")];
    databases.extend(arguments.postgres.as_deref().map(|url| ("PostgreSQL", url)));
    for (name, database) in databases {
        let server = Arc::new(Server::service(name, &arguments.program, database)?);
        let works = operations::of(&server, database != "memory:", !arguments.quick).await?;
        cases.extend(works.into_iter().map(|(name, work)| Case::new(&server, name, work)));
    }
    cases.extend(peer_cases(arguments)?);
    if let Some(text) = &arguments.only {
        // Limits are always measured, because the other cases are compared with the limits.
        let is_wanted = |case: &Case| case.name.contains(text.as_str()) || is_limit(case);
        cases.retain(is_wanted);
    }
    let mut samples: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
    let mut inserts = Inserts::new(arguments.postgres.as_deref()).await?;
    for round in 1..=effort.rounds {
        for (index, case) in cases.iter().enumerate() {
            eprint!("\rround {round} of {}: {:<60}", effort.rounds, case.label());
            let run =
                load::run(&case.server, &case.work, &case.numbers, effort.warm_up, effort.time);
            let sample = run.await.map_err(|error| format!("{}: {error}", case.label()))?;
            samples.entry(index).or_default().push(sample);
        }
        inserts.measure(effort.time).await?;
    }
    eprintln!();
    let mut figures = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        figures.push(Figures {
            server: case.server.name.to_owned(),
            case: case.name.to_owned(),
            sample: Sample::median(&samples[&index]),
            memory: case.server.memory()?,
        });
    }
    figures.extend(inserts.figures());
    Ok(figures)
}

fn is_limit(case: &Case) -> bool {
    [LIMIT, LIST_LIMIT].contains(&case.name)
}

fn limit_cases() -> Result<Vec<Case>, Failure> {
    let hyper = Arc::new(Server::limit("hyper", "hyper")?);
    let warp = Arc::new(Server::limit("warp", "warp")?);
    let one = |path: &'static str| {
        reading(CONNECTIONS, "\"value\":\"postgres", move |_| Call::get(path, "t"))
    };
    let list = reading(FEW_CONNECTIONS, "KEY_9999", |_| Call::get("/list", ""));
    Ok(vec![
        Case::new(&hyper, "one secret, bytes", one("/")),
        Case::new(&warp, LIMIT, one("/secret/KEY_000000")),
        Case::new(&warp, LIST_LIMIT, list),
    ])
}

fn peer_cases(arguments: &Arguments) -> Result<Vec<Case>, Failure> {
    let header = arguments.peer_header.as_deref().and_then(|header| header.split_once(':'));
    let header = header.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    let mut cases = Vec::new();
    for peer in &arguments.peers {
        let (name, url) = peer.split_once("=http://").ok_or("--peer must be NAME=http://...")?;
        let (address, path) = url.split_once('/').ok_or("a peer needs a path")?;
        let server = Arc::new(Server::peer(name.to_owned().leak(), address.parse()?));
        let header = header.clone();
        let path = format!("/{path}");
        let call = move |_| Call { header: header.clone(), ..Call::get(path.clone(), "") };
        cases.push(Case::new(&server, "read", reading(CONNECTIONS, "", call)));
    }
    Ok(cases)
}

/// Returns a series of requests, such as reads, each of which must get a response with status 200
/// that contains `text`. `call` returns the request with a given number.
pub(crate) fn reading(
    connections: u64,
    text: &'static str,
    call: impl Fn(u64) -> Call + Send + Sync + 'static,
) -> Work {
    Work { call: Box::new(call), status: StatusCode::OK, text, connections, is_timed: |_| true }
}

impl Case {
    fn new(server: &Arc<Server>, name: &'static str, work: Work) -> Self {
        Self { server: server.clone(), name, work: work.into(), numbers: Arc::default() }
    }

    fn label(&self) -> String {
        format!("{}, {}", self.server.name, self.name)
    }
}

impl Sample {
    fn median(samples: &[Self]) -> Self {
        let of = |field: fn(&Self) -> f64| median(samples.iter().map(field).collect());
        Self { rate: of(|s| s.rate), cpu: of(|s| s.cpu), p50: of(|s| s.p50), p99: of(|s| s.p99) }
    }
}

/// Returns the median: for an even number of values, the higher of the two middle values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
