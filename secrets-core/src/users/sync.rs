//! Signing in with a token of the identity provider.

use super::User;
use super::locked_user;
use crate::engine::{Audit, Caller, Callers, Context, Engine, Operation, Read, Task, Write};
use crate::model::names::is_invisible;
use crate::model::{
    DisplayName, EmailAddress, Error, Identity, Result, Role, Slug, Subject, TeamId, Time, UserId,
};
use crate::store::{MemberRecord, StoreError, TeamRecord, UserRecord};
use crate::teams;

/// Task that creates or updates the caller's account from the claims of the identity provider's
/// token. A new user gets a personal team. If the token contains no e-mail address, the service
/// requests the user's current claims from the identity provider.
///
/// With a session, the task only returns the user: a session has no claims of the identity
/// provider, so its use is not a sign-in.
#[derive(Debug)]
pub struct SyncUser;

/// Last step of a sign-in: stores the user's claims.
#[derive(Debug)]
struct ConcludeSignIn {
    identity: Identity,
}

/// Loads the caller's account without changes.
#[derive(Debug)]
struct ReadAccount;

impl Task for SyncUser {
    const NAME: &'static str = <ConcludeSignIn as Operation>::NAME;
    const CALLERS: Callers = <ConcludeSignIn as Operation>::CALLERS;
    type Output = User;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<User> {
        if caller.session().is_some() {
            return engine.perform(caller, ReadAccount).await;
        }
        let mut identity = caller.identity()?.clone();
        if let (Some(token), Some(verifier)) = (identity.token.take(), &engine.ports().identity) {
            identity = verifier.enrich(token.reveal(), identity).await?;
        }
        engine.perform(caller, ConcludeSignIn { identity }).await
    }
}

impl Operation for ConcludeSignIn {
    const NAME: &'static str = "user.sync";
    const CALLERS: Callers = Callers::Identities;
    const AUDIT: Audit = Audit::Change("user.synced");
    type Access = Write;
    type Output = User;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<User> {
        let user = match cx.caller.account() {
            Some(user) => refresh(cx, user, &self.identity).await?,
            None => create_account(cx, &self.identity).await?,
        };
        // No e-mail address here: it is stored with the actor, where it can be erased.
        cx.audit.actor = Some(user.id.uuid());
        cx.audit.resource = Some(("user", Some(user.id.uuid()), None));
        let memberships = cx.reads().memberships(user.id).await?;
        // Sign-ins are recorded in the audit log of the user's personal team.
        let own = memberships.iter().find(|own| own.is_personal_of(user.id));
        cx.audit.team = own.map(|own| own.team.id);
        Ok(User::new(user, memberships))
    }
}

impl Operation for ReadAccount {
    const NAME: &'static str = <ConcludeSignIn as Operation>::NAME;
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = User;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<User> {
        let id = cx.caller.person()?.id;
        let user = cx.reads().user(id).await?.ok_or(Error::NotFound(Subject::User))?;
        let memberships = cx.reads().memberships(id).await?;
        Ok(User::new(user, memberships))
    }
}

async fn create_account(cx: &mut Context<'_, Write>, identity: &Identity) -> Result<UserRecord> {
    let user = new_user(identity, cx.now())?;
    match cx.tx().insert_user(&user).await {
        Ok(()) => {}
        // Two concurrent first sign-ins: the other sign-in has created the account and the team.
        Err(StoreError::Duplicate(_)) => {
            let known = cx.reads().user_by_subject(&identity.issuer, &identity.subject).await?;
            return refresh(cx, known.ok_or(Error::NotFound(Subject::User))?.id, identity).await;
        }
        Err(error) => return Err(error.into()),
    }
    let team = personal_team(cx, &user);
    let team = teams::insert(cx, team).await?;
    let member = MemberRecord::new(team.id, &user, Role::Owner, cx.now());
    cx.tx().insert_member(&member).await?;
    cx.audit.action = Some("user.created");
    Ok(user)
}

