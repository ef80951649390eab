//! State of the connections and of the cache of a store, for metrics.

use std::time::Duration;

/// State of a store: its connections and its cache.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct StoreUsage {
    /// State of each pool of connections.
    pub pools: Vec<PoolUsage>,
    /// State of the cache of records; `None` if the store has no cache.
    pub cache: Option<CacheUsage>,
}

/// State of one connection pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUsage {
    /// Name of the pool: `read`, `audit`, `write` or `reserved`.
    pub name: &'static str,
    /// Maximum number of connections in the pool.
    pub max: u32,
    /// Number of connections in the pool that are open.
    pub open: u32,
    /// Number of open connections in the pool that are not in use.
    pub idle: u32,
    /// Total time that callers have waited for a connection since the pool was created.
    pub waited: Duration,
    /// Number of waits that ended without a connection since the pool was created.
    pub failures: u64,
}

/// State of the cache of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheUsage {
    /// Approximate size of the cached records, in bytes.
    pub bytes: u64,
    /// Maximum size of the cache, in bytes.
    pub max_bytes: u64,
    /// Number of lookups since the start that found a current record in the cache.
    pub hits: u64,
    /// Number of lookups since the start that found no current record in the cache.
    pub misses: u64,
}
