//! Rotations of database credentials, their attempts, and the leases of their workers.

use async_trait::async_trait;
use uuid::Uuid;

use super::{EnvironmentRecord, ProjectRecord, StoreResult};
use crate::crypto::{ProjectKeyRecord, Sealed};
use crate::model::rotations::{
    AttemptState, ConnectionMethod, Integration, Outcome, PermissionLevel, RotationStatus, Slot,
    TriggerType,
};
use crate::model::{
    AttemptId, EnvironmentId, PlanName, ProjectId, RotationId, RotationName, SecretKey, TeamId,
    Time,
};

/// A rotation. Its environment, name, kind of database and secret keys never change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationRecord {
    /// Rotation ID.
    pub id: RotationId,
    /// ID of the environment whose secrets the rotation writes.
    pub environment: EnvironmentId,
    /// Settings: database, secret keys and interval.
    pub settings: RotationSettings,
    /// Status of the rotation.
    pub status: RotationStatus,
    /// Current error or warning of the rotation.
    pub failure: RotationFailure,
    /// Due time of the last e-mail notice about a failure, possibly in the future; `None` if there
    /// was no notice.
    pub announced_at: Option<Time>,
    /// State of the two database users between which the rotation alternates.
    pub slots: RotationSlots,
    /// Times of the last and the next rotation, and of the next step that is due.
    pub schedule: RotationSchedule,
    /// Identity that the database server reported at the last change, such as PostgreSQL's
    /// `system_identifier`; `None` if unknown.
    pub identity: Option<String>,
    /// Number of the rotation's last attempt or revocation; 0 before the first attempt.
    pub sequence: u64,
    /// ID of the user who created the rotation.
    pub created_by: Option<Uuid>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// Settings of a rotation: its database, the secret keys to write, and the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationSettings {
    /// Name of the rotation, unique within the environment.
    pub name: RotationName,
    /// Kind of database.
    pub integration: Integration,
    /// Connection method: direct, or through an AWS Lambda function (proxy).
    pub method: ConnectionMethod,
    /// Privileges of the rotated database users.
    pub level: PermissionLevel,
    /// Encrypted connection settings of the database, including the administrator's password.
    pub connection: Sealed,
    /// Encrypted settings of the proxy function, including its shared secret; `None` for direct
    /// connections.
    pub proxy: Option<Sealed>,
    /// Secret keys that the rotation writes, as a JSON object that maps each part of the database
    /// credential to a secret key.
    pub keys: String,
    /// Days between two rotations.
    pub interval_days: u32,
}

/// Current error or warning of a rotation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RotationFailure {
    /// Code of the error or warning, for programs; `None` if there is none.
    pub code: Option<String>,
    /// Human-readable message of the error or warning; `None` if there is none.
    pub message: Option<String>,
    /// Time at which the status became `error`; `None` if that has not happened since the last
    /// success or resumption.
    pub since: Option<Time>,
    /// Number of failed attempts since the last successful one.
    pub count: u32,
}

/// State of the two database users between which a rotation alternates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RotationSlots {
    /// Slot of the database user whose credential is in the secrets (active slot). `None` before
    /// the first successful rotation.
    pub active: Option<Slot>,
    /// Time at which the login of the other (inactive) database user will be disabled; `None` if it
    /// is already disabled or was never used.
    pub retire_at: Option<Time>,
    /// Time of the next check that the credential in the secrets still works.
    pub check_at: Option<Time>,
    /// Number of checks since the credential was written to the secrets.
    pub checks: u32,
}

/// Times of the last and the next rotation, and of the next step that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationSchedule {
    /// Time of the next scheduled attempt; ignored in a status without attempts, such as `paused`.
    pub next_at: Time,
    /// Seconds left until the next rotation when the rotation was paused; `None` if it was not.
    pub remaining: Option<u64>,
    /// Time of the last successful rotation.
    pub last_at: Option<Time>,
    /// Time from which a worker must process this rotation; `None` if there is nothing to do. While
    /// an attempt is unfinished, a time in the past; otherwise the earliest of `next_at`,
    /// `retire_at` and `check_at` that applies in the rotation's status. Stored for an index of due
    /// rotations.
    pub work_at: Option<Time>,
}

