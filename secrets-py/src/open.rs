//! Opening an embedded service and its database.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::egress::{EgressPolicy, Gate};
use secrets_core::engine::{Options, Ports, StartError};
use secrets_core::model::{Identity, SystemClock};
use secrets_core::ports::identity::{IdentityVerifier, Unverified};
use secrets_core::ports::rotators::{Rotators, Timings};
use secrets_core::ports::timer::Timer;
use secrets_core::rotators::drivers::{MySqlRotator, PostgresRotator};
use secrets_core::Service;
use secrets_core::store::sql::{postgres, sqlite};
use secrets_core::store::{MemoryStore, Store, StoreError};
use zeroize::Zeroizing;

/// Database of an embedded service.
pub(crate) enum Database {
    /// Memory of this process; nothing is written to disk.
    Memory,
    /// SQLite file, used by this process alone.
    Sqlite(String),
    /// PostgreSQL server.
    Postgres(Zeroizing<String>),
}

/// Identity verifier that accepts no token: the host application signs users in itself.
struct NoIdentityTokens;

/// Timer of the tokio runtime.
struct TokioTimer;

impl Database {
    /// Parses a database address.
    pub(crate) fn at(url: &str) -> Result<Self, &'static str> {
        match url.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", rest)) => match rest.strip_prefix("//") {
                None | Some("") => Err("url: must name a file: sqlite://PATH"),
                Some(path) if path.contains('?') => {
                    Err("url: must be sqlite://PATH, without parameters")
                }
                Some(path) => Ok(Self::Sqlite(path.to_owned())),
            },
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(Zeroizing::new(url.to_owned())))
            }
            _ => {
                Err("url: must be memory:, sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE")
            }
        }
    }

    async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Self::Memory => Arc::new(MemoryStore::new()),
            Self::Sqlite(path) => Arc::new(sqlite::open(Path::new(path)).await?),
            Self::Postgres(url) => {
                Arc::new(postgres::open(url, postgres::Options::default()).await?)
            }
        })
    }
}

/// Opens a service. `egress` is the policy for the connections of its rotations.
pub(crate) async fn open(
    database: Database,
    root: Key,
    egress: EgressPolicy,
) -> Result<Arc<Service>, StartError> {
    let gate = Arc::new(Gate::new(egress.clone()));
    let ports = Ports {
        store: database.open().await?,
        clock: Arc::new(SystemClock),
        root: Arc::new(StaticRootKey::new(&root)),
        identity: Arc::new(NoIdentityTokens),
        mail: None,
        rotators: Some(Rotators {
            postgresql: Arc::new(PostgresRotator::new(Arc::clone(&gate))),
            mysql: Arc::new(MySqlRotator::new(gate)),
            proxied: None,
            timer: Arc::new(TokioTimer),
            timings: Timings::default(),
        }),
        webhooks: None,
    };
    let service = Service::open(ports, Options { egress, ..Options::default() }).await?;
    if let Database::Sqlite(_) = database {
        // Only one process uses the file, so its claims and leases are from processes that ended.
        service.end_claims().await?;
        service.end_rotation_leases().await?;
    }
    Ok(Arc::new(service))
}

#[async_trait]
impl IdentityVerifier for NoIdentityTokens {
    async fn verify(&self, _: &str) -> Result<Identity, Unverified> {
        Err(Unverified::Invalid)
    }
}

#[async_trait]
impl Timer for TokioTimer {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
