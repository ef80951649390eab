//! Authentication and rate limiting, once per request.
//!
//! A request with a valid credential is counted for its principal (a user or a service token), any
//! other request for its IP address. Two kinds of requests are refused before the credential is
//! verified: those from an address that has sent 20 wrong credentials in this minute or has reached
//! its limit, and those of a principal that has reached its limit, if the credential was verified
//! in the current or the previous minute. The limits of an address do not apply to a credential
//! that was verified from the same address in the current or the previous minute, so that one bad
//! client behind a shared address does not block the others.
//!
//! If the nodes share counters, the requests to all nodes are counted together. The checks before
//! the credential is verified use only the counters in the memory of this node. After them, a
//! request accesses the shared counters once, for its principal or its address. For a wrong
//! credential, two counters are accessed at the same time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures_util::future::join;
use secrets_core::Service;
use secrets_core::engine::{Caller, Who};
use secrets_core::limits::{AddressLimiter, RateLimiter, SharedWindows, Window, network_of};
use secrets_core::model::lock::lock;
use secrets_core::model::{Bound, Clock, Error, Identity, Origin, Time};
use tracing::{Instrument as _, info_span};
use warp::http::HeaderMap;
use warp::http::header::{AUTHORIZATION, COOKIE};

use crate::serve::links::RequestBase;
use crate::serve::metrics::RequestMetrics;
use crate::serve::session_cookie;

/// Rate limits, in requests per minute.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Rate limit of an IP address, for its requests without a valid credential; 0 for no limit.
    pub per_address: u32,
    /// Rate limit of a principal (a user or a service token); 0 for no limit.
    pub per_principal: u32,
}

/// Maximum number of wrong credentials that an IP address may send per minute.
const MAX_FAILURES: u32 = 20;

/// Authenticates requests and applies the rate limits.
pub struct Authenticator {
    service: Arc<Service>,
    clock: Arc<dyn Clock>,
    addresses: AddressLimiter,
    principals: RateLimiter<PrincipalHash>,
    failures: AddressLimiter,
    verified: Verified,
    metrics: RequestMetrics,
}

/// Result of authenticating a request and counting it for its rate limit.
pub struct Admission {
    /// Authenticated caller, or the error to respond with.
    pub caller: Result<Caller, Error>,
    /// Rate-limit window in which the request was counted; `None` if there is no rate limit. It
    /// determines the rate-limit headers of the response.
    pub window: Option<Window>,
}

/// Keyed hash that identifies a user or a service token. It is the same on every node.
type PrincipalHash = [u8; 16];

const MISSING: Error = Error::Unauthenticated("missing credential: send `Authorization: Bearer …`");
const MALFORMED: Error = Error::Unauthenticated("invalid credential");

impl Authenticator {
    /// Creates an authenticator for a service.
    pub fn new(
        service: Arc<Service>,
        clock: Arc<dyn Clock>,
        rates: Rates,
        metrics: RequestMetrics,
    ) -> Self {
        let failures = if rates.per_address == 0 { 0 } else { MAX_FAILURES };
        Self {
            service,
            clock,
            addresses: AddressLimiter::new(rates.per_address),
            principals: RateLimiter::new(rates.per_principal),
            failures: AddressLimiter::new(failures),
            verified: Verified::default(),
            metrics,
        }
    }

    /// Returns the request metrics.
    pub fn metrics(&self) -> &RequestMetrics {
        &self.metrics
    }

    /// Counts a request that was refused because of this limit.
    pub fn count_refusal(&self, bound: Bound) {
        self.service.engine().refusals().count(bound);
    }

    /// Counts a request to a public endpoint for its IP address. Does not refuse the request.
    /// Returns the rate-limit window of the address; `None` if there is no rate limit.
    pub async fn count(&self, address: IpAddr) -> Option<Window> {
        self.count_address(address, self.clock.now()).await
    }