/// An attempt to rotate a credential. After its end, the attempt is an entry of the rotation's
/// history and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Attempt ID.
    pub id: AttemptId,
    /// Rotation ID.
    pub rotation: RotationId,
    /// Number of the attempt among all attempts of the rotation, starting at 1. Also stored in the
    /// target database as a fencing token, so that commands of older attempts are refused.
    pub sequence: u64,
    /// Slot of the database user whose password the attempt changes; never the active slot.
    pub slot: Slot,
    /// Encrypted new password; `None` after the attempt has ended.
    pub pending: Option<Sealed>,
    /// Progress of the attempt.
    pub state: AttemptState,
    /// Reason why the attempt was started: scheduled or manual.
    pub trigger: TriggerType,
    /// ID of the user who requested the attempt; `None` for a scheduled attempt.
    pub triggered_by: Option<Uuid>,
    /// Number of times that a worker started to set the password in the database.
    pub tries: u32,
    /// Number of times that a worker resumed the attempt after another worker had stopped without
    /// finishing it.
    pub resumed: u32,
    /// Outcome of the attempt; `None` until the attempt has ended.
    pub outcome: Option<Outcome>,
    /// Code of the error or warning, for programs; `None` if there was none.
    pub error_code: Option<String>,
    /// Human-readable message of the error or warning; `None` if there was none.
    pub error_message: Option<String>,
    /// Time at which the attempt started.
    pub started_at: Time,
    /// Time at which the attempt ended; `None` until then.
    pub completed_at: Option<Time>,
}

/// Project and environment of a rotation, with the encryption key of its records.
#[derive(Debug, Clone)]
pub struct RotationLocation {
    /// Project of the rotation.
    pub project: ProjectRecord,
    /// True if the project of the rotation is deleted.
    pub is_deleted: bool,
    /// Plan of the project's team.
    pub plan: PlanName,
    /// Environment of the rotation.
    pub environment: EnvironmentRecord,
    /// Newest encryption key of the project.
    pub key: ProjectKeyRecord,
}

/// A lease: the exclusive right of a worker to work on a rotation until a time. Each new lease of a
/// rotation has a higher epoch than the one before, so a worker with an older epoch has lost its
/// lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// ID of the leased rotation.
    pub rotation: RotationId,
    /// Epoch: number of leases that were taken for this rotation so far, including this one.
    pub epoch: u64,
    /// Time at which the lease ends.
    pub until: Time,
}

/// A rotation that a worker must process now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueRotation {
    /// Rotation ID.
    pub id: RotationId,
    /// ID of the team that owns the rotation.
    pub team: TeamId,
    /// Time from which a worker must process the rotation.
    pub work_at: Time,
}

impl RotationLocation {
    /// True if the project is deleted and a purge has destroyed its keys, so that the records of the
    /// rotation cannot be decrypted any more.
    #[must_use]
    pub fn is_purged(&self) -> bool {
        self.is_deleted && self.key.is_destroyed()
    }
}

