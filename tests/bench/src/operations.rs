//! Requests to the service that are measured: operations that applications, operators and people use
//! most, refusals, and writes.

use hyper::{Method, StatusCode};
use serde_json::json;

use crate::cases::{CONNECTIONS, FEW_CONNECTIONS, reading};
use crate::http::Call;
use crate::load::Work;
use crate::server::{Account, Server, key, secret};
use crate::{Failure, limits};

/// Number of accounts in the cases that read secrets of many accounts.
const ACCOUNTS: usize = 32;
/// Number of secrets of each account in these cases.
const SECRETS: u64 = 100;
/// Number of environments to which a case adds secrets.
const ENVIRONMENTS: usize = 16;

/// Creates the test data in a service, and returns the requests that use the data, with the name of
/// their case. The environment `top` has 1,000 secrets: 100 own secrets, 100 inherited from `middle`
/// and 800 from `base`. `is_durable` is true if the service has a database: requests that add
/// secrets are measured there only, because in memory they would add millions.
pub(crate) async fn of(
    server: &Server,
    is_durable: bool,
    has_large: bool,
) -> Result<Vec<(&'static str, Work)>, Failure> {
    let account = Account::new(server).await?;
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
    let spread = Spread::new(server).await?;
    let (top, flat) = (account.secrets("top"), account.secrets("development"));
    let eso = |path: &str| format!("/api/v1/eso/{path}project=bench&env=top");
    let is_value = "postgres://app:";
    let own = format!("{flat}/{}", key(7));
    let jwt = account.jwt.clone();
    let mut works = vec![
        ("read", reading(CONNECTIONS, is_value, get(own.clone()))),
        ("read, 32 accounts", spread.clone().reads()),
        ("read, 5 % updates", spread.reads_and_updates()),
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
        ("mistyped credential", {
            let (own, mistyped) = (own.clone(), mistyped(&token));
            let call = move |_| Call::get(own.clone(), &mistyped);
            Work { status: StatusCode::UNAUTHORIZED, ..reading(CONNECTIONS, "unauthorized", call) }
        }),
        ("unknown path", {
            let call = get("/api/v1/unknown".to_owned());
            Work { status: StatusCode::NOT_FOUND, ..reading(CONNECTIONS, "not_found", call) }
        }),
        ("unknown secret", {
            let call = get(format!("{flat}/NONE"));
            Work { status: StatusCode::NOT_FOUND, ..reading(CONNECTIONS, "not_found", call) }
        }),
        ("update", {
            let (path, token) = (account.secrets("written"), token.clone());
            let call = move |number: u64| {
                let key = key(number % 64);
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
    if is_durable {
        works.push(("create", creating(&account).await?));
        works.push(("import of 100", importing(&account).await?));
    }
    Ok(works)
}

/// Returns a service token with another last character, which the service refuses without a lookup
/// because of its checksum.
fn mistyped(token: &str) -> String {
    let last = if token.ends_with('0') { '1' } else { '0' };
    format!("{}{last}", &token[..token.len() - 1])
}

/// Returns the requests that create secrets, each with a new key.
async fn creating(account: &Account) -> Result<Work, Failure> {
    let paths = empty_environments(account, "created").await?;
    let token = account.token.clone();
    let call = move |number: u64| {
        Call::send(Method::POST, choose(&paths, number), &token, &secret(&key(number)))
    };
    Ok(Work { status: StatusCode::CREATED, ..reading(FEW_CONNECTIONS, "\"secret\"", call) })
}

/// Returns the requests that import 100 secrets, each with a new key.
async fn importing(account: &Account) -> Result<Work, Failure> {
    let paths = empty_environments(account, "imported").await?;
    let token = account.token.clone();
    let call = move |number: u64| {
        let secrets: Vec<_> = (0..100).map(|index| secret(&key(number * 100 + index))).collect();
        let path = format!("{}/bulk", choose(&paths, number));
        Call::send(Method::POST, path, &token, &json!({ "secrets": secrets, "overwrite": false }))
    };
    Ok(reading(FEW_CONNECTIONS, "100", call))
}

/// Creates environments for new secrets, and returns the paths of their secrets. One environment
/// would be full before the end of a long run.
async fn empty_environments(account: &Account, name: &str) -> Result<Vec<String>, Failure> {
    let mut paths = Vec::new();
    for number in 0..ENVIRONMENTS {
        let name = format!("{name}-{number}");
        account.environment(&name, None).await?;
        paths.push(account.secrets(&name));
    }
    Ok(paths)
}

/// Secrets of many accounts, each in its own team.
#[derive(Clone)]
struct Spread {
    /// Requests that read the secrets, with the request that updates the same secret.
    calls: Vec<(Call, Call)>,
}

impl Spread {
    async fn new(server: &Server) -> Result<Self, Failure> {
        let mut calls = Vec::new();
        for number in 0..ACCOUNTS {
            let account = Account::of(server, &format!("bench-{number}")).await?;
            account.import("development", 0..SECRETS).await?;
            let secrets = account.secrets("development");
            calls.extend((0..SECRETS).map(|number| {
                let (path, token) = (format!("{secrets}/{}", key(number)), &account.token);
                let update = Call::send(Method::PUT, path.clone(), token, &secret(&key(number)));
                (Call::get(path, token), update)
            }));
        }
        Ok(Self { calls })
    }

    /// Returns the requests that read the secrets in a pseudo-random order.
    fn reads(self) -> Work {
        reading(CONNECTIONS, "postgres://app:", move |number| self.pick(number).0.clone())
    }

    /// Returns the same requests, of which every twentieth updates its secret. Only the latencies of
    /// reads are recorded.
    fn reads_and_updates(self) -> Work {
        let call = move |number| {
            let (read, update) = self.pick(number);
            if number % 20 == 0 { update.clone() } else { read.clone() }
        };
        Work { is_timed: |call| call.method == Method::GET, ..reading(CONNECTIONS, "\"KEY_", call) }
    }

    fn pick(&self, number: u64) -> &(Call, Call) {
        // A multiplicative hash, so that neighbours are far apart (Knuth, volume 3, 6.4).
        choose(&self.calls, number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32)
    }
}

/// Returns the item with this number, counted from the first one again after the last one.
fn choose<T>(items: &[T], number: u64) -> &T {
    &items[usize::try_from(number).unwrap_or(0) % items.len()]
}
