//! Records for tests. Each record is valid, and a test changes only the fields that it checks.

use chrono::{DateTime, TimeDelta};
use uuid::Uuid;

use crate::crypto::{Fingerprint, ProjectKeyRecord, Sealed, TokenMac, random};
use crate::model::scans::{FindingStatus, Severity, SourceKind};
use crate::model::{
    AuditId, DeliveryId, EnvironmentId, FindingId, InvitationId, ProjectId, Role, ScanId, SecretId,
    TeamId, Time, TokenId, UserId,
};
use crate::store::{
    AuditRecord, Change, DeliveryRecord, EnvironmentRecord, FindingRecord, InvitationRecord,
    MemberRecord, ProjectRecord, Reads, ScanRecord, SealedColumn, SealedRow, SecretRecord, Store,
    TeamRecord, TokenRecord, UserRecord,
};

mod rotations;

pub use rotations::{attempt, concluded, keys, rotation, rotation_in, webhook, webhook_delivery};

/// Test data (test world): two unrelated teams, and a project with environments in the first team.
#[derive(Debug, Clone)]
pub struct World {
    /// Owner of the first team.
    pub owner: UserRecord,
    /// Member of the first team, who joined one second after `owner` did.
    pub member: UserRecord,
    /// User who is not a member of the first team; owns the second team.
    pub outsider: UserRecord,
    /// First team.
    pub team: TeamRecord,
    /// Second team, owned by `outsider`.
    pub other_team: TeamRecord,
    /// Project of the first team, which has three environments.
    pub project: ProjectRecord,
    /// Encryption key of the project.
    pub key: ProjectKeyRecord,
    /// First default environment of the project.
    pub development: EnvironmentRecord,
    /// Second default environment of the project.
    pub staging: EnvironmentRecord,
    /// Third default environment of the project.
    pub production: EnvironmentRecord,
}

impl World {
    /// Creates the test world in an empty store.
    pub async fn build(store: &dyn Store) -> Self {
        let world = Self::unsaved();
        let mut tx = store.begin().await.unwrap();
        for person in [&world.owner, &world.member, &world.outsider] {
            tx.insert_user(person).await.unwrap();
        }
        tx.insert_team(&world.team).await.unwrap();
        tx.insert_team(&world.other_team).await.unwrap();
        tx.insert_member(&member(&world.team, &world.owner, Role::Owner)).await.unwrap();
        let place = member(&world.team, &world.member, Role::Member);
        tx.insert_member(&MemberRecord { created_at: at(1), ..place }).await.unwrap();
        tx.insert_member(&member(&world.other_team, &world.outsider, Role::Owner)).await.unwrap();
        tx.insert_project(&world.project, &world.key).await.unwrap();
        for environment in [&world.development, &world.staging, &world.production] {
            tx.insert_environment(environment).await.unwrap();
        }
        tx.commit().await.unwrap();
        world
    }

    fn unsaved() -> Self {
        let [owner, member, outsider] = ["owner", "member", "outsider"].map(user);
        let team = team(&owner, "acme");
        let other_team = self::team(&outsider, "elsewhere");
        let project = project(&team, "billing");
        let default = |name, position| EnvironmentRecord {
            is_default: true,
            position,
            ..environment(&project, name)
        };
        let [development, staging, production] =
            [default("development", 0), default("staging", 1), default("production", 2)];
        let key = project_key(&project);
        Self {
            owner,
            member,
            outsider,
            team,
            other_team,
            project,
            key,
            development,
            staging,
            production,
        }
    }
}

/// Returns the time `seconds` seconds after the fixed creation time of the records in this module.
/// Its microseconds are not zero, to detect stores that lose them.
#[must_use]
pub fn at(seconds: i64) -> Time {
    DateTime::from_timestamp_micros(1_767_225_600_123_456).unwrap() + TimeDelta::seconds(seconds)
}

