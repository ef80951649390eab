//! Loading the caller for an identity that was already verified.

use std::sync::Arc;

use crate::engine::{Caller, Engine, Person, Who};
use crate::model::{Identity, Origin, Result};

/// Loads the caller for an identity that was already verified. Does not create an account for a
/// user without one.
pub(crate) async fn identify(
    engine: &Engine,
    identity: Identity,
    origin: Origin,
) -> Result<Caller> {
    let mut reads = engine.store().read().await?;
    let user = reads.user_by_subject(&identity.issuer, &identity.subject).await?;
    let who = match user {
        Some(user) => Who::Person(Arc::new(Person { user, identity, session: None })),
        None => Who::Unsynced(Arc::new(identity)),
    };
    Ok(Caller::new(who, origin))
}
