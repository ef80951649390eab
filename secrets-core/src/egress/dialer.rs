//! Connections to hosts that tenants choose. No other module makes such connections.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::policy::{EgressPolicy, literal, name};

/// Resolver of host names (DNS).
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Resolves a host name to its IP addresses, in the order in which they should be tried.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

/// Connects only to destinations that the egress policy allows.
///
/// A name is resolved once. If one of its addresses is not allowed, the whole name is refused, so
/// that the result does not reveal which address is not allowed. Connections go to the checked
/// addresses only; the name is not resolved again.
#[derive(Clone)]
pub struct Dialer {
    policy: EgressPolicy,
    resolver: Arc<dyn Resolver>,
}

/// Reason why no connection was made. Contains neither the name nor the addresses, which may be
/// confidential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialError {
    /// No address responds, or the timeout is reached.
    Unreachable,
    /// The host name has no address.
    Unresolved,
    /// The egress policy does not allow the destination.
    NotAllowed,
}

/// Timeout of one name resolution.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of addresses of one name. Names in normal use have far fewer.
const MAX_ADDRESSES: usize = 64;

impl Dialer {
    /// Creates a dialer that uses the resolver of the operating system.
    #[must_use]
    pub fn new(policy: EgressPolicy) -> Self {
        Self::with_resolver(policy, Arc::new(SystemResolver))
    }

    /// Creates a dialer that uses the given resolver.
    #[must_use]
    pub fn with_resolver(policy: EgressPolicy, resolver: Arc<dyn Resolver>) -> Self {
        Self { policy, resolver }
    }

    /// Returns the egress policy.
    #[must_use]
    pub fn policy(&self) -> &EgressPolicy {
        &self.policy
    }

    /// Resolves a destination (a host name or an IP address) to its addresses: at least one, and
    /// all of them allowed by the policy. Takes at most five seconds.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, DialError> {
        // Check literal addresses first: connectors do not call a resolver for them.
        let addresses = match literal(host) {
            Some(address) => vec![address],
            None => self.ask(host).await?,
        };
        if addresses.is_empty() {
            return Err(DialError::Unresolved);
        }
        if !addresses.iter().all(|address| self.policy.permits(host, *address)) {
            return Err(DialError::NotAllowed);
        }
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// Connects to a destination, which is a host name or an IP address. Tries its addresses in
    /// order, for at most `timeout` in total.
    pub async fn dial(
        &self,
        host: &str,
        port: u16,
        timeout: Duration,
    ) -> Result<TcpStream, DialError> {
        let deadline = Instant::now() + timeout;
        let addresses = timeout_at(deadline, self.resolve(host, port)).await;
        let addresses = addresses.map_err(|_| DialError::Unreachable)??;
        for (tried, address) in addresses.iter().enumerate() {
            // Share the remaining time, so that an address that never responds leaves time for the
            // others.
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            if let Some(stream) = connect(*address, Instant::now() + share).await {
                return Ok(stream);
            }
        }
        Err(DialError::Unreachable)
    }

    async fn ask(&self, host: &str) -> Result<Vec<IpAddr>, DialError> {
        let name = name(host).ok_or(DialError::Unresolved)?;
        let answer =
            timeout_at(Instant::now() + RESOLVE_TIMEOUT, self.resolver.addresses(&name)).await;
        match answer {
            Ok(Ok(addresses)) if addresses.len() <= MAX_ADDRESSES => Ok(addresses),
            Ok(_) => Err(DialError::Unresolved),
            Err(_) => Err(DialError::Unreachable),
        }
    }
}

/// Connects to exactly this address. Returns `None` if that fails or the deadline is reached.
async fn connect(address: SocketAddr, deadline: Instant) -> Option<TcpStream> {
    let stream = timeout_at(deadline, TcpStream::connect(address)).await.ok()?.ok()?;
    let peer = stream.peer_addr().ok()?;
    let is_it = peer.ip() == address.ip() && peer.port() == address.port();
    // Requests and responses are small here, so do not delay them (Nagle's algorithm).
    (is_it && stream.set_nodelay(true).is_ok()).then_some(stream)
}

#[async_trait]
impl Resolver for SystemResolver {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // The same text for both, so that the text does not show which names exist.
            Self::Unreachable | Self::Unresolved => "the destination cannot be reached",
            Self::NotAllowed => "the destination address is not allowed by the egress policy",
        })
    }
}

impl std::error::Error for DialError {}
