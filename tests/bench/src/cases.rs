//! Cases of the benchmark: the operations of the service on each store, the same work done by
//! minimal servers (called limits), and other secrets managers (called peers).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyper::{Method, StatusCode};

use crate::http::Call;
use crate::load::{self, Sample, Work};
use crate::server::{Account, Server, key, secret};
use crate::{Arguments, Effort, Failure, limits};

/// Name of the case that measures a minimal server with one secret. Results of requests about one
/// secret are compared with its result.
pub(crate) const LIMIT: &str = "one secret, serialized";
/// Name of the case that measures a minimal server with a list. Results of requests for lists are
/// compared with its result.
pub(crate) const LIST_LIMIT: &str = "list of 10,000, serialized";
/// Name of the case that measures bare SQLite transactions. Results of writes on SQLite are
/// compared with its result.
pub(crate) const COMMIT_LIMIT: &str = "transaction of one row, FULL";

/// Number of accounts in the case that reads secrets of many accounts.
const ACCOUNTS: usize = 32;
/// Number of secrets of each account in the case that reads secrets of many accounts.
const SECRETS: usize = 100;

/// Number of concurrent connections in cases with small responses.
const CONNECTIONS: u64 = 64;
/// Number of concurrent connections in cases with large responses.
const FEW_CONNECTIONS: u64 = 16;

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
        cases.extend(service_cases(&server, !arguments.quick).await?);
    }
    cases.extend(peer_cases(arguments)?);
    if let Some(text) = &arguments.only {
        // Limits are always measured, because the other cases are compared with the limits.
        let is_wanted = |case: &Case| case.name.contains(text.as_str()) || is_limit(case);
        cases.retain(is_wanted);
    }
    let mut samples: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
    let mut commits = Vec::new();
    for round in 1..=effort.rounds {
        for (index, case) in cases.iter().enumerate() {
            eprint!("\rround {round} of {}: {:<60}", effort.rounds, case.label());
            let run =
                load::run(&case.server, &case.work, &case.numbers, effort.warm_up, effort.time);
            let sample = run.await.map_err(|error| format!("{}: {error}", case.label()))?;
            samples.entry(index).or_default().push(sample);
        }
        commits.push(limits::sqlite_commits(effort.time).await?);
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
    let rate = median(commits);
    let sample = Sample { rate, cpu: 0.0, p50: 1e6 / rate, p99: 0.0 };
    let limit = Figures { server: "sqlx".into(), case: COMMIT_LIMIT.into(), sample, memory: 0 };
    figures.push(limit);
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

/// Creates the test data in a service, and returns the cases that use the data. The environment
/// `top` has 1,000 secrets: 100 own secrets, 100 inherited from `middle` and 800 from `base`.
async fn service_cases(server: &Arc<Server>, has_large: bool) -> Result<Vec<Case>, Failure> {
    let mut account = Account::new(server).await?;
    let base = account.environment("base", None).await?;
    let middle = account.environment("middle", Some(&base)).await?;
    account.environment("top", Some(&middle)).await?;
    account.environment("written", None).await?;
    account.import("base", 0..1000).await?;
    account.import("middle", 0..200).await?;
    account.import("top", 0..100).await?;
    account.import("development", 0..1000).await?;
    account.import("written", 0..64).await?;
    let token = account.token.clone();
    let get = |path: String| {
        let token = token.clone();
        move |_| Call::get(path.clone(), &token)
    };
    let (top, flat) = (account.secrets("top"), account.secrets("development"));
    let eso = |path: &str| format!("/api/v1/eso/{path}project=bench&env=top");
    let is_value = "postgres://app:";
    let own = format!("{flat}/{}", key(7));
    let jwt = account.jwt.clone();
    let mut works = vec![
        ("read", reading(CONNECTIONS, is_value, get(own.clone()))),
        ("read, 32 accounts", spread(server).await?),
        ("read as a user", {
            let own = own.clone();
            reading(CONNECTIONS, is_value, move |_| Call::get(own.clone(), &jwt))
        }),
        ("read, own, chain of 3", reading(CONNECTIONS, is_value, get(format!("{top}/{}", key(7))))),
        ("read, inherited, chain of 3", {
            reading(CONNECTIONS, is_value, get(format!("{top}/{}", key(999))))
        }),
        ("read by the operator", {
            reading(CONNECTIONS, is_value, get(eso(&format!("secret?key={}&", key(7)))))
        }),
        ("1,000 by the operator, chain of 3", {
            reading(FEW_CONNECTIONS, "KEY_000999", get(eso("secrets?")))
        }),
        ("list of 1,000", reading(FEW_CONNECTIONS, "KEY_000999", get(flat.clone()))),
        ("export of 1,000", reading(FEW_CONNECTIONS, "KEY_000999", get(format!("{flat}/export")))),
        ("wrong credential", {
            let own = own.clone();
            let call = move |_| Call::get(own.clone(), "env_wrong");
            Work { status: StatusCode::UNAUTHORIZED, ..reading(CONNECTIONS, "unauthorized", call) }
        }),
        ("unknown secret", {
            let call = get(format!("{flat}/NONE"));
            Work { status: StatusCode::NOT_FOUND, ..reading(CONNECTIONS, "not_found", call) }
        }),
        ("update", {
            let (path, token) = (account.secrets("written"), token.clone());
            let call = move |number: u64| {
                let key = key(usize::try_from(number % 64).unwrap_or(0));
                let body = secret(&key);
                Call::send(Method::PUT, format!("{path}/{key}"), &token, &body)
            };
            reading(FEW_CONNECTIONS, "\"secret\"", call)
        }),
    ];
    if has_large {
        let path = account.secrets("large");
        account.environment("large", None).await?;
        account.import("large", 0..limits::ITEMS).await?;
        works.push(("list of 10,000", reading(FEW_CONNECTIONS, "KEY_009999", get(path))));
    }
    Ok(works.into_iter().map(|(name, work)| Case::new(server, name, work)).collect())
}

/// Creates many accounts with secrets, each in its own team. Returns the requests that read these
/// secrets in a pseudo-random order.
async fn spread(server: &Server) -> Result<Work, Failure> {
    let mut calls = Vec::new();
    for number in 0..ACCOUNTS {
        let mut account = Account::of(server, &format!("bench-{number}")).await?;
        account.import("development", 0..SECRETS).await?;
        let secrets = account.secrets("development");
        calls.extend(
            (0..SECRETS)
                .map(|number| Call::get(format!("{secrets}/{}", key(number)), &account.token)),
        );
    }
    let pick = move |number: u64| {
        // A multiplicative hash, so that neighbours are far apart (Knuth, volume 3, 6.4).
        let place = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        calls[usize::try_from(place).unwrap_or(0) % calls.len()].clone()
    };
    Ok(reading(CONNECTIONS, "postgres://app:", pick))
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
fn reading(
    connections: u64,
    text: &'static str,
    call: impl Fn(u64) -> Call + Send + Sync + 'static,
) -> Work {
    Work { call: Box::new(call), status: StatusCode::OK, text, connections }
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
