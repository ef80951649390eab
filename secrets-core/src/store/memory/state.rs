//! State of the memory store: a single value that contains all tables and is cheap to copy.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::crypto::{Fingerprint, InstanceKeyRecord, InstanceRecord, ProjectKeyRecord, TokenMac};
use crate::model::scans::FindingStatus;
use crate::model::{
    AttemptId, AuditBatchId, AuditId, DeliveryId, DeviceLoginId, EnvironmentId, FindingId,
    InvitationId, Principal, ProjectId, RotationId, ScanId, SecretId, SecretKey, SessionId, TeamId,
    Time, TokenId, UserId, WebhookDeliveryId, WebhookId,
};
use crate::store::{
    AttemptRecord, AuditHead, AuditRecord, DeliveryRecord, DeviceLoginRecord, EnvironmentDefault,
    EnvironmentRecord, FindingRecord, InvitationRecord, ManifestRecord, MemberRecord,
    PermissionDefault, PermissionRecord, ProjectRecord, RotationRecord, ScanRecord, SecretRecord,
    SecretVersion, SessionRecord, StoreError, StoreResult, TeamRecord, TokenRecord, TokenScope,
    UserRecord, WebhookDeliveryRecord, WebhookRecord,
};

/// Table of the memory store: rows by their key. Copies of a table share rows, so that changing one
/// row copies no other row.
pub(super) type Table<K, V> = OrdMap<K, Arc<V>>;

/// All records of the memory store.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) instance: Option<Arc<(InstanceRecord, Vec<InstanceKeyRecord>)>>,

    pub(super) users: Table<UserId, UserRecord>,
    /// IDs of users, by issuer and subject.
    pub(super) subjects: OrdMap<(String, String), UserId>,

    pub(super) teams: Table<TeamId, TeamRecord>,
    pub(super) team_slugs: OrdSet<String>,
    pub(super) members: Table<(TeamId, UserId), MemberRecord>,

    pub(super) invitations: Table<InvitationId, InvitationRecord>,

    pub(super) outbox: Table<DeliveryId, DeliveryRecord>,
    /// Number of sent messages for each counter in each time window. A window is identified by its
    /// end, a counter by its name.
    pub(super) message_counts: OrdMap<(Time, String), u64>,

    /// Projects, without deleted ones.
    pub(super) projects: Table<ProjectId, ProjectRecord>,
    /// Deleted projects that are not purged yet, each with the time of its deletion.
    pub(super) deleted_projects: Table<ProjectId, (Time, ProjectRecord)>,
    /// Slugs of all projects, including deleted ones, because a slug is never reused.
    pub(super) project_slugs: OrdMap<String, ProjectId>,
    pub(super) project_keys: OrdMap<ProjectId, Table<u32, ProjectKeyRecord>>,
    /// Times of creation, replacement and retirement of each project key, by project and version.
    pub(super) key_times: OrdMap<(ProjectId, u32), KeyTimes>,
    pub(super) project_key_request: Option<Time>,

    pub(super) environments: Table<EnvironmentId, EnvironmentRecord>,
    /// IDs of environments by project, then by case-folded name.
    pub(super) environment_names: OrdMap<ProjectId, OrdMap<String, EnvironmentId>>,

    pub(super) permissions: Table<(EnvironmentId, UserId), PermissionRecord>,
    pub(super) permission_defaults: Table<ProjectId, PermissionDefault>,
    pub(super) environment_defaults: Table<EnvironmentId, EnvironmentDefault>,

    /// Secrets by environment, then by secret key.
    pub(super) secrets: OrdMap<EnvironmentId, Table<SecretKey, SecretRecord>>,
    /// Total sizes in bytes of each environment's secrets and of their previous versions.
    pub(super) sizes: OrdMap<EnvironmentId, Sizes>,
    /// Manifests of the environments.
    pub(super) manifests: OrdMap<EnvironmentId, ManifestRecord>,
    /// Environment and secret key of each secret.
    pub(super) secret_places: OrdMap<SecretId, (EnvironmentId, SecretKey)>,
    /// Previous versions of secrets, by secret, then by version number.
    pub(super) secret_versions: OrdMap<SecretId, Table<u32, SecretVersion>>,

    pub(super) rotations: Table<RotationId, RotationRecord>,
    /// Leases of rotations: number of leases taken so far, and the expiry time of the last one.
    pub(super) leases: OrdMap<RotationId, (u64, Option<Time>)>,
    /// Secret keys that rotations have reserved, whether or not the secrets exist yet.
    pub(super) managed_keys: OrdMap<(EnvironmentId, SecretKey), RotationId>,
    pub(super) attempts: Table<AttemptId, AttemptRecord>,
    pub(super) webhooks: Table<WebhookId, WebhookRecord>,
    pub(super) webhook_deliveries: Table<WebhookDeliveryId, WebhookDeliveryRecord>,

    pub(super) scans: Table<ScanId, ScanRecord>,
    /// Findings of each scan.
    pub(super) findings: OrdMap<ScanId, Table<FindingId, FindingRecord>>,
    pub(super) finding_marks: OrdMap<(TeamId, Fingerprint), FindingStatus>,

    pub(super) tokens: Table<TokenId, Token>,
    pub(super) token_macs: OrdMap<[u8; 32], TokenId>,

    pub(super) device_logins: Table<DeviceLoginId, DeviceLoginRecord>,
    pub(super) sessions: Table<SessionId, SessionRecord>,

    /// Batches of audit entries that are not in the map `audit` yet.
    pub(super) audit_batches: OrdMap<AuditBatchId, Arc<[AuditRecord]>>,
    /// Audit entries by team; within a team, oldest first.
    pub(super) audit: OrdMap<Option<TeamId>, Table<(Time, AuditId), AuditRecord>>,
    /// Keys of the map `audit` for a team's audit entries that are not in an audit chain yet,
    /// oldest first.
    pub(super) audit_unsealed: OrdMap<Option<TeamId>, OrdSet<(Time, AuditId)>>,
    /// Key of the map `audit` for the audit entry at each position of an audit chain.
    pub(super) audit_chain: OrdMap<(Option<TeamId>, u64), (Time, AuditId)>,
    pub(super) audit_heads: OrdMap<Option<TeamId>, AuditHead>,
    /// Time and ID of the last anonymized audit entry of each user whose anonymization is not
    /// complete. The ID is nil after a call that found no more entries; the time is then
    /// [`ANONYMIZATION_MARGIN`](crate::store::ANONYMIZATION_MARGIN) before that call.
    pub(super) anonymizations: OrdMap<UserId, (Time, AuditId)>,
}

