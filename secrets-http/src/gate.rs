//! Who comes in: authentication and rate limits, once for every request.
//!
//! A request is counted once: with a valid credential against its principal, otherwise against its
//! address. After 20 failed credentials in a minute an address is refused without a look-up, but
//! for credentials that were verified within the last minute, so that one bad client behind an
//! address does not shut out the good ones.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use secrets_core::Service;
use secrets_core::caller::{Caller, Identity, Origin, Who};
use secrets_core::clock::{Clock, Time};
use secrets_core::error::Error;
use secrets_core::limits::{RateLimiter, Window};
use uuid::Uuid;
use warp::http::HeaderMap;
use warp::http::header::AUTHORIZATION;

use crate::client_address::rate_key;

/// How many requests a minute are taken.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// From an address, without a valid credential; 0 takes all.
    pub per_address: u32,
    /// From a principal; 0 takes all.
    pub per_principal: u32,
}

/// Failed credentials an address may send in a minute.
const FAILURES: u32 = 20;

/// Verifies credentials and counts requests.
pub struct Gate {
    service: Arc<Service>,
    clock: Arc<dyn Clock>,
    addresses: RateLimiter<IpAddr>,
    principals: RateLimiter<Principal>,
    failures: RateLimiter<IpAddr>,
    verified: Verified,
}

/// What the gate says of a request.
pub struct Admission {
    /// The caller, or why there is none.
    pub caller: Result<Caller, Error>,
    /// The window that counted the request, for the headers of the answer.
    pub window: Option<Window>,
}

#[derive(PartialEq, Eq, Hash)]
enum Principal {
    /// Issuer and subject: a person is counted alike before and after their first sign-in.
    Person(String, String),
    Token(Uuid),
}

const MISSING: Error = Error::Unauthenticated("missing credential: send `Authorization: Bearer …`");
const MALFORMED: Error = Error::Unauthenticated("invalid or expired credential");

impl Gate {
    /// A gate before a service.
    pub fn new(service: Arc<Service>, clock: Arc<dyn Clock>, rates: Rates) -> Self {
        let failures = if rates.per_address == 0 { 0 } else { FAILURES };
        Self {
            service,
            clock,
            addresses: RateLimiter::new(rates.per_address),
            principals: RateLimiter::new(rates.per_principal),
            failures: RateLimiter::new(failures),
            verified: Verified::default(),
        }
    }

    /// Counts a request that needs no credential.
    pub fn count(&self, address: IpAddr) -> Option<Window> {
        self.addresses.count(rate_key(address), self.clock.now())
    }

    /// Says who sends a request, and counts it.
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
        let barred = self.failures.look(address, now).filter(|window| !window.admitted);
        if let Some(window) = barred
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

/// Refuses what is over its window.
pub fn within(window: Option<Window>) -> Result<(), Error> {
    match window {
        Some(window) if !window.admitted => Err(Error::RateLimited(window.resets_at)),
        _ => Ok(()),
    }
}

/// The credential of a request: one `Authorization` header of the scheme `Bearer` (RFC 6750).
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
        // Without a credential nobody gets this far.
        Who::Anonymous => Principal::Token(Uuid::nil()),
    }
}

/// Credentials verified in the current and the previous minute, as hashes under a key of this
/// process.
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

/// The most credentials remembered from one minute; those beyond are merely looked up.
const REMEMBERED: usize = 100_000;

impl Verified {
    fn remember(&self, credential: &str, now: Time) {
        let hash = self.hasher.hash_one(credential);
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        minutes.turn(now);
        if minutes.current.len() < REMEMBERED {
            minutes.current.insert(hash);
        }
    }

    fn holds(&self, credential: &str, now: Time) -> bool {
        let hash = self.hasher.hash_one(credential);
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        minutes.turn(now);
        minutes.current.contains(&hash) || minutes.previous.contains(&hash)
    }
}

impl Minutes {
    fn turn(&mut self, now: Time) {
        let minute = now.timestamp().div_euclid(60);
        if minute == self.minute {
            return;
        }
        let before = std::mem::take(&mut self.current);
        self.previous = if minute == self.minute + 1 { before } else { HashSet::new() };
        self.minute = minute;
    }
}
