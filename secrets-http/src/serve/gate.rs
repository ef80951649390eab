//! Authentication and rate limiting, once per request.
//!
//! A request is counted once: with a valid credential against its principal, otherwise against its
//! IP address. After 20 failed credentials in a minute, requests from an address are refused
//! without verifying the credential. Credentials verified in the current or the previous minute are
//! exempt, so that one bad client behind a shared address does not block the others.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use secrets_core::Service;
use secrets_core::engine::{Caller, Who};
use secrets_core::limits::{RateLimiter, Window};
use secrets_core::model::{Clock, Error, Identity, Origin, Time};
use uuid::Uuid;
use warp::http::HeaderMap;
use warp::http::header::AUTHORIZATION;

use crate::serve::client_address::rate_key;

/// Rate limits, in requests per minute.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Limit per IP address for requests without a valid credential; 0 for no limit.
    pub per_address: u32,
    /// Limit per principal; 0 for no limit.
    pub per_principal: u32,
}

/// Maximum number of failed credentials per IP address and minute.
const MAX_FAILURES: u32 = 20;

/// Authenticates requests and applies the rate limits.
pub struct Authenticator {
    service: Arc<Service>,
    clock: Arc<dyn Clock>,
    addresses: RateLimiter<IpAddr>,
    principals: RateLimiter<Principal>,
    failures: RateLimiter<IpAddr>,
    verified: Verified,
}

/// Result of authenticating and counting a request.
pub struct Admission {
    /// Authenticated caller, or the error to respond with.
    pub caller: Result<Caller, Error>,
    /// Rate-limit window that counted the request, for the response headers.
    pub window: Option<Window>,
}

#[derive(PartialEq, Eq, Hash)]
enum Principal {
    /// User, by token issuer and subject, which are known before the first sign-in too.
    Person(String, String),
    Token(Uuid),
}

const MISSING: Error = Error::Unauthenticated("missing credential: send `Authorization: Bearer …`");
const MALFORMED: Error = Error::Unauthenticated("invalid or expired credential");

impl Authenticator {
    /// Creates an authenticator for a service.
    pub fn new(service: Arc<Service>, clock: Arc<dyn Clock>, rates: Rates) -> Self {
        let failures = if rates.per_address == 0 { 0 } else { MAX_FAILURES };
        Self {
            service,
            clock,
            addresses: RateLimiter::new(rates.per_address),
            principals: RateLimiter::new(rates.per_principal),
            failures: RateLimiter::new(failures),
            verified: Verified::default(),
        }
    }

    /// Counts a request to a public endpoint against its IP address.
    pub fn count(&self, address: IpAddr) -> Option<Window> {
        self.addresses.count(rate_key(address), self.clock.now())
    }

    /// Authenticates the caller of a request, and counts the request.
    pub async fn admit(&self, headers: &HeaderMap, address: IpAddr, origin: Origin) -> Admission {
        let (now, address) = (self.clock.now(), rate_key(address));
        match self.authenticate(headers, address, origin, now).await {
            Ok(caller) => {
                let window = self.principals.count(principal(&caller), now);
                Admission { caller: within(window).map(|()| caller), window }
            }
            Err(error) => {
                let window = self.addresses.count(address, now);
                Admission { caller: within(window).and(Err(error)), window }
            }
        }
    }

    async fn authenticate(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
        origin: Origin,
        now: Time,
    ) -> Result<Caller, Error> {
        let credential = credential(headers)?;
        let exceeded = self.failures.look(address, now).filter(|window| !window.admitted);
        if let Some(window) = exceeded
            && !self.verified.holds(credential, now)
        {
            return Err(Error::RateLimited(window.resets_at));
        }
        let outcome = self.service.authenticate(credential, origin).await;
        match &outcome {
            Ok(_) => self.verified.remember(credential, now),
            Err(Error::Unauthenticated(_)) => drop(self.failures.count(address, now)),
            Err(_) => {}
        }
        outcome
    }
}

/// Fails with `RateLimited` if the request exceeds the limit of its rate-limit window.
pub fn within(window: Option<Window>) -> Result<(), Error> {
    match window {
        Some(window) if !window.admitted => Err(Error::RateLimited(window.resets_at)),
        _ => Ok(()),
    }
}

/// Returns the bearer credential of a request. Exactly one `Authorization` header is allowed (RFC
/// 6750).
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

fn principal(caller: &Caller) -> Principal {
    let person = |of: &Identity| Principal::Person(of.issuer.clone(), of.subject.clone());
    match &caller.who {
        Who::Person(known) => person(&known.identity),
        Who::Token(token) => Principal::Token(token.id.uuid()),
        Who::Unsynced(identity) => person(identity),
        // Not reached: a request without a credential is refused before.
        Who::Anonymous | Who::System => Principal::Token(Uuid::nil()),
    }
}

/// Credentials verified in the current and the previous minute, stored as hashes with a random seed
/// of this process.
#[derive(Default)]
struct Verified {
    hasher: RandomState,
    minutes: Mutex<Minutes>,
}

#[derive(Default)]
struct Minutes {
    minute: i64,
    current: HashSet<u64>,
    previous: HashSet<u64>,
}

/// Maximum number of credentials remembered per minute. Further credentials are not exempt from the
/// refusal after too many failed credentials.
const MAX_REMEMBERED: usize = 100_000;

impl Verified {
    fn remember(&self, credential: &str, now: Time) {
        let hash = self.hasher.hash_one(credential);
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        minutes.rotate_to(now);
        if minutes.current.len() < MAX_REMEMBERED {
            minutes.current.insert(hash);
        }
    }

    fn holds(&self, credential: &str, now: Time) -> bool {
        let hash = self.hasher.hash_one(credential);
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        minutes.rotate_to(now);
        minutes.current.contains(&hash) || minutes.previous.contains(&hash)
    }
}

impl Minutes {
    fn rotate_to(&mut self, now: Time) {
        let minute = now.timestamp().div_euclid(60);
        if minute == self.minute {
            return;
        }
        let before = std::mem::take(&mut self.current);
        self.previous = if minute == self.minute + 1 { before } else { HashSet::new() };
        self.minute = minute;
    }
}
