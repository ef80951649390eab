//! Authentication: identifies callers by their credentials.

use std::sync::Arc;

use serde_json::Map;

use super::Service;
use crate::crypto::{TokenMac, TokenText};
use crate::engine::time_limit::run_before;
use crate::engine::{AuditContext, Caller, Person, Task, Who, refusals};
use crate::model::{
    Error, Identity, IdentityToken, Origin, Result, SessionId, SessionKind, TeamId, Time,
};
use crate::ports::identity::INVALID_CREDENTIAL;
use crate::sessions::{end_of, resource_type};
use crate::store::{TokenRecord, TokenUse};
use crate::users::{SyncUser, identify};

/// Flag that is true if an authentication is recorded as a use of the session.
struct IsUse(bool);

impl Service {
    /// Authenticates a credential: a service token (`env_…`), a CLI session (`cli_…`), or a token
    /// of the identity provider. Refuses browser sessions (`web_…`), which only
    /// [`authenticate_browser`](Self::authenticate_browser) accepts.
    pub async fn authenticate(&self, credential: &str, origin: Origin) -> Result<Caller> {
        let used = origin.time_used.clone();
        if credential.starts_with("env_") {
            check_format(credential)?;
            return run_before(&self.engine, &used, self.token(credential, origin)).await;
        }
        if credential.starts_with("cli_") {
            check_format(credential)?;
            let session = self.session(credential, SessionKind::Cli, origin);
            return run_before(&self.engine, &used, session).await;
        }
        if credential.starts_with("web_") {
            return Err(INVALID_CREDENTIAL);
        }
        let verifier = self.engine.ports().identity.as_ref().ok_or(INVALID_CREDENTIAL)?;
        let mut identity = verifier.verify(credential).await?;
        if identity.email.is_none() {
            identity.token = Some(IdentityToken::new(credential));
        }
        self.identify(identity, origin).await
    }

    /// Authenticates the credential of a browser session (`web_…`). To prevent CSRF, call this
    /// function only for a credential from a cookie, and only if a page of the service itself sent
    /// the request.
    pub async fn authenticate_browser(&self, credential: &str, origin: Origin) -> Result<Caller> {
        if !credential.starts_with("web_") {
            return Err(INVALID_CREDENTIAL);
        }
        check_format(credential)?;
        let used = origin.time_used.clone();
        let session = self.session(credential, SessionKind::Browser, origin);
        run_before(&self.engine, &used, session).await
    }

    /// Authenticates the caller of an open response again, for example of a stream of events. This
    /// does not count as a use of a browser session: the session expires without other requests,
    /// although the response is open.
    ///
    /// `credential` is the bearer credential of the request; a caller with a session needs none.
    pub async fn authenticate_again(
        &self,
        caller: &Caller,
        credential: Option<&str>,
    ) -> Result<Caller> {
        let origin = caller.origin.clone();
        let Some(session) = caller.session_record() else {
            return self.authenticate(credential.ok_or(INVALID_CREDENTIAL)?, origin).await;
        };
        let used = origin.time_used.clone();
        let is_use = IsUse(session.kind == SessionKind::Cli);
        let again = self.session_by_mac(session.mac, session.kind, origin, is_use);
        run_before(&self.engine, &used, again).await
    }

    /// Loads the caller for an identity that the host application has verified. Does not create an
    /// account.
    pub async fn identify(&self, identity: Identity, origin: Origin) -> Result<Caller> {
        let used = origin.time_used.clone();
        run_before(&self.engine, &used, identify(&self.engine, identity, origin)).await
    }

    /// Signs in a user whose identity the host application has verified. Creates the account and a
    /// personal team at the first sign-in, and updates the profile at later sign-ins.
    pub async fn sign_in(&self, identity: Identity, origin: Origin) -> Result<Caller> {
        let caller = self.identify(identity.clone(), origin.clone()).await?;
        self.run(&caller, SyncUser).await?;
        self.identify(identity, origin).await
    }