/// Creates a user with this subject.
#[must_use]
pub fn user(subject: &str) -> UserRecord {
    UserRecord {
        id: UserId::draw(at(0)),
        issuer: "https://issuer.example".to_owned(),
        subject: subject.to_owned(),
        email: format!("{subject}@example.com"),
        email_verified: true,
        name: subject.to_owned(),
        is_name_chosen: false,
        first_name: None,
        last_name: None,
        avatar_url: None,
        created_at: at(0),
        updated_at: at(0),
        last_login_at: None,
    }
}

/// Creates a team without members.
#[must_use]
pub fn team(creator: &UserRecord, slug: &str) -> TeamRecord {
    TeamRecord {
        id: TeamId::draw(at(0)),
        name: slug.parse().unwrap(),
        slug: slug.parse().unwrap(),
        is_personal: false,
        plan: "unlimited".parse().unwrap(),
        created_by: creator.id,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Creates the membership of a user in a team.
#[must_use]
pub fn member(team: &TeamRecord, user: &UserRecord, role: Role) -> MemberRecord {
    MemberRecord {
        team: team.id,
        user: user.id,
        role,
        email: user.email.clone(),
        name: user.name.clone(),
        avatar_url: user.avatar_url.clone(),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Creates an outbox delivery that can be claimed at this time and later.
#[must_use]
pub fn delivery(due: Time) -> DeliveryRecord {
    DeliveryRecord {
        id: DeliveryId::draw(at(0)),
        kind: "invitation".to_owned(),
        payload: "{}".to_owned(),
        attempts: 0,
        next_attempt_at: due,
        created_at: at(0),
    }
}

/// Creates an invitation of this e-mail address, which was sent once and is valid for a week.
#[must_use]
pub fn invitation(team: &TeamRecord, inviter: &UserRecord, email: &str) -> InvitationRecord {
    InvitationRecord {
        id: InvitationId::draw(at(0)),
        team: team.id,
        team_name: team.name.clone(),
        email: email.parse().unwrap(),
        role: Role::Member,
        mac: TokenMac(random()),
        times_sent: 1,
        invited_by: inviter.id,
        inviter_name: inviter.name.clone(),
        inviter_email: inviter.email.clone(),
        created_at: at(0),
        last_sent_at: at(0),
        expires_at: at(0) + TimeDelta::days(7),
    }
}

/// Creates a project without environments.
#[must_use]
pub fn project(team: &TeamRecord, slug: &str) -> ProjectRecord {
    ProjectRecord {
        id: ProjectId::draw(at(0)),
        team: team.id,
        name: slug.parse().unwrap(),
        slug: slug.parse().unwrap(),
        description: None,
        created_by: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Creates the first encryption key of a project. Instead of a wrapped key, it contains random
/// bytes.
#[must_use]
pub fn project_key(project: &ProjectRecord) -> ProjectKeyRecord {
    ProjectKeyRecord {
        project: project.id,
        version: 1,
        kek_id: 1,
        wrapped: random::<72>().to_vec(),
    }
}

/// Creates an environment without a parent.
#[must_use]
pub fn environment(project: &ProjectRecord, name: &str) -> EnvironmentRecord {
    EnvironmentRecord {
        id: EnvironmentId::draw(at(0)),
        project: project.id,
        name: name.parse().unwrap(),
        inherits_from: None,
        description: None,
        is_default: false,
        position: 3,
        revision: 0,
        created_by: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Creates the first version of a secret. The encrypted value has a valid header, but cannot be
/// decrypted.
#[must_use]
pub fn secret(environment: &EnvironmentRecord, key: &str) -> SecretRecord {
    SecretRecord {
        id: SecretId::draw(at(0)),
        environment: environment.id,
        key: key.parse().unwrap(),
        sealed: sealed(key.as_bytes()),
        hidden: false,
        description: None,
        version: 1,
        change: Change::Created,
        changed_by: None,
        changed_at: at(0),
        created_by: None,
        updated_by: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Creates the next version of a secret, one minute later.
#[must_use]
pub fn next_version(secret: &SecretRecord) -> SecretRecord {
    let version = secret.version + 1;
    let now = secret.changed_at + TimeDelta::minutes(1);
    SecretRecord {
        sealed: sealed(format!("{} {version}", secret.key).as_bytes()),
        version,
        change: Change::Updated,
        changed_at: now,
        updated_at: now,
        ..secret.clone()
    }
}

/// Creates an encrypted record with a valid header (version 1 of the project key) and an arbitrary
/// body.
#[must_use]
pub fn sealed(body: &[u8]) -> Sealed {
    Sealed::from_bytes([b"S\x01\x01\x00\x00\x00\x01", body].concat())
}

/// Creates a token with access to all projects and environments of its team.
#[must_use]
pub fn token(team: &TeamRecord, creator: &UserRecord) -> TokenRecord {
    TokenRecord {
        id: TokenId::draw(at(0)),
        team: team.id,
        name: "deploy".parse().unwrap(),
        mac: TokenMac(random()),
        prefix: "env_0Eoh211G".to_owned(),
        can_read: true,
        can_write: false,
        all_projects: true,
        all_environments: true,
        created_by: creator.id,
        created_at: at(0),
        updated_at: at(0),
        expires_at: None,
        expiry_announced: false,
        networks: Vec::new(),
        previous: None,
        rotated_at: None,
        outlives_session: false,
        last_use: None,
    }
}

/// Creates the record of a scan without findings.
#[must_use]
pub fn scan(team: &TeamRecord, creator: &UserRecord) -> ScanRecord {
    ScanRecord {
        id: ScanId::draw(at(0)),
        team: team.id,
        project: None,
        source: SourceKind::Text,
        source_name: None,
        source_commit: None,
        high: 0,
        medium: 0,
        low: 0,
        is_truncated: false,
        secrets_compared: 0,
        created_by: creator.id,
        created_at: at(0),
        completed_at: at(0),
    }
}

/// Creates an unresolved finding of a scan.
#[must_use]
pub fn finding(scan: &ScanRecord, position: u32) -> FindingRecord {
    FindingRecord {
        id: FindingId::draw(at(0)),
        scan: scan.id,
        position,
        rule: "json-web-token".to_owned(),
        description: "JSON web token".to_owned(),
        severity: Severity::Medium,
        path: None,
        line: None,
        column: None,
        commit: None,
        fingerprint: Fingerprint(random()),
        redacted: None,
        entropy: None,
        secret: None,
        status: FindingStatus::Unresolved,
        comment: None,
        created_at: at(0),
        updated_at: at(0),
        updated_by: None,
    }
}

/// Creates an audit log entry of a team, with all optional fields absent.
#[must_use]
pub fn entry(team: &TeamRecord, action: &str, created_at: Time) -> AuditRecord {
    AuditRecord {
        id: AuditId::draw(created_at),
        team: Some(team.id),
        project: None,
        project_name: None,
        environment: None,
        environment_name: None,
        actor_type: "user".into(),
        actor_id: None,
        actor_name: None,
        actor_email: None,
        action: action.to_owned().into(),
        resource_type: "team".into(),
        resource_id: None,
        resource_name: None,
        outcome: "success".into(),
        metadata: "{}".to_owned(),
        address: None,
        agent: None,
        request: None,
        created_at,
        seal: None,
    }
}

/// Returns all records of a column in a project that are encrypted with this version of the project
/// key, ordered by object ID and version.
pub async fn project_rows(
    reads: &mut dyn Reads,
    column: SealedColumn,
    (project, version): (ProjectId, u32),
) -> Vec<SealedRow> {
    let mut rows = Vec::new();
    for environment in reads.all_environments(project).await.unwrap() {
        let start = (Uuid::nil(), 0);
        rows.extend(reads.sealed_rows(column, (environment, version), start, 1_000).await.unwrap());
    }
    rows.sort_by_key(|row| (row.object, row.version));
    rows
}
