//! Authentication: identifies callers by their credentials.

use std::sync::Arc;

use serde_json::Map;

use super::Service;
use crate::crypto::{TokenMac, TokenText};
use crate::engine::{AuditContext, Caller, Person, Task, Who, refusals};
use crate::model::{Error, Identity, IdentityToken, Origin, Result, Time};
use crate::ports::identity::INVALID_CREDENTIAL;
use crate::store::{TokenRecord, TokenUse};
use crate::users::SyncUser;

impl Service {
    /// Authenticates a credential: a service token (`env_…`), a CLI session (`cli_…`), or a token
    /// of the identity provider.
    pub async fn authenticate(&self, credential: &str, origin: Origin) -> Result<Caller> {
        if credential.starts_with("env_") {
            return self.token(credential, origin).await;
        }
        if credential.starts_with("cli_") {
            return self.cli_session(credential, origin).await;
        }
        let verifier = self.engine.ports().identity.as_ref().ok_or(INVALID_CREDENTIAL)?;
        let mut identity = verifier.verify(credential).await?;
        if identity.email.is_none() {
            identity.token = Some(IdentityToken::new(credential));
        }
        self.identify(identity, origin).await
    }

    /// Loads the caller for an identity that the host application has verified. Does not create an
    /// account.
    pub async fn identify(&self, identity: Identity, origin: Origin) -> Result<Caller> {
        let mut reads = self.engine.store().read().await?;
        let user = reads.user_by_subject(&identity.issuer, &identity.subject).await?;
        let who = match user {
            Some(user) => Who::Person(Arc::new(Person { user, identity, session: None })),
            None => Who::Unsynced(Arc::new(identity)),
        };
        Ok(Caller { who, origin })
    }

    /// Signs in a user whose identity the host application has verified. Creates the account and a
    /// personal team at the first sign-in, and updates the profile at later ones.
    pub async fn sign_in(&self, identity: Identity, origin: Origin) -> Result<Caller> {
        let caller = self.identify(identity.clone(), origin.clone()).await?;
        self.run(&caller, SyncUser).await?;
        self.identify(identity, origin).await
    }

    async fn token(&self, text: &str, origin: Origin) -> Result<Caller> {
        if !TokenText::is_plausible(text) {
            return Err(INVALID_CREDENTIAL);
        }
        let mac = TokenMac::of(self.engine.keyring(), text);
        let mut reads = self.engine.store().read().await?;
        let token = reads.token_by_mac(&mac).await?.ok_or(INVALID_CREDENTIAL)?;
        let now = self.engine.now();
        let ended = token.expires_at.is_some_and(|end| end <= now);
        let previous = token.previous.filter(|previous| now < previous.until);
        let is_known = token.mac == mac || previous.is_some_and(|previous| previous.mac == mac);
        drop(reads);
        let token = Arc::new(token);
        let caller = Caller { who: Who::Token(Arc::clone(&token)), origin };
        if ended || !is_known {
            let (reason, error) = if is_known {
                ("expired", Error::Expired)
            } else {
                ("rotated", INVALID_CREDENTIAL)
            };
            self.record_denied_use(&caller, &token, [("reason", reason)]).await;
            return Err(error);
        }
        self.admit_address(&caller, &token, now).await?;
        Ok(caller)
    }

    /// Fails if the token may not be used from the caller's address, and records the denial in the
    /// audit log. Otherwise remembers the time of use.
    async fn admit_address(&self, caller: &Caller, token: &TokenRecord, now: Time) -> Result<()> {
        let address = caller.origin.address.map(|address| address.to_canonical());
        let is_within = |address| token.networks.iter().any(|network| network.contains(&address));
        if token.networks.is_empty() || address.is_some_and(is_within) {
            self.uses.remember(token, TokenUse { at: now, address });
            return Ok(());
        }
        self.record_denied_use(caller, token, [("reason", "address")]).await;
        Err(Error::AddressNotAllowed("this token may not be used from this address"))
    }

    /// Fails if callers of this kind may not perform the task, and records the refusal in the audit
    /// log.
    pub async fn admit<T: Task>(&self, caller: &Caller) -> Result<()> {
        let admitted = T::CALLERS.admit(caller);
        if let (Err(Error::Forbidden(_)), Who::Token(token)) = (&admitted, &caller.who) {
            let details = [("reason", "credential"), ("operation", T::NAME)];
            self.record_denied_use(caller, token, details).await;
        }
        admitted
    }

    /// Records the refused use of a service token that exists.
    async fn record_denied_use<const N: usize>(
        &self,
        caller: &Caller,
        token: &TokenRecord,
        details: [(&'static str, &'static str); N],
    ) {
        let resource = ("service_token", Some(token.id.uuid()), Some(token.name.to_string()));
        let mut note = AuditContext {
            team: Some(token.team),
            resource: Some(resource),
            ..AuditContext::default()
        };
        let details = details.map(|(name, detail)| (name.to_owned(), detail.into()));
        note.details.extend(details);
        refusals::record(&self.engine, caller, "token.used_denied", note).await;
    }

    async fn cli_session(&self, text: &str, origin: Origin) -> Result<Caller> {
        if !TokenText::is_plausible(text) {
            return Err(INVALID_CREDENTIAL);
        }
        let mac = TokenMac::of(self.engine.keyring(), text);
        let mut reads = self.engine.store().read().await?;
        let (session, user) = reads.cli_session(&mac).await?.ok_or(INVALID_CREDENTIAL)?;
        if session.mac != mac {
            return Err(INVALID_CREDENTIAL);
        }
        let identity = Identity {
            email_verified: user.email_verified,
            ..Identity::new(&user.issuer, &user.subject, &user.email)
        };
        let person = Arc::new(Person { user, identity, session: Some(session.id) });
        let caller = Caller { who: Who::Person(Arc::clone(&person)), origin };
        if session.expires_at <= self.engine.now() {
            let memberships = reads.memberships(person.user.id).await?;
            drop(reads);
            let personal = memberships.into_iter().find(|of| of.is_personal_of(person.user.id));
            let note = AuditContext {
                team: personal.map(|membership| membership.team.id),
                resource: Some(("cli_session", Some(session.id.uuid()), None)),
                details: Map::from_iter([("reason".to_owned(), "expired".into())]),
                ..AuditContext::default()
            };
            refusals::record(&self.engine, &caller, "cli.used_denied", note).await;
            return Err(Error::Expired);
        }
        Ok(caller)
    }
}
