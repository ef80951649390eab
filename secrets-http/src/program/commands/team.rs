//! `team owner`: makes a member the owner of a team, on behalf of the operator.

use std::sync::Arc;

use secrets_core::members::{NotAppointed, appoint_owner};
use secrets_core::model::{Clock, ids};

use super::{open, say};
use crate::program::config::{Exit, Failure, TeamOwner};

pub(super) async fn appoint(
    owner: &TeamOwner,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&owner.logs, &unknown)?;
    let team = ids::parse(&owner.team)
        .ok_or_else(|| Failure::new(Exit::Usage, "--team must be the ID of a team, a UUID"))?;
    let store = open::existing_store(&owner.database).await?;
    let appointed = appoint_owner(store.as_ref(), team.into(), &owner.member, clock.as_ref()).await;
    store.close().await.map_err(|error| open::unusable(&error))?;
    let appointed = appointed.map_err(|error| match error {
        NotAppointed::Store(error) => open::unusable(&error),
        refused => Failure::new(Exit::Usage, refused.to_string()),
    })?;
    say(&format!("{} ({}) is an owner of the team {team}", appointed.name, appointed.user));
    Ok(())
}