async fn refresh(
    cx: &mut Context<'_, Write>,
    user: UserId,
    identity: &Identity,
) -> Result<UserRecord> {
    let known = locked_user(cx, user).await?;
    let now = cx.now();
    let mut user = UserRecord { last_login_at: Some(now), ..merge(&known, identity)? };
    let same = UserRecord { last_login_at: known.last_login_at, ..user.clone() } == known;
    user.updated_at = if same { known.updated_at } else { now };
    cx.tx().update_user(&user).await?;
    Ok(user)
}

/// Returns the user record with the identity provider's current claims. Fields whose claims are
/// missing keep their old values.
fn merge(known: &UserRecord, identity: &Identity) -> Result<UserRecord> {
    let email = match &identity.email {
        Some(email) => address(email)?,
        None => known.email.clone(),
    };
    let keep = |claim: &Option<String>, before: &Option<String>| {
        claim.as_deref().and_then(sanitized).or(before.clone())
    };
    Ok(UserRecord {
        email_verified: if identity.email.is_some() {
            identity.email_verified
        } else {
            known.email_verified
        },
        name: merged_name(known, identity),
        first_name: keep(&identity.given_name, &known.first_name),
        last_name: keep(&identity.family_name, &known.last_name),
        avatar_url: keep(&identity.picture, &known.avatar_url),
        email,
        ..known.clone()
    })
}

fn merged_name(known: &UserRecord, identity: &Identity) -> String {
    let name = identity.name.as_deref().filter(|_| !known.is_name_chosen).and_then(sanitized);
    name.unwrap_or_else(|| known.name.clone())
}

fn new_user(identity: &Identity, now: Time) -> Result<UserRecord> {
    // Some stores cannot hold all characters, and people cannot distinguish users by invisible
    // characters.
    if identity.issuer.chars().chain(identity.subject.chars()).any(is_invisible) {
        return Err(Error::Unauthenticated(
            "the token's `sub` claim contains invisible characters",
        ));
    }
    let email = identity.email.as_deref().ok_or(Error::Unauthenticated(
        "the token has no `email` claim and the identity provider returns none",
    ))?;
    let email = address(email)?;
    let local = email.split('@').next().unwrap_or_default().to_owned();
    let name = identity.name.as_deref().and_then(sanitized).unwrap_or(local);
    Ok(UserRecord {
        id: UserId::draw(now),
        issuer: identity.issuer.clone(),
        subject: identity.subject.clone(),
        email_verified: identity.email_verified,
        first_name: identity.given_name.as_deref().and_then(sanitized),
        last_name: identity.family_name.as_deref().and_then(sanitized),
        avatar_url: identity.picture.as_deref().and_then(sanitized),
        email,
        name,
        is_name_chosen: false,
        created_at: now,
        updated_at: now,
        last_login_at: Some(now),
    })
}

fn personal_team(cx: &Context<'_, Write>, user: &UserRecord) -> TeamRecord {
    let owner: String = user.name.chars().take(90).collect();
    let name = format!("{owner}'s Team").parse().unwrap_or_else(|_| DisplayName::personal());
    TeamRecord {
        id: TeamId::draw(cx.now()),
        slug: Slug::suggested(&name, "team"),
        name,
        is_personal: true,
        plan: cx.options().plans.default_plan().name.clone(),
        created_by: user.id,
        created_at: cx.now(),
        updated_at: cx.now(),
    }
}

/// Validates the `email` claim and converts it to lower case, as it is stored. An invalid address
/// is an authentication error.
fn address(claim: &str) -> Result<String> {
    let address = claim.parse::<EmailAddress>();
    address
        .map(Into::into)
        .map_err(|_| Error::Unauthenticated("the token's `email` claim is not an e-mail address"))
}

/// Cleans up a claim that will be displayed: removes invisible characters and truncates the string
/// to 255 characters. Returns `None` if nothing remains.
fn sanitized(claim: &str) -> Option<String> {
    let sanitized: String = claim.trim().chars().filter(|c| !is_invisible(*c)).take(255).collect();
    (!sanitized.is_empty()).then_some(sanitized)
}
