//! State of the connections and of the cache of a store, for metrics.

use std::time::Duration;

/// State of a store.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct StoreUsage {
    /// Pools of connections.
    pub pools: Vec<PoolUsage>,
    /// Cache of records, if there is one.
    pub cache: Option<CacheUsage>,
}

/// State of a pool of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUsage {
    /// Name of the pool: `read`, `audit`, `write` or `reserved`.
    pub name: &'static str,
    /// Maximum number of connections.
    pub max: u32,
    /// Number of open connections.
    pub open: u32,
    /// Number of open connections that are not in use.
    pub idle: u32,
    /// Total time that was spent waiting for a connection.
    pub waited: Duration,
    /// Number of waits that ended without a connection.
    pub failures: u64,
}

/// State of a cache of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheUsage {
    /// Approximate size of the entries, in bytes.
    pub bytes: u64,
    /// Maximum size, in bytes.
    pub max_bytes: u64,
    /// Number of lookups that the cache answered.
    pub hits: u64,
    /// Number of lookups that the cache did not answer.
    pub misses: u64,
}
