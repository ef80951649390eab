//! The one way out to where tenants say.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::policy::{EgressPolicy, literal, name};

/// Asks for the addresses of names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a name, in the order in which they are to be tried.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks what the machine asks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

/// Connects to what the policy permits, and to nothing else.
///
/// A name is resolved once; if one of its addresses may not be reached, none is, so that nobody
/// learns which. What was judged is what is dialled.
#[derive(Clone)]
pub struct Gate {
    policy: EgressPolicy,
    resolver: Arc<dyn Resolver>,
}

/// Why there is no connection. Without the name and the addresses: what they are may be nobody's
/// business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no such name, or nothing answers there, or not in time.
    Unreachable,
    /// The policy does not permit it.
    NotAllowed,
}

/// How long an answer to a name is waited for, by itself.
const RESOLVING: Duration = Duration::from_secs(5);

/// More addresses than this no honest name has.
const MOST_ADDRESSES: usize = 64;

impl Gate {
    /// With the resolver of the machine.
    #[must_use]
    pub fn new(policy: EgressPolicy) -> Self {
        Self::with_resolver(policy, Arc::new(SystemResolver))
    }

    /// With this resolver.
    #[must_use]
    pub fn with_resolver(policy: EgressPolicy, resolver: Arc<dyn Resolver>) -> Self {
        Self { policy, resolver }
    }

    /// What is permitted.
    #[must_use]
    pub fn policy(&self) -> &EgressPolicy {
        &self.policy
    }

    /// The addresses of a host, at least one, all of which may be connected to. Ends within five
    /// seconds.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Refused> {
        // First, as connectors do not ask a resolver about an address.
        let addresses = match literal(host) {
            Some(address) => vec![address],
            None => self.ask(host).await?,
        };
        if addresses.is_empty() {
            return Err(Refused::Unreachable);
        }
        if !addresses.iter().all(|address| self.policy.permits(host, *address)) {
            return Err(Refused::NotAllowed);
        }
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// A connection to a host, made before `patience` is over.
    pub async fn dial(
        &self,
        host: &str,
        port: u16,
        patience: Duration,
    ) -> Result<TcpStream, Refused> {
        let end = Instant::now() + patience;
        let addresses = timeout_at(end, self.resolve(host, port)).await;
        let addresses = addresses.map_err(|_| Refused::Unreachable)??;
        for (tried, address) in addresses.iter().enumerate() {
            // So that one that swallows everything leaves time for the others.
            let left = end.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            if let Some(stream) = connect(*address, Instant::now() + share).await {
                return Ok(stream);
            }
        }
        Err(Refused::Unreachable)
    }

    async fn ask(&self, host: &str) -> Result<Vec<IpAddr>, Refused> {
        let name = name(host).ok_or(Refused::Unreachable)?;
        let answer = timeout_at(Instant::now() + RESOLVING, self.resolver.addresses(&name)).await;
        match answer {
            Ok(Ok(addresses)) if addresses.len() <= MOST_ADDRESSES => Ok(addresses),
            _ => Err(Refused::Unreachable),
        }
    }
}

/// A connection to exactly this address.
async fn connect(address: SocketAddr, end: Instant) -> Option<TcpStream> {
    let stream = timeout_at(end, TcpStream::connect(address)).await.ok()?.ok()?;
    let peer = stream.peer_addr().ok()?;
    let is_it = peer.ip() == address.ip() && peer.port() == address.port();
    // Questions and answers are small here; they do not wait for each other.
    (is_it && stream.set_nodelay(true).is_ok()).then_some(stream)
}

#[async_trait]
impl Resolver for SystemResolver {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the destination cannot be reached",
            Self::NotAllowed => {
                "the destination is at an address that may not be reached from here"
            }
        })
    }
}

impl std::error::Error for Refused {}