/// Times of the creation, replacement and retirement of a project key.
#[derive(Clone, Copy)]
pub(super) struct KeyTimes {
    pub(super) created: Time,
    pub(super) replaced: Option<Time>,
    pub(super) retired: Option<Time>,
}

impl KeyTimes {
    pub(super) fn new(created: Time) -> Self {
        Self { created, replaced: None, retired: None }
    }
}

/// Sizes of an environment's secrets and their previous versions, in bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    pub(super) current: usize,
    pub(super) history: usize,
}

/// A service token with its scope.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) record: TokenRecord,
    pub(super) scope: TokenScope,
}

impl State {
    pub(super) fn token_by_mac(&self, TokenMac(mac): &TokenMac) -> Option<&Token> {
        self.tokens.get(self.token_macs.get(mac)?).map(Arc::as_ref)
    }

    /// Returns the secrets that an environment itself defines.
    pub(super) fn secrets_of(&self, environment: EnvironmentId) -> Table<SecretKey, SecretRecord> {
        self.secrets.get(&environment).cloned().unwrap_or_default()
    }

    pub(super) fn secret(&self, secret: SecretId) -> Option<&SecretRecord> {
        let (environment, key) = self.secret_places.get(&secret)?;
        self.secrets.get(environment)?.get(key).map(Arc::as_ref)
    }

    /// True if the environment is in the scope of the service token; always true for users.
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

/// Returns an owned copy of a reference-counted row.
pub(super) fn owned<V: Clone>(row: &Arc<V>) -> V {
    V::clone(row)
}

/// Returns a copy of the table with only the rows for which `stays` returns true.
pub(super) fn retained<K: Clone + Ord, V>(
    table: &Table<K, V>,
    stays: impl Fn(&V) -> bool,
) -> Table<K, V> {
    let rows = table.iter().filter(|(_, row)| stays(row));
    rows.map(|(key, row)| (key.clone(), Arc::clone(row))).collect()
}

/// Fails if a row that another row refers to does not exist, like a foreign key constraint of a
/// database. `what` names the row.
pub(super) fn refers(exists: bool, what: &'static str) -> StoreResult<()> {
    if exists {
        Ok(())
    } else {
        Err(StoreError::Corrupt(format!("there is no such {what}").into()))
    }
}
