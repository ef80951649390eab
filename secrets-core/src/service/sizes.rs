//! Sizes of a database: its number of rows, and the teams that are near a limit of their plan.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use crate::billing::Uses;
use crate::model::{Plans, TeamId};
use crate::store::{Store, StoreResult};

/// Percentage of a limit from which a resource is reported as near the limit.
const NEAR_PERCENT: u64 = 80;

/// Size of a database: bytes, rows of each table, and teams near a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Size of the database in bytes; `None` for a store in memory.
    pub database_bytes: Option<u64>,
    /// Number of rows in each table.
    pub tables: BTreeMap<&'static str, u64>,
    /// Resources of teams that use at least 80 % of the limit of their plan.
    pub near_limits: Vec<NearLimit>,
}

/// Resource of a team that uses at least 80 % of the limit of its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NearLimit {
    /// Team ID.
    pub team_id: TeamId,
    /// Name of the quota whose limit is nearly reached.
    pub quota: &'static str,
    /// Amount that counts against the limit.
    pub used: u64,
    /// Maximum amount that the plan allows.
    pub limit: u64,
}

/// Reads the size of a database, the number of rows of its tables, and the teams near a limit. A
/// service may use the database at the same time. `plans` are the plans of the service, which
/// contain the limits.
pub async fn sizes(store: &dyn Store, plans: &Plans) -> StoreResult<Sizes> {
    let mut reads = store.read().await?;
    let size = reads.size().await?.unwrap_or_default();
    let mut sizes = Sizes {
        database_bytes: size.bytes,
        tables: size.tables.into_iter().collect(),
        ..Sizes::default()
    };
    let mut from = Some(Uuid::nil());
    while let Some(next) = from {
        let Some(team) = reads.next_team(next.into()).await? else { break };
        let usage = reads.team_usage(team.id).await?;
        let resources = Uses::new(&plans.of_team(&team.plan), usage);
        for (quota, resource) in resources.limited() {
            let (Some(used), Some(limit)) = (resource.used, resource.limit) else { continue };
            let is_near = u128::from(used) * 100 >= u128::from(limit) * u128::from(NEAR_PERCENT);
            if is_near && used > 0 {
                let (team_id, quota) = (team.id, quota.as_str());
                sizes.near_limits.push(NearLimit { team_id, quota, used, limit });
            }
        }
        from = team.id.uuid().as_u128().checked_add(1).map(Uuid::from_u128);
    }
    Ok(sizes)
}
