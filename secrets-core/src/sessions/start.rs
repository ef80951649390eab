//! Starting a browser session: signing in with a browser.

use serde::Serialize;

use super::user_agent;
use super::{NewSession, create, resource_type};
use crate::crypto::TokenText;
use crate::engine::{Audit, Caller, Callers, Context, Engine, Lock, Operation, Task, Write};
use crate::model::{Identity, Result, SessionKind, Subject, Time};
use crate::store::DeviceClient;
use crate::users::{SyncUser, User, identify};

/// Signs in a browser for an identity that the host application has verified. Creates or updates
/// the account like [`SyncUser`], and creates a session.
///
/// Host applications must verify the identity before they call this operation, because it is not
/// checked again.
#[derive(Debug)]
pub struct StartBrowserSession {
    /// Verified identity of the user who signs in.
    pub identity: Identity,
    /// `User-Agent` header of the browser; `None` if the browser sent none.
    pub user_agent: Option<String>,
}

/// A new browser session.
#[derive(Debug, Serialize)]
pub struct BrowserSession {
    /// Credential of the session. Returned only once.
    #[serde(serialize_with = "crate::crypto::revealed")]
    pub token: TokenText,
    /// User that the session acts as.
    pub user: User,
    /// Expiry time. The session ends earlier if no requests are made with it.
    pub expires_at: Time,
}

/// Last step of a browser sign-in: inserts the session.
#[derive(Debug)]
struct InsertSession {
    client: DeviceClient,
}

/// Credential and expiry time of the inserted session.
#[derive(Debug, Serialize)]
struct Inserted {
    #[serde(serialize_with = "crate::crypto::revealed")]
    token: TokenText,
    expires_at: Time,
}

impl Task for StartBrowserSession {
    const NAME: &'static str = "browser_session.start";
    const CALLERS: Callers = Callers::Public;
    type Output = BrowserSession;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<BrowserSession> {
        let Self { identity, user_agent } = self;
        let origin = &caller.origin;
        let signing_in = identify(engine, identity.clone(), origin.clone()).await?;
        let user = SyncUser.run(engine, &signing_in).await?;
        let signed_in = identify(engine, identity, origin.clone()).await?;
        let (name, os) = user_agent.as_deref().map(user_agent::read).unwrap_or_default();
        let client = DeviceClient { name, hostname: None, os, address: origin.address };
        let Inserted { token, expires_at } =
            engine.perform(&signed_in, InsertSession { client }).await?;
        Ok(BrowserSession { token, user, expires_at })
    }
}

impl Operation for InsertSession {
    const NAME: &'static str = <StartBrowserSession as Task>::NAME;
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("browser.signed_in");
    type Access = Write;
    type Output = Inserted;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Inserted> {
        let user = cx.caller.person()?.id;
        cx.lock(Lock::User(user)).await.map_err(|error| error.or_not_found(Subject::User))?;
        let (kind, lifetime) = (SessionKind::Browser, cx.options().sessions.absolute);
        let (session, token) =
            create(cx, user, NewSession { kind, client: self.client, lifetime }).await?;
        cx.audit.team = cx.personal_team().await?;
        let name = session.client.name.as_ref().map_or("", |name| name.as_str());
        cx.set_resource(resource_type(kind), session.id.uuid(), name);
        Ok(Inserted { token, expires_at: session.expires_at })
    }
}