    /// Authenticates the caller of a request, and counts the request. A session cookie is accepted
    /// only with `base`, the base URL of the request.
    pub(crate) async fn admit(
        &self,
        headers: &HeaderMap,
        base: Option<&RequestBase>,
        address: IpAddr,
        origin: Origin,
    ) -> Admission {
        let admission = pin!(self.authenticate(headers, base, address, origin));
        let admission = admission.instrument(info_span!("authenticate")).await;
        if let Some(bound) = admission.caller.as_ref().err().and_then(Error::bound) {
            self.count_refusal(bound);
        }
        admission
    }

    async fn authenticate(
        &self,
        headers: &HeaderMap,
        base: Option<&RequestBase>,
        address: IpAddr,
        origin: Origin,
    ) -> Admission {
        let now = self.clock.now();
        let cookie = cookie(headers, base);
        let credential = match cookie.map_or_else(|| credential(headers), Ok) {
            Ok(credential) => credential,
            Err(error) => return self.refuse(address, now, error).await,
        };
        let hashes = self.verified.hashes(credential, address);
        let known = self.verified.find(hashes, now);
        let window = match known {
            Some(Known { principal, is_here: true }) => self.count_principal(principal, now).await,
            Some(Known { principal, is_here: false }) => self.principals.peek(principal, now),
            None => None,
        };
        if let Err(error) = Bound::Principal.check(window) {
            return Admission { caller: Err(error), window };
        }
        let counted = known.filter(|known| known.is_here).map(|_| window);
        if counted.is_none()
            && let Err(error) = self.admit_address(address, now)
        {
            return self.refuse(address, now, error).await;
        }
        let authenticated = match cookie {
            Some(cookie) => self.service.authenticate_browser(cookie, origin).await,
            None => self.service.authenticate(credential, origin).await,
        };
        match authenticated {
            Ok(caller) => {
                // The issuer and subject of a user, and the ID of a token, never change.
                let principal =
                    known.map_or_else(|| self.principal(&caller), |known| known.principal);
                self.verified.remember(hashes, principal, now);
                let window = match counted {
                    Some(window) => window,
                    None => self.count_principal(principal, now).await,
                };
                let admitted = Bound::Principal.check(window);
                Admission { caller: admitted.map(|()| caller), window }
            }
            Err(error) => {
                if error.refuses_credential() {
                    self.metrics.count_authentication_failure();
                }
                // A session cookie is not counted as a wrong credential: a page may send several
                // requests after its session has ended.
                if error.refuses_credential() && cookie.is_none() {
                    return self.refuse_failure(address, now, error).await;
                }
                self.refuse(address, now, error).await
            }
        }
    }

    /// Counts a wrong credential of an IP address, and refuses the request like
    /// [`refuse`](Self::refuse).
    async fn refuse_failure(&self, address: IpAddr, now: Time, error: Error) -> Admission {
        let failures = self.windows().named("failures");
        let failure = self.failures.count_shared(failures, address, now);
        // Access both counters concurrently, so that the request waits only once.
        join(failure, self.refuse(address, now, error)).await.1
    }

    fn windows(&self) -> &SharedWindows {
        self.service.engine().windows()
    }

    async fn count_principal(&self, principal: PrincipalHash, now: Time) -> Option<Window> {
        self.principals.count_shared(self.windows().named("principal"), principal, now).await
    }

    async fn count_address(&self, address: IpAddr, now: Time) -> Option<Window> {
        self.addresses.count_shared(self.windows().named("address"), address, now).await
    }

    /// Returns the hash that identifies the principal. A service token is identified by its ID; a
    /// user by token issuer and subject, which are known even before the first sign-in.
    fn principal(&self, caller: &Caller) -> PrincipalHash {
        let hash = |parts: &[&[u8]]| self.windows().hash(parts);
        let person = |of: &Identity| hash(&[b"user", of.issuer.as_bytes(), of.subject.as_bytes()]);
        match &caller.who {
            Who::Person(known) => person(&known.identity),
            Who::Unsynced(identity) => person(identity),
            Who::Token(token) => hash(&[b"token", token.id.uuid().as_bytes()]),
            // Not reached: a request without a credential is refused before.
            Who::Anonymous | Who::System => PrincipalHash::default(),
        }
    }

