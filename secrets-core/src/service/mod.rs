//! The service: authenticates callers and performs operations.

mod health;
mod purge;
mod start;
mod uses;
mod verify;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::future::try_join_all;

pub use health::Health;
pub use start::StartError;
pub use verify::VerifiedRecords;

use self::uses::Uses;
use crate::access::MemberAccess;
use crate::audit::{AuditQueue, Note};
use crate::billing::{NoProvider, PaymentProvider};
use crate::caller::{Caller, Identity, IdentityVerifier, Origin, Person, Unverified, Who};
use crate::clock::{Clock, Time};
use crate::crypto::{Keyring, RootKeys, TokenMac, TokenText};
use crate::device_login::{GUESSES, Guesser};
use crate::egress::EgressPolicy;
use crate::error::{Error, Result};
use crate::ids::RotationId;
use crate::limits::{Plans, RateLimiter};
use crate::links::BaseUrl;
use crate::operation::{Access, Audit, Context, Operation};
use crate::outbox::Mail;
use crate::rotations::webhooks::{Receivers, WebhookSender};
use crate::rotations::{Rotators, Seats};
use crate::scans::engine::Rules;
use crate::store::{AuditRecord, Store, TokenUse};

/// External dependencies of the service.
#[derive(Clone)]
pub struct Ports {
    /// Store of all records.
    pub store: Arc<dyn Store>,
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Root key, which encrypts the key of the installation.
    pub root: Arc<dyn RootKeys>,
    /// Verifier of identity provider tokens.
    pub identity: Arc<dyn IdentityVerifier>,
    /// Mailer. Without it, no mail is sent and inviters receive the invitation link instead.
    pub mail: Option<Mail>,
    /// Rotation drivers. Without them, no credentials are rotated.
    pub rotators: Option<Rotators>,
    /// Webhook sender. Without it, webhook deliveries stay queued.
    pub webhooks: Option<Arc<dyn WebhookSender>>,
}

/// Configuration of the service.
#[derive(Debug, Clone)]
pub struct Options {
    /// Plans and their limits.
    pub plans: Plans,
    /// Payment provider.
    pub payments: Arc<dyn PaymentProvider>,
    /// E-mail addresses of operators, who may change the plan of any team.
    pub operators: Vec<String>,
    /// Access of team members to environments for which no permission is set.
    pub member_access: MemberAccess,
    /// True if reads of secret values are recorded in the audit log. Exports are always recorded.
    pub audit_reads: bool,
    /// Rules for scans; the built-in rules if none.
    pub scan_rules: Option<Arc<Rules>>,
    /// Network addresses that webhooks and rotations may connect to.
    pub egress: EgressPolicy,
    /// Base URL of links for callers without a request URL; if not set, the server's own listening
    /// address.
    pub links: BaseUrl,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            plans: Plans::default(),
            payments: Arc::new(NoProvider),
            operators: Vec::new(),
            member_access: MemberAccess::Write,
            audit_reads: true,
            scan_rules: None,
            egress: EgressPolicy::default(),
            links: BaseUrl::default(),
        }
    }
}

/// The secrets service.
pub struct Service {
    ports: Ports,
    options: Options,
    keyring: Keyring,
    audit: AuditQueue,
    guesses: RateLimiter<Guesser>,
    receivers: Receivers,
    uses: Uses,
    seats: Arc<Seats>,
    /// Rotations whose attempt was left unfinished by an error while this process kept running.
    left: Mutex<BTreeSet<RotationId>>,
}

/// The same text for every invalid credential, so that it does not reveal the reason.
const INVALID: Error = Error::Unauthenticated("invalid or expired credential");

impl Service {
    /// Opens the service on its store. Creates the installation if the store is empty; fails if the
    /// keys and the stored data do not match.
    pub async fn open(ports: Ports, options: Options) -> std::result::Result<Self, StartError> {
        let keyring = start::keyring(&ports).await?;
        Ok(Self {
            ports,
            options,
            keyring,
            audit: AuditQueue::default(),
            guesses: RateLimiter::new(GUESSES),
            receivers: Receivers::default(),
            uses: Uses::default(),
            seats: Arc::default(),
            left: Mutex::default(),
        })
    }

    /// Authenticates a credential: a service token (`env_…`), a CLI session (`cli_…`), or a token
    /// of the identity provider.
    pub async fn authenticate(&self, credential: &str, origin: Origin) -> Result<Caller> {
        if credential.starts_with("env_") {
            return self.token(credential, origin).await;
        }
        if credential.starts_with("cli_") {
            return self.cli_session(credential, origin).await;
        }
        let identity =
            self.ports.identity.verify(credential).await.map_err(|error| match error {
                Unverified::Invalid => INVALID,
                Unverified::Unavailable(cause) => Error::Unavailable(cause),
            })?;
        let mut caller = self.identify(identity, origin).await?;
        if let Who::Unsynced(identity) = &mut caller.who
            && identity.email.is_none()
        {
            let known = Identity::clone(identity);
            *identity = Arc::new(self.ports.identity.enrich(credential, known).await);
        }
        Ok(caller)
    }