impl RotationRecord {
    /// Creates the record of an active rotation that has not run yet. The first rotation is due at
    /// `now`. The caller must set `schedule.work_at`.
    #[must_use]
    pub fn new(
        id: RotationId,
        environment: EnvironmentId,
        settings: RotationSettings,
        now: Time,
    ) -> Self {
        Self {
            id,
            environment,
            settings,
            status: RotationStatus::Active,
            failure: RotationFailure::default(),
            announced_at: None,
            slots: RotationSlots::default(),
            schedule: RotationSchedule {
                next_at: now,
                remaining: None,
                last_at: None,
                work_at: None,
            },
            identity: None,
            sequence: 0,
            created_by: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl AttemptRecord {
    /// Returns the attempt as failed: ended, without its new password, and with this code and
    /// message.
    #[must_use]
    pub fn failed(&self, code: &str, message: &str, now: Time) -> Self {
        Self {
            state: AttemptState::Concluded,
            pending: None,
            outcome: Some(Outcome::Failed),
            error_code: Some(code.to_owned()),
            error_message: Some(message.to_owned()),
            completed_at: Some(now),
            ..*self
        }
    }
}

/// Read access to rotations.
#[async_trait]
pub trait RotationReads: Send {
    /// Lists the rotations of an environment, ordered by name.
    async fn rotations(&mut self, environment: EnvironmentId) -> StoreResult<Vec<RotationRecord>>;

    /// Returns the rotation with this name in an environment.
    async fn rotation_by_name(
        &mut self,
        environment: EnvironmentId,
        name: &RotationName,
    ) -> StoreResult<Option<RotationRecord>>;

    /// Returns the rotation with this ID, even if its project is deleted.
    async fn rotation(&mut self, rotation: RotationId) -> StoreResult<Option<RotationRecord>>;

    /// Returns the first rotation whose ID is `from` or higher, even if its project is deleted.
    async fn next_rotation(&mut self, from: RotationId) -> StoreResult<Option<RotationRecord>>;

    /// Returns the ID of the first rotation whose ID is `from` or higher, even if its project is
    /// deleted or its row cannot be decoded.
    async fn next_rotation_id(&mut self, from: RotationId) -> StoreResult<Option<RotationId>>;

    /// Returns the project and environment of a rotation, even if the project is deleted.
    async fn rotation_location(
        &mut self,
        rotation: RotationId,
    ) -> StoreResult<Option<RotationLocation>>;

    /// Returns the number of rotations of a team, without those of deleted projects.
    async fn count_rotations(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Returns the number of rotations of a project, even if the project is deleted.
    async fn count_project_rotations(&mut self, project: ProjectId) -> StoreResult<u64>;

    /// Lists rotations that a worker must process at `now` and that no worker has leased, at most
    /// `limit`, in the order of [`work_at`](DueRotation::work_at). If `after` is given, starts
    /// after that rotation. Includes rotations of deleted projects.
    async fn due_rotations(
        &mut self,
        now: Time,
        after: Option<DueRotation>,
        limit: u32,
    ) -> StoreResult<Vec<DueRotation>>;

    /// Returns the given secret keys that a rotation of the environment has reserved, each once and
    /// sorted.
    async fn managed_keys(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretKey>>;

    /// Returns the unfinished attempt of a rotation, if there is one.
    async fn open_attempt(&mut self, rotation: RotationId) -> StoreResult<Option<AttemptRecord>>;

    /// Returns the attempt with this ID.
    async fn attempt(&mut self, attempt: AttemptId) -> StoreResult<Option<AttemptRecord>>;

    /// Lists the finished attempts of a rotation, newest first.
    async fn concluded_attempts(
        &mut self,
        rotation: RotationId,
        limit: u32,
    ) -> StoreResult<Vec<AttemptRecord>>;
}

/// Write access to rotations. Transactions must lock the environment before the rotation.
#[async_trait]
pub trait RotationWrites: Send {
    /// Inserts a rotation and reserves the secret keys that it writes. Fails with
    /// `Duplicate(Rotation)` if the environment already has a rotation with this name, and with
    /// `Duplicate(Secret)` if another rotation has reserved one of the secret keys. The caller must
    /// have called [`touch_environment`](super::EnvironmentWrites::touch_environment) before.
    async fn insert_rotation(
        &mut self,
        rotation: &RotationRecord,
        keys: &[SecretKey],
    ) -> StoreResult<()>;

    /// Locks the row of a rotation until the end of the transaction. Fails with `Stale` if the
    /// rotation does not exist.
    async fn lock_rotation(&mut self, rotation: RotationId) -> StoreResult<()>;

    /// Updates all fields of a rotation that can change, except the lease. The caller must have
    /// locked the row, or extended the lease, in this transaction. Fails with `Stale` if the
    /// rotation does not exist.
    async fn update_rotation(&mut self, rotation: &RotationRecord) -> StoreResult<()>;

    /// Deletes a rotation with its attempts, reserved secret keys, webhooks and their deliveries.
    /// Fails with `Stale` if the rotation does not exist.
    async fn delete_rotation(&mut self, rotation: RotationId) -> StoreResult<()>;

    /// Disables all rotations of a project: sets their status, error code and message, and cancels
    /// all scheduled steps except unfinished attempts and disabling the logins of previous
    /// credentials. A rotation that is already disabled keeps its error.
    async fn disable_rotations(
        &mut self,
        project: ProjectId,
        code: &str,
        message: &str,
        now: Time,
    ) -> StoreResult<()>;

    /// Takes the lease of a rotation for a worker. Returns `None` if another worker's lease has not
    /// ended at `now`, or if the rotation does not exist.
    async fn acquire_lease(
        &mut self,
        rotation: RotationId,
        now: Time,
        until: Time,
    ) -> StoreResult<Option<Lease>>;

    /// Extends the lease until `lease.until`, and locks the row of the rotation until the end of
    /// the transaction. Fails with `Stale` if another worker has taken the lease, or if it was
    /// released.
    async fn extend_lease(&mut self, lease: &Lease) -> StoreResult<()>;

    /// Releases the lease of a rotation. Does nothing if another worker has taken the lease since.
    async fn release_lease(&mut self, lease: &Lease) -> StoreResult<()>;

    /// Releases the leases of all rotations. Call this method only if no other process uses the
    /// store.
    async fn release_all_leases(&mut self) -> StoreResult<()>;

    /// Inserts an attempt. Fails with `Duplicate` if the rotation has an unfinished attempt, or an
    /// attempt with the same number.
    async fn insert_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()>;

    /// Updates the new password, state, counters, outcome, error and completion time of an attempt.
    /// Fails with `Stale` if the attempt does not exist or has ended.
    async fn update_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()>;

    /// Deletes finished attempts of a rotation, except the newest `kept`, at most `limit`. Returns
    /// the number of deleted attempts. The caller must have locked the rotation.
    async fn trim_attempts(
        &mut self,
        rotation: RotationId,
        kept: u32,
        limit: u32,
    ) -> StoreResult<u64>;

    /// Deletes attempts that ended before the time `before`, oldest first, at most `limit`. Keeps
    /// the last attempt of each rotation. Returns the number of deleted attempts.
    async fn prune_attempts(&mut self, before: Time, limit: u32) -> StoreResult<u64>;
}
