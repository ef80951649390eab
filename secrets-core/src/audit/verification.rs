//! Verifying the audit chain of a team.

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;

use serde::Serialize;

use super::chain::{Defect, VerifiedChain, verify_newest};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::limits::Turns;
use crate::model::{Error, Permission, Result, Subject, TeamId, Time, UserId};
use crate::store::AuditScope;

/// Maximum number of audit entries that one request verifies. Entries that are appended to the
/// chain meanwhile are verified in addition.
const MAX_VERIFIED: u64 = 5_000;

/// Maximum number of audit entries that one request counts as not sealed.
const MAX_UNSEALED: u32 = 10_000;

/// Result of the verification of a team's audit chain: of its newest 5,000 entries, and of its
/// stored start and end.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditVerification {
    /// Team ID.
    pub team_id: TeamId,
    /// Status of the audit chain.
    pub status: ChainStatus,
    /// Number of audit entries that were verified as unchanged: about 5,000 at most.
    pub checked: u64,
    /// Number of older audit entries, which were not verified.
    pub unchecked: u64,
    /// Position in the audit chain of the first entry that was verified as unchanged; absent if
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_position: Option<u64>,
    /// Position in the audit chain of the last entry that was verified as unchanged; absent if
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_position: Option<u64>,
    /// Time of the last entry that was verified as unchanged; absent if there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_until: Option<Time>,
    /// First position in the audit chain at which an entry was changed, removed or inserted. Absent
    /// if the chain is valid, or if its stored start or end was changed or deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_position: Option<u64>,
    /// Number of audit entries that have not been appended to the audit chain yet, without those
    /// that were appended during the verification. At most 10,000 are counted.
    pub unsealed: u64,
}

/// Status of an audit chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ChainStatus {
    /// All verified entries are unchanged.
    Valid,
    /// Something other than the service has changed the chain.
    Broken,
}

/// Verifies the newest entries of a team's audit chain.
#[derive(Debug)]
pub struct VerifyAudit {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
}

impl Operation for VerifyAudit {
    const NAME: &'static str = "audit.verify";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = AuditVerification;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<AuditVerification> {
        let unknown = || Error::NotFound(Subject::Team);
        let team = self.team.ok_or_else(unknown)?;
        cx.team(team, Permission::Manage, unknown()).await?;
        // Append the entries of reads to the chain, so that they are verified too. Also releases
        // the database connection, which must not be held while waiting for a turn.
        cx.complete_audit_log().await?;
        // Wait for the same turns as `ListAudit`: only one query of the log runs at a time for each
        // account and each team.
        let (accounts, teams) = (cx.shared::<Turns<UserId>>(), cx.shared::<Turns<AuditScope>>());
        let _account = accounts.acquire(cx.caller.person()?.id).await;
        let _team = teams.acquire(AuditScope::Team(team)).await;
        let chain = verify_newest(cx.engine, Some(team), MAX_VERIFIED).await?.unwrap_or_default();
        let mut reads = cx.engine.store().read_audit_log().await?;
        let unsealed = reads.count_unsealed_audit_of(Some(team), MAX_UNSEALED).await?;
        Ok(AuditVerification::new(team, &chain, unsealed))
    }
}

impl AuditVerification {
    fn new(team: TeamId, chain: &VerifiedChain, unsealed: u64) -> Self {
        let checked = chain.end - chain.start;
        Self {
            team_id: team,
            status: chain.defect.map_or(ChainStatus::Valid, |_| ChainStatus::Broken),
            checked,
            unchecked: chain.start - chain.base,
            first_position: (checked > 0).then_some(chain.start + 1),
            last_position: (checked > 0).then_some(chain.end),
            verified_until: chain.verified_until,
            broken_position: match chain.defect {
                Some(Defect::Entry(position)) => Some(position),
                Some(Defect::Head) | None => None,
            },
            unsealed,
        }
    }
}
