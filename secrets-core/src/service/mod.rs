//! The service: the one door through which everything is done.

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

/// The world outside, as the service needs it.
#[derive(Clone)]
pub struct Ports {
    /// Where records are kept.
    pub store: Arc<dyn Store>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What wraps the installation's key.
    pub root: Arc<dyn RootKeys>,
    /// Whose tokens people bring.
    pub identity: Arc<dyn IdentityVerifier>,
    /// How mail is sent; without it, inviters are told where invitations are accepted.
    pub mail: Option<Mail>,
    /// How credentials are rotated; without it, none are.
    pub rotators: Option<Rotators>,
    /// How webhooks are told; without it, what is for them waits.
    pub webhooks: Option<Arc<dyn WebhookSender>>,
}

/// The operator's choices.
#[derive(Debug, Clone)]
pub struct Options {
    /// What teams may use.
    pub plans: Plans,
    /// How teams pay.
    pub payments: Arc<dyn PaymentProvider>,
    /// The addresses of those who may put a team on another plan.
    pub operators: Vec<String>,
    /// What members may do in an environment that nobody restricted.
    pub member_access: MemberAccess,
    /// Whether reads of values are recorded. Exports always are.
    pub audit_reads: bool,
    /// What scans look for; what comes with the service where nothing is given.
    pub scan_rules: Option<Arc<Rules>>,
    /// Where webhooks and rotations may connect to.
    pub egress: EgressPolicy,
    /// Where links begin for callers that did not come by an address; where nothing is said, what
    /// the server listens on by itself.
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
    /// The rotations that this process left unfinished without dying.
    left: Mutex<BTreeSet<RotationId>>,
}

/// One text for every credential that proves nothing, so that it does not tell why.
const INVALID: Error = Error::Unauthenticated("invalid or expired credential");

impl Service {
    /// Opens the service over its store: makes the installation where there is none and nothing
    /// else, refuses where keys and data do not belong together.
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

    /// Says whose credential this is: a service token (`env_…`) or a token of the identity provider.
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

    /// The caller behind an identity that the host has verified itself.
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

    /// Refuses a token from where it may not be used, and remembers a use from where it may.
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

    /// Writes when tokens were last used. The host calls it now and then, and before it ends.
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

    /// Performs an operation: entirely, or not at all.
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
                // The reader goes back first: recording waits for others and for the disk.
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
