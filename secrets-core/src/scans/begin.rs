//! First step of a scan: authorizing the caller and loading the stored secrets to compare with.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::input::{Input, NewScan, ScanSource};
use super::scope::place;
use super::stored_values::StoredValues;
use crate::crypto::FingerprintKey;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{ProjectId, Result, ScanId, TeamId, Time};
use crate::scanner::Rules;

/// Begins a scan: authorizes the caller and loads the stored secret values that the content is
/// compared with. Since secret values are read, an audit entry is always written.
#[derive(Debug)]
pub struct PlanScan {
    /// Request for the scan, with the content to scan.
    pub scan: NewScan,
}

/// A scan that is ready to run: [`search`](PlannedScan::search) performs it, and
/// [`ConcludeScan`](super::ConcludeScan) stores its findings.
pub struct PlannedScan {
    pub(super) id: ScanId,
    pub(super) team: TeamId,
    pub(super) project: Option<ProjectId>,
    pub(super) source: ScanSource,
    pub(super) input: Input,
    pub(super) rules: Option<Arc<Rules>>,
    pub(super) stored: StoredValues,
    pub(super) key: FingerprintKey,
    pub(super) began_at: Time,
}

impl Operation for PlanScan {
    const NAME: &'static str = "scan.begin";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Export("scan.created");
    const IS_LONG: bool = true;
    type Access = Read;
    type Output = PlannedScan;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<PlannedScan> {
        let (team, project) = place(cx, self.scan.team_id, self.scan.project_id.as_ref()).await?;
        let (source, input) = self.scan.checked()?;
        let stored = StoredValues::gather(cx, team, project).await?;
        let id = ScanId::draw(cx.now());
        cx.set_resource("scan", id.uuid(), source.name.clone().unwrap_or_default());
        cx.add_detail("source", source.kind.as_str());
        cx.add_detail("secrets_compared", stored.compared());
        Ok(PlannedScan {
            id,
            team,
            project,
            source,
            input,
            rules: cx.options().scan_rules.clone(),
            stored,
            key: FingerprintKey::of(cx.keyring(), team, project),
            began_at: cx.now(),
        })
    }
}

/// Serializes only the scan ID. The other fields are input of the next step.
impl Serialize for PlannedScan {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.id.serialize(serializer)
    }
}