    /// Loads the caller for an identity that the host has already verified.
    pub async fn identify(&self, identity: Identity, origin: Origin) -> Result<Caller> {
        let mut reads = self.ports.store.read().await?;
        let user = reads.user_by_subject(&identity.issuer, &identity.subject).await?;
        let who = match user {
            Some(user) => Who::Person(Arc::new(Person { user, identity, session: None })),
            None => Who::Unsynced(Arc::new(identity)),
        };
        Ok(Caller { who, origin })
    }

    async fn token(&self, text: &str, origin: Origin) -> Result<Caller> {
        if !TokenText::is_plausible(text) {
            return Err(INVALID);
        }
        let mac = TokenMac::of(&self.keyring, text);
        let mut reads = self.ports.store.read().await?;
        let token = reads.token_by_mac(&mac).await?.ok_or(INVALID)?;
        let now = self.now();
        let ended = token.expires_at.is_some_and(|end| end <= now);
        let previous = token.previous.filter(|previous| now < previous.until);
        let is_known = token.mac == mac || previous.is_some_and(|previous| previous.mac == mac);
        if ended || !is_known {
            return Err(INVALID);
        }
        drop(reads);
        let caller = Caller { who: Who::Token(Arc::new(token)), origin };
        self.admit_address(&caller, now).await?;
        Ok(caller)
    }

    /// Fails if the token may not be used from the caller's address, and records the denial in the
    /// audit log. Otherwise remembers the time of use.
    async fn admit_address(&self, caller: &Caller, now: Time) -> Result<()> {
        let Who::Token(token) = &caller.who else { return Ok(()) };
        let address = caller.origin.address.map(|address| address.to_canonical());
        let is_within = |address| token.networks.iter().any(|network| network.contains(&address));
        if token.networks.is_empty() || address.is_some_and(is_within) {
            self.uses.remember(token, TokenUse { at: now, address });
            return Ok(());
        }
        let resource = ("service_token", Some(token.id.uuid()), Some(token.name.to_string()));
        let note = Note { team: Some(token.team), resource: Some(resource), ..Note::default() };
        let entry = note.into_entry(caller, "token.used_denied", now);
        self.record(AuditRecord { outcome: "denied".to_owned(), ..entry }).await?;
        Err(Error::Elsewhere("this token may not be used from this address"))
    }

    /// Writes the pending last-used times of tokens. The host calls it periodically and before it
    /// stops.
    pub async fn write_token_uses(&self) -> Result<()> {
        self.uses.write(self.ports.store.as_ref()).await.map_err(Into::into)
    }

    async fn cli_session(&self, text: &str, origin: Origin) -> Result<Caller> {
        if !TokenText::is_plausible(text) {
            return Err(INVALID);
        }
        let mac = TokenMac::of(&self.keyring, text);
        let mut reads = self.ports.store.read().await?;
        let (session, user) = reads.cli_session(&mac).await?.ok_or(INVALID)?;
        if session.expires_at <= self.now() || session.mac != mac {
            return Err(INVALID);
        }
        let identity = Identity {
            email_verified: user.email_verified,
            ..Identity::new(&user.issuer, &user.subject, &user.email)
        };
        let person = Person { user, identity, session: Some(session.id) };
        Ok(Caller { who: Who::Person(Arc::new(person)), origin })
    }

    /// Performs an operation atomically. Errors roll back all of its changes.
    pub async fn perform<O: Operation>(&self, caller: &Caller, operation: O) -> Result<O::Output> {
        O::CALLERS.admit(caller)?;
        let mut cx = Context::<O::Access>::open(self, caller).await?;
        let output = operation.run(&mut cx).await?;
        let (mut session, note, now) = cx.into_parts();
        match O::AUDIT {
            Audit::Nothing => O::Access::finish(session).await?,
            Audit::Change(action) => {
                let entry = note.into_entry(caller, action, now);
                O::Access::record(&mut session, &entry).await?;
                O::Access::finish(session).await?;
            }
            Audit::Read(_) if !self.options.audit_reads => {}
            Audit::Read(_) | Audit::Export(_) if note.is_unrecorded => {}
            Audit::Read(action) | Audit::Export(action) => {
                // Close the reader first: recording waits for other requests and for the disk.
                drop(session);
                let entries = note.into_entries(caller, action, now).into_iter();
                try_join_all(entries.map(|entry| self.record(entry))).await?;
            }
        }
        Ok(output)
    }

    async fn record(&self, entry: AuditRecord) -> Result<()> {
        let store = self.ports.store.as_ref();
        self.audit
            .record(store, entry)
            .await
            .map_err(|_| Error::Unavailable("the audit log cannot be written".into()))
    }

    pub(crate) fn now(&self) -> Time {
        self.ports.clock.now()
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.ports.store.as_ref()
    }

    pub(crate) fn mail(&self) -> Option<&Mail> {
        self.ports.mail.as_ref()
    }

    pub(crate) fn rotators(&self) -> Option<&Rotators> {
        self.ports.rotators.as_ref()
    }

    pub(crate) fn rotation_seats(&self) -> &Arc<Seats> {
        &self.seats
    }

    pub(crate) fn left(&self) -> &Mutex<BTreeSet<RotationId>> {
        &self.left
    }

    pub(crate) fn webhooks(&self) -> Option<&dyn WebhookSender> {
        self.ports.webhooks.as_deref()
    }

    pub(crate) fn receivers(&self) -> &Receivers {
        &self.receivers
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn guesses(&self) -> &RateLimiter<Guesser> {
        &self.guesses
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.keyring
    }
}
