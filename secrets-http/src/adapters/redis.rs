//! Counters of rate limits on a Redis server, which the nodes of an instance share.
//!
//! A request never waits long for Redis. Each command has a deadline of 100 ms. After a failed
//! command, the connection is closed, and no request uses Redis until a background task has opened
//! a new connection. So a server that is unreachable or frozen delays only the requests that were
//! waiting for it when it failed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, IntoConnectionInfo as _, RedisError, RedisResult, Script,
};
use secrets_core::limits::{SharedCounter, SharedCounters};
use secrets_core::model::lock::lock;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Maximum duration of one command on the Redis server.
const DEADLINE: Duration = Duration::from_millis(100);

/// Timeout for opening a connection to the Redis server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time between a failure and the next attempt to open a connection.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Prefix of all keys on the Redis server.
const PREFIX: &str = "secrets:rate:";

/// Lua script that adds one to each counter, unless one of the counters has reached its limit. The
/// arguments are the limit and the time to live, in milliseconds, of each counter.
const ADD: &str = "
local values, is_full = {}, false
for i, key in ipairs(KEYS) do
    values[i] = tonumber(redis.call('GET', key) or '0') + 1
    is_full = is_full or values[i] > tonumber(ARGV[2 * i - 1])
end
if not is_full then
    for i, key in ipairs(KEYS) do
        redis.call('SET', key, values[i], 'PX', ARGV[2 * i])
    end
end
return values";

/// Rate limit counters on a Redis server.
pub struct RedisCounters {
    shared: Arc<Shared>,
    reconnecting: JoinHandle<()>,
}

struct Shared {
    script: Script,
    connection: Mutex<Current>,
    /// Wakes the background task that opens a new connection, when the connection is lost.
    lost: Notify,
    failures: AtomicU64,
}

/// Connection in use, if there is one, and its number: the number of connections that were closed
/// before it.
#[derive(Default)]
struct Current {
    connection: Option<MultiplexedConnection>,
    number: u64,
}

/// Checks that a URL is the URL of a Redis server, and returns a client.
///
/// # Errors
///
/// Fails with the rule that the URL violates. The error does not contain the URL.
pub fn client(url: &str) -> Result<Client, &'static str> {
    let rule = "must be redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss://... for TLS";
    let has_scheme = url.starts_with("redis://") || url.starts_with("rediss://");
    // A fragment would turn the verification of certificates off.
    if !has_scheme || url.contains('#') {
        return Err(rule);
    }
    let address = url.into_connection_info().map_err(|_| rule)?;
    // Many requests share a connection, so a request must not wait for the acknowledgement of
    // another request's data (Nagle's algorithm).
    let address = address.set_tcp_settings(TcpSettings::default().set_nodelay(true));
    Client::open(address).map_err(|_| rule)
}

impl RedisCounters {
    /// Creates the counters, and opens the connection. If the server cannot be reached, the
    /// connection is opened in the background as soon as possible.
    pub async fn connect(client: Client) -> Self {
        let shared = Arc::new(Shared {
            script: Script::new(ADD),
            connection: Mutex::default(),
            lost: Notify::new(),
            failures: AtomicU64::new(0),
        });
        match shared.open(&client).await {
            Ok(()) => tracing::info!("the nodes share their rate limits in Redis"),
            Err(error) => warn(&error),
        }
        let reconnecting = tokio::spawn(reconnect(client, Arc::clone(&shared)));
        Self { shared, reconnecting }
    }
}

impl Drop for RedisCounters {
    fn drop(&mut self) {
        self.reconnecting.abort();
    }
}

/// Opens a connection once, to check that the Redis server can be used.
///
/// # Errors
///
/// Fails with a description of the error if the server cannot be reached or refuses the
/// credentials.
pub async fn ping(client: &Client) -> Result<(), String> {
    open(client).await.map(drop).map_err(|error| describe(&error))
}

/// Opens a new connection whenever there is none, in an endless loop. Runs as a background task.
async fn reconnect(client: Client, shared: Arc<Shared>) {
    loop {
        if shared.is_connected() {
            shared.lost.notified().await;
        }
        sleep(RETRY_INTERVAL).await;
        if !shared.is_connected() && shared.open(&client).await.is_ok() {
            tracing::info!("Redis can be reached again: the nodes share their rate limits");
        }
    }
}

async fn open(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(None);
    // The timeout of the client does not include the first commands.
    let opening = client.get_multiplexed_async_connection_with_config(&config);
    timeout(CONNECT_TIMEOUT, opening).await.unwrap_or_else(|_| Err(timed_out()))
}

fn timed_out() -> RedisError {
    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
}

/// Describes an error without the text of the server's response, which may repeat the request.
fn describe(error: &RedisError) -> String {
    match error.code() {
        Some(code) => format!("{} ({code})", error.category()),
        None => error.category().to_owned(),
    }
}

impl Shared {
    fn current(&self) -> MutexGuard<'_, Current> {
        lock(&self.connection)
    }

    fn is_connected(&self) -> bool {
        self.current().connection.is_some()
    }

    async fn open(&self, client: &Client) -> RedisResult<()> {
        let mut opened = open(client).await?;
        timeout(CONNECT_TIMEOUT, self.script.load_async(&mut opened))
            .await
            .unwrap_or_else(|_| Err(timed_out()))?;
        self.current().connection = Some(opened);
        Ok(())
    }

    /// Closes the connection with this number after a failure. Does nothing if the connection is
    /// already closed or replaced.
    fn fail(&self, number: u64, error: &RedisError) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        {
            let mut current = self.current();
            if current.number != number || current.connection.take().is_none() {
                return;
            }
            current.number += 1;
        }
        warn(error);
        self.lost.notify_one();
    }
}

fn warn(error: &RedisError) {
    let reason = describe(error);
    tracing::warn!(reason, "Redis cannot be used: each node counts for rate limits by itself");
}

#[async_trait]
impl SharedCounters for RedisCounters {
    async fn add(&self, counters: &[SharedCounter]) -> Option<Vec<u32>> {
        let (number, connection) = {
            let current = self.shared.current();
            (current.number, current.connection.clone())
        };
        let mut connection = connection?;
        let mut call = self.shared.script.prepare_invoke();
        for counter in counters {
            call.key(key(&counter.id));
            call.arg(counter.limit);
            call.arg(u64::try_from(counter.expires_in.as_millis()).unwrap_or(u64::MAX));
        }
        let answer = timeout(DEADLINE, call.invoke_async(&mut connection)).await;
        match answer.unwrap_or_else(|_| Err(timed_out())) {
            Ok(values) => Some(values),
            Err(error) => {
                self.shared.fail(number, &error);
                None
            }
        }
    }

    fn is_available(&self) -> bool {
        self.shared.is_connected()
    }

    fn failures(&self) -> u64 {
        self.shared.failures.load(Ordering::Relaxed)
    }
}

fn key(id: &[u8; 16]) -> String {
    format!("{PREFIX}{:032x}", u128::from_be_bytes(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_redis_servers_are_accepted() {
        for url in ["redis://cache", "redis://:kvc_p@cache:6380/2", "rediss://u:kvc_p@cache"] {
            assert!(client(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "cache:6379",
            "http://cache",
            "unix:///run/redis",
            "rediss://cache/#insecure",
            "redis://",
        ] {
            assert!(client(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_key_is_a_hash_with_a_prefix() {
        assert_eq!(key(&[0xab; 16]), format!("secrets:rate:{}", "ab".repeat(16)));
    }
}