    async fn token(&self, text: &str, origin: Origin) -> Result<Caller> {
        let mac = TokenMac::of(self.engine.keyring(), text);
        let mut reads = self.engine.store().read().await?;
        let token = reads.token_by_mac(&mac).await?.ok_or(INVALID_CREDENTIAL)?;
        let now = self.engine.now();
        let (ended, is_known) = (token.is_expired(now), token.has_mac(&mac, now));
        let creator = (token.team, token.created_by);
        let account = self.accounts.of(reads.as_mut(), creator, now).await?;
        drop(reads);
        let token = Arc::new(TokenRecord { mac, ..token });
        let caller = Caller::new(Who::Token(Arc::clone(&token)), origin).counted_against(account);
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

    /// Fails if the service token may not be used from the caller's IP address, and records the
    /// refusal in the audit log. Otherwise records the time of the token's use.
    async fn admit_address(&self, caller: &Caller, token: &TokenRecord, now: Time) -> Result<()> {
        let address = caller.origin.address.map(|address| address.to_canonical());
        let is_within = |address| token.networks.iter().any(|network| network.contains(&address));
        if token.networks.is_empty() || address.is_some_and(is_within) {
            self.uses.remember_token(token, TokenUse { at: now, address });
            return Ok(());
        }
        self.record_denied_use(caller, token, [("reason", "address")]).await;
        Err(Error::AddressNotAllowed("this token may not be used from this address"))
    }

    /// Fails if the task does not allow callers of this kind. The refusal of a service token is
    /// recorded in the audit log.
    pub async fn admit<T: Task>(&self, caller: &Caller) -> Result<()> {
        let admitted = T::CALLERS.admit(caller);
        if let (Err(Error::Forbidden(_)), Who::Token(token)) = (&admitted, &caller.who) {
            let details = [("reason", "credential"), ("operation", T::NAME)];
            let record = async {
                self.record_denied_use(caller, token, details).await;
                Ok(())
            };
            // The request is refused, even if the refusal cannot be recorded in time.
            run_before(&self.engine, &caller.origin.time_used, record).await.ok();
        }
        admitted
    }

    /// Records in the audit log that a request with an existing service token was refused.
    async fn record_denied_use<const N: usize>(
        &self,
        caller: &Caller,
        token: &TokenRecord,
        details: [(&'static str, &'static str); N],
    ) {
        let resource = ("service_token", Some(token.id.uuid()), Some(token.name.to_string()));
        let mut context = AuditContext {
            team: Some(token.team),
            resource: Some(resource),
            ..AuditContext::default()
        };
        let details = details.map(|(name, detail)| (name.to_owned(), detail.into()));
        context.details.extend(details);
        refusals::record(&self.engine, caller, "token.used_denied", context).await;
    }

    async fn session(&self, text: &str, kind: SessionKind, origin: Origin) -> Result<Caller> {
        let mac = TokenMac::of(self.engine.keyring(), text);
        self.session_by_mac(mac, kind, origin, IsUse(true)).await
    }

    /// Loads the caller of a session. If `is_use`, records the time of the session's use or, if the
    /// session has ended, the refusal.
    async fn session_by_mac(
        &self,
        mac: TokenMac,
        kind: SessionKind,
        origin: Origin,
        IsUse(is_use): IsUse,
    ) -> Result<Caller> {
        let mut reads = self.engine.store().read().await?;
        let (mut session, user) = reads.session(&mac).await?.ok_or(INVALID_CREDENTIAL)?;
        if session.mac != mac || session.kind != kind {
            return Err(INVALID_CREDENTIAL);
        }
        self.uses.apply(&mut session);
        let now = self.engine.now();
        let ended = end_of(&session, self.engine.options().sessions) <= now;
        if is_use && !ended {
            self.uses.remember_session(&session, now);
        }
        let identity = Identity {
            email_verified: user.email_verified,
            ..Identity::new(&user.issuer, &user.subject, &user.email)
        };
        let id = session.id;
        let person = Arc::new(Person { user, identity, session: Some(session) });
        let caller = Caller::new(Who::Person(Arc::clone(&person)), origin);
        if is_use && ended {
            let memberships = reads.memberships(person.user.id).await?;
            drop(reads);
            let personal = memberships.into_iter().find(|of| of.is_personal_of(person.user.id));
            let team = personal.map(|membership| membership.team.id);
            self.record_ended_session(&caller, kind, id, team).await;
        }
        if ended { Err(Error::Expired) } else { Ok(caller) }
    }

    /// Records in the audit log that a request with the credential of an ended session was refused.
    async fn record_ended_session(
        &self,
        caller: &Caller,
        kind: SessionKind,
        session: SessionId,
        team: Option<TeamId>,
    ) {
        let context = AuditContext {
            team,
            resource: Some((resource_type(kind), Some(session.uuid()), None)),
            details: Map::from_iter([("reason".to_owned(), "expired".into())]),
            ..AuditContext::default()
        };
        let action = match kind {
            SessionKind::Cli => "cli.used_denied",
            SessionKind::Browser => "browser.used_denied",
        };
        refusals::record(&self.engine, caller, action, context).await;
    }
}

/// Fails if a credential is not in the format of the tokens of this service, for example because it
/// was mistyped. Called before the time limit starts, which makes such refusals cheaper.
fn check_format(credential: &str) -> Result<()> {
    if TokenText::is_plausible(credential) { Ok(()) } else { Err(INVALID_CREDENTIAL) }
}