    /// Fails if the address has reached its limit of requests or of wrong credentials.
    fn admit_address(&self, address: IpAddr, now: Time) -> Result<(), Error> {
        Bound::Failures.check(self.failures.peek(address, now))?;
        Bound::Address.check(self.addresses.peek(address, now))
    }

    /// Counts a request without a valid credential for its IP address. Returns the error of the
    /// request, or the rate-limit error if the address has reached its limit.
    async fn refuse(&self, address: IpAddr, now: Time, error: Error) -> Admission {
        let window = self.count_address(address, now).await;
        Admission { caller: Bound::Address.check(window).and(Err(error)), window }
    }
}

/// Returns the credential in the session cookie, if a script of this service sent the request. The
/// base URL is determined only if there is a cookie.
fn cookie<'a>(headers: &'a HeaderMap, base: Option<&RequestBase>) -> Option<&'a str> {
    let base = base.filter(|_| headers.contains_key(COOKIE))?;
    session_cookie::of_script(headers, base.get(headers))
}

/// Returns the bearer credential in the `Authorization` header. Fails unless the request has
/// exactly one such header (RFC 6750).
pub(crate) fn credential(headers: &HeaderMap) -> Result<&str, Error> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(MISSING)?;
    if values.next().is_some() {
        return Err(Error::Unauthenticated("send one Authorization header"));
    }
    let (scheme, credential) =
        value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or(MALFORMED)?;
    let credential = credential.trim();
    if scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty() {
        Ok(credential)
    } else {
        Err(MALFORMED)
    }
}

/// Credentials verified in the current and the previous minute, stored as hashes with a random seed
/// of this process.
#[derive(Default)]
struct Verified {
    hasher: RandomState,
    minutes: Mutex<Minutes>,
}

/// Principals of verified credentials. Each principal is stored under two hashes: that of its
/// credential, and that of its credential together with the client's network.
type Principals = HashMap<u64, PrincipalHash>;

#[derive(Default)]
struct Minutes {
    minute: i64,
    current: Principals,
    previous: Principals,
}

/// Principal of a credential that was verified recently.
#[derive(Clone, Copy)]
struct Known {
    principal: PrincipalHash,
    /// True if the credential was also verified from the network of this request's address.
    is_here: bool,
}

/// Maximum number of hashes that are remembered per minute, two for each credential. Requests with
/// other credentials are counted only after the credential has been verified.
const MAX_REMEMBERED: usize = 200_000;

impl Verified {
    /// Remembers the hashes of a verified credential with its principal.
    fn remember(&self, hashes: [u64; 2], principal: PrincipalHash, now: Time) {
        let mut minutes = lock(&self.minutes);
        minutes.rotate_to(now);
        if minutes.current.len() < MAX_REMEMBERED {
            minutes.current.extend(hashes.map(|hash| (hash, principal)));
        }
    }

    /// Finds the principal of a credential with these hashes.
    fn find(&self, [anywhere, here]: [u64; 2], now: Time) -> Option<Known> {
        let mut minutes = lock(&self.minutes);
        minutes.rotate_to(now);
        let here = minutes.find(here).map(|principal| Known { principal, is_here: true });
        here.or_else(|| minutes.find(anywhere).map(|principal| Known { principal, is_here: false }))
    }

    /// Returns two hashes: that of the credential, and that of the credential together with the
    /// network of the address.
    fn hashes(&self, credential: &str, address: IpAddr) -> [u64; 2] {
        let anywhere = self.hasher.hash_one(credential);
        [anywhere, self.hasher.hash_one((anywhere, network_of(address)))]
    }
}

impl Minutes {
    fn find(&self, hash: u64) -> Option<PrincipalHash> {
        self.current.get(&hash).or_else(|| self.previous.get(&hash)).copied()
    }

    fn rotate_to(&mut self, now: Time) {
        let minute = now.timestamp().div_euclid(60);
        // A request that began in the previous minute may be counted late.
        if minute == self.minute || minute + 1 == self.minute {
            return;
        }
        let before = std::mem::take(&mut self.current);
        self.previous = if minute == self.minute + 1 { before } else { HashMap::new() };
        self.minute = minute;
    }
}
