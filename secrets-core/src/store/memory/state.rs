//! Everything that is kept, as one value that is copied at no cost.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::crypto::{Fingerprint, InstanceKeyRecord, InstanceRecord, ProjectKeyRecord, TokenMac};
use crate::model::scans::FindingStatus;
use crate::model::{
    AttemptId, AuditId, CliSessionId, DeliveryId, DeviceLoginId, EnvironmentId, FindingId,
    InvitationId, Principal, ProjectId, RotationId, ScanId, SecretId, SecretKey, TeamId, Time,
    TokenId, UserId, WebhookDeliveryId, WebhookId,
};
use crate::store::{
    AttemptRecord, AuditHead, AuditRecord, CliSessionRecord, DeliveryRecord, DeviceLoginRecord,
    EnvironmentRecord, FindingRecord, InvitationRecord, MemberRecord, PermissionDefault,
    PermissionRecord, ProjectRecord, RotationRecord, ScanRecord, SecretRecord, SecretVersion,
    StoreError, StoreResult, TeamRecord, TokenRecord, TokenScope, UserRecord,
    WebhookDeliveryRecord, WebhookRecord,
};

/// Rows by key, shared: who changes one row copies no other.
pub(super) type Table<K, V> = OrdMap<K, Arc<V>>;

/// Everything that is kept.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) instance: Option<Arc<(InstanceRecord, Vec<InstanceKeyRecord>)>>,

    pub(super) users: Table<UserId, UserRecord>,
    /// By issuer and subject.
    pub(super) subjects: OrdMap<(String, String), UserId>,

    pub(super) teams: Table<TeamId, TeamRecord>,
    pub(super) team_slugs: OrdSet<String>,
    pub(super) members: Table<(TeamId, UserId), MemberRecord>,

    pub(super) invitations: Table<InvitationId, InvitationRecord>,

    pub(super) outbox: Table<DeliveryId, DeliveryRecord>,

    /// Those that are not deleted.
    pub(super) projects: Table<ProjectId, ProjectRecord>,
    /// Those that are deleted and not purged, and when they were.
    pub(super) deleted_projects: Table<ProjectId, (Time, ProjectRecord)>,
    /// Of deleted projects too: a slug is never given again.
    pub(super) project_slugs: OrdMap<String, ProjectId>,
    pub(super) project_keys: OrdMap<ProjectId, Table<u32, ProjectKeyRecord>>,

    pub(super) environments: Table<EnvironmentId, EnvironmentRecord>,
    /// Of each project, by the folded name.
    pub(super) environment_names: OrdMap<ProjectId, OrdMap<String, EnvironmentId>>,

    pub(super) permissions: Table<(EnvironmentId, UserId), PermissionRecord>,
    pub(super) permission_defaults: Table<ProjectId, PermissionDefault>,

    /// Of each environment.
    pub(super) secrets: OrdMap<EnvironmentId, Table<SecretKey, SecretRecord>>,
    /// Where each secret is.
    pub(super) secret_places: OrdMap<SecretId, (EnvironmentId, SecretKey)>,
    /// What each secret has replaced.
    pub(super) secret_versions: OrdMap<SecretId, Table<u32, SecretVersion>>,

    pub(super) rotations: Table<RotationId, RotationRecord>,
    /// How often the lease of each was taken, and until when it lasts.
    pub(super) leases: OrdMap<RotationId, (u64, Option<Time>)>,
    /// Which rotation writes a key, whether it has written it yet or not.
    pub(super) managed_keys: OrdMap<(EnvironmentId, SecretKey), RotationId>,
    pub(super) attempts: Table<AttemptId, AttemptRecord>,
    pub(super) webhooks: Table<WebhookId, WebhookRecord>,
    pub(super) webhook_deliveries: Table<WebhookDeliveryId, WebhookDeliveryRecord>,

    pub(super) scans: Table<ScanId, ScanRecord>,
    /// Of each scan.
    pub(super) findings: OrdMap<ScanId, Table<FindingId, FindingRecord>>,
    pub(super) finding_marks: OrdMap<(TeamId, Fingerprint), FindingStatus>,

    pub(super) tokens: Table<TokenId, Token>,
    pub(super) token_macs: OrdMap<[u8; 32], TokenId>,

    pub(super) device_logins: Table<DeviceLoginId, DeviceLoginRecord>,
    pub(super) cli_sessions: Table<CliSessionId, CliSessionRecord>,

    pub(super) audit_ids: OrdSet<AuditId>,
    /// Of each team, oldest first.
    pub(super) audit: OrdMap<Option<TeamId>, Table<(Time, AuditId), AuditRecord>>,
    /// Those that have no place in a chain yet, oldest first.
    pub(super) audit_unsealed: OrdMap<(Time, AuditId), Option<TeamId>>,
    /// Where each place of a chain is.
    pub(super) audit_chain: OrdMap<(Option<TeamId>, u64), (Time, AuditId)>,
    pub(super) audit_heads: OrdMap<Option<TeamId>, AuditHead>,
}

/// A token and what it is for.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) record: TokenRecord,
    pub(super) scope: TokenScope,
}

impl State {
    pub(super) fn token_by_mac(&self, TokenMac(mac): &TokenMac) -> Option<&Token> {
        self.tokens.get(self.token_macs.get(mac)?).map(Arc::as_ref)
    }

    /// An environment's own secrets.
    pub(super) fn secrets_of(&self, environment: EnvironmentId) -> Table<SecretKey, SecretRecord> {
        self.secrets.get(&environment).cloned().unwrap_or_default()
    }

    pub(super) fn secret(&self, secret: SecretId) -> Option<&SecretRecord> {
        let (environment, key) = self.secret_places.get(&secret)?;
        self.secrets.get(environment)?.get(key).map(Arc::as_ref)
    }

    /// Whether somebody's scope holds an environment. That of people holds all.
    pub(super) fn is_in_scope(
        &self,
        environment: &EnvironmentRecord,
        principal: Principal,
    ) -> bool {
        match principal {
            Principal::User(_) => true,
            Principal::Token(token) => self.tokens.get(&token).is_some_and(|token| {
                let project = self.projects.get(&environment.project);
                project.is_some_and(|project| token.holds_project(project))
                    && (token.record.all_environments
                        || token.scope.environments.contains(&environment.id))
            }),
        }
    }
}

impl Token {
    pub(super) fn holds_project(&self, project: &ProjectRecord) -> bool {
        self.record.team == project.team
            && (self.record.all_projects || self.scope.projects.contains(&project.id))
    }
}

/// The row, for the caller to keep.
pub(super) fn owned<V: Clone>(row: &Arc<V>) -> V {
    V::clone(row)
}

/// The rows that are to stay.
pub(super) fn kept<K: Clone + Ord, V>(
    table: &Table<K, V>,
    stays: impl Fn(&V) -> bool,
) -> Table<K, V> {
    let rows = table.iter().filter(|(_, row)| stays(row));
    rows.map(|(key, row)| (key.clone(), Arc::clone(row))).collect()
}

/// Refuses a row that refers to nothing, as foreign keys do.
pub(super) fn refers(exists: bool, what: &'static str) -> StoreResult<()> {
    if exists { Ok(()) } else { Err(StoreError::Broken(format!("there is no such {what}").into())) }
}
