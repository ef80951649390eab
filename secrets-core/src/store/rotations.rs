//! Rotations of database credentials, their attempts, and the leases of the workers that run them.

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

/// A rotation. Environment, name, integration and secret keys never change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationRecord {
    /// Rotation ID.
    pub id: RotationId,
    /// Environment whose secrets the rotation writes.
    pub environment: EnvironmentId,
    /// Database, secret keys and interval.
    pub settings: RotationSettings,
    /// Status.
    pub status: RotationStatus,
    /// Current error or warning.
    pub failure: RotationFailure,
    /// Time at which the last notice about a failure is due.
    pub announced_at: Option<Time>,
    /// Use of the two database users.
    pub slots: RotationSlots,
    /// Times of past and future work.
    pub schedule: RotationSchedule,
    /// Server ID that the database reported at the last change, such as PostgreSQL's
    /// `system_identifier`.
    pub identity: Option<String>,
    /// Number of the last attempt; 0 before the first attempt.
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
    /// Name, unique within the environment.
    pub name: RotationName,
    /// Kind of database.
    pub integration: Integration,
    /// Connection method: directly, or through a proxy function.
    pub method: ConnectionMethod,
    /// Permission level of the rotated database users.
    pub level: PermissionLevel,
    /// Encrypted connection settings, including the administrator's password.
    pub connection: Sealed,
    /// Encrypted settings of the proxy function, including its shared secret, if there is one.
    pub proxy: Option<Sealed>,
    /// Secret keys to write, as a JSON object that maps parts of the database credential to secret
    /// keys.
    pub keys: String,
    /// Rotation interval, in days.
    pub interval_days: u32,
}

/// Current error or warning of a rotation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RotationFailure {
    /// Error code, for programs.
    pub code: Option<String>,
    /// Error message, for people.
    pub message: Option<String>,
    /// Time at which the rotation entered the status `error`.
    pub since: Option<Time>,
    /// Number of failed attempts since the last success.
    pub count: u32,
}

/// Use of the two database users of a rotation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RotationSlots {
    /// Active slot: the slot whose credential is in the secrets. `None` before the first success.
    pub active: Option<Slot>,
    /// Time at which the login of the inactive slot's database user will be disabled; `None` if it
    /// is disabled already or was never used.
    pub retire_at: Option<Time>,
    /// Time of the next check that the active credential still works.
    pub check_at: Option<Time>,
    /// Number of checks since the credential became active.
    pub checks: u32,
}

/// Times of past and future work on a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationSchedule {
    /// Time of the next rotation, if the rotation is active.
    pub next_at: Time,
    /// Seconds that were left until the next rotation when the rotation was paused.
    pub remaining: Option<u64>,
    /// Time of the last success.
    pub last_at: Option<Time>,
    /// Time of the next work on this rotation; `None` if there is nothing to do. It repeats the
    /// earliest of the other times, so that one index finds all due work.
    pub work_at: Option<Time>,
}

/// An attempt to rotate. A concluded attempt is an entry of the history and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Attempt ID.
    pub id: AttemptId,
    /// Rotation ID.
    pub rotation: RotationId,
    /// Number of the attempt within the rotation, from 1; stored in the database as a fencing
    /// token, so that commands of older attempts are refused.
    pub sequence: u64,
    /// Slot whose credential the attempt changes; never the active slot.
    pub slot: Slot,
    /// Encrypted new password; `None` once the attempt is concluded.
    pub pending: Option<Sealed>,
    /// State of the attempt.
    pub state: AttemptState,
    /// Reason for the attempt.
    pub trigger: TriggerType,
    /// ID of the user who requested the attempt.
    pub triggered_by: Option<Uuid>,
    /// Number of times a worker started to apply the change to the database.
    pub tries: u32,
    /// Number of times a worker resumed the attempt after another worker had abandoned it.
    pub resumed: u32,
    /// Outcome; `None` while the attempt is open.
    pub outcome: Option<Outcome>,
    /// Error code of the outcome, for programs.
    pub error_code: Option<String>,
    /// Error message of the outcome, for people.
    pub error_message: Option<String>,
    /// Start time.
    pub started_at: Time,
    /// Time at which the attempt was concluded.
    pub completed_at: Option<Time>,
}

/// Project and environment of a rotation, with the encryption key of its records.
#[derive(Debug, Clone)]
pub struct RotationLocation {
    /// Project.
    pub project: ProjectRecord,
    /// True if the project is deleted.
    pub is_deleted: bool,
    /// Plan of the project's team.
    pub plan: PlanName,
    /// Environment.
    pub environment: EnvironmentRecord,
    /// Newest encryption key of the project.
    pub key: ProjectKeyRecord,
}

/// A lease: the exclusive right to work on a rotation until a time. Each lease of a rotation has a
/// higher epoch than the previous lease, so a worker with an older epoch has lost its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Rotation ID.
    pub rotation: RotationId,
    /// Epoch: number of leases taken for this rotation so far.
    pub epoch: u64,
    /// Expiry time.
    pub until: Time,
}

/// A rotation with work that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueRotation {
    /// Rotation ID.
    pub id: RotationId,
    /// ID of the team.
    pub team: TeamId,
    /// Time at which the work became due.
    pub work_at: Time,
}

impl RotationRecord {
    /// Creates an active rotation that has not run. The first rotation is due at `now`; the time of
    /// work is not set.
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

/// Read access to rotations.
#[async_trait]
pub trait RotationReads: Send {
    /// Lists the rotations of an environment, ordered by name.
    async fn rotations(&mut self, environment: EnvironmentId) -> StoreResult<Vec<RotationRecord>>;

    /// Returns the rotation with this name.
    async fn rotation_by_name(
        &mut self,
        environment: EnvironmentId,
        name: &RotationName,
    ) -> StoreResult<Option<RotationRecord>>;

    /// Returns the rotation with this ID, also if its project is deleted.
    async fn rotation(&mut self, rotation: RotationId) -> StoreResult<Option<RotationRecord>>;

    /// Returns the first rotation whose ID is `from` or higher, also if its project is deleted.
    async fn next_rotation(&mut self, from: RotationId) -> StoreResult<Option<RotationRecord>>;

    /// Returns the project and environment of a rotation, also if the project is deleted.
    async fn rotation_location(
        &mut self,
        rotation: RotationId,
    ) -> StoreResult<Option<RotationLocation>>;

    /// Counts the rotations of a team, except rotations of deleted projects.
    async fn count_rotations(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Lists rotations whose work is due and that are not leased, longest overdue first, after the
    /// rotation `after`, at most `limit` of them. Includes rotations of deleted projects.
    async fn due_rotations(
        &mut self,
        now: Time,
        after: Option<DueRotation>,
        limit: u32,
    ) -> StoreResult<Vec<DueRotation>>;

    /// Returns the secret keys of `keys` that a rotation of the environment has reserved, in order.
    async fn managed_keys(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretKey>>;

    /// Returns the open attempt of a rotation: the attempt that is not concluded.
    async fn open_attempt(&mut self, rotation: RotationId) -> StoreResult<Option<AttemptRecord>>;

    /// Returns the attempt with this ID.
    async fn attempt(&mut self, attempt: AttemptId) -> StoreResult<Option<AttemptRecord>>;

    /// Lists the concluded attempts of a rotation, newest first.
    async fn concluded_attempts(
        &mut self,
        rotation: RotationId,
        limit: u32,
    ) -> StoreResult<Vec<AttemptRecord>>;
}

/// Write access to rotations. Lock order: environment, then rotation.
#[async_trait]
pub trait RotationWrites: Send {
    /// Inserts a rotation and reserves the secret keys it writes. Fails with `Duplicate(Rotation)`
    /// if the environment has a rotation with this name, and with `Duplicate(Secret)` if another
    /// rotation has reserved one of the secret keys. The caller must have called
    /// [`touch_environment`](super::EnvironmentWrites::touch_environment) before.
    async fn insert_rotation(
        &mut self,
        rotation: &RotationRecord,
        keys: &[SecretKey],
    ) -> StoreResult<()>;

    /// Locks the rotation's row until the end of the transaction. Fails with `Stale` if the
    /// rotation does not exist.
    async fn lock_rotation(&mut self, rotation: RotationId) -> StoreResult<()>;

    /// Updates all fields that may change, except the lease. The caller must have locked the row,
    /// or extended the lease, in this transaction. Fails with `Stale` if the rotation does not
    /// exist.
    async fn update_rotation(&mut self, rotation: &RotationRecord) -> StoreResult<()>;

    /// Deletes a rotation with its attempts, reserved secret keys, webhooks and their deliveries.
    /// Fails with `Stale` if the rotation does not exist.
    async fn delete_rotation(&mut self, rotation: RotationId) -> StoreResult<()>;

    /// Disables the rotations of a project: sets status and error, and cancels all work except on
    /// open attempts. A rotation that is already disabled keeps its error.
    async fn disable_rotations(
        &mut self,
        project: ProjectId,
        code: &str,
        message: &str,
        now: Time,
    ) -> StoreResult<()>;

    /// Takes the lease of a rotation. Returns `None` if another lease lasts beyond `now`, or the
    /// rotation does not exist.
    async fn acquire_lease(
        &mut self,
        rotation: RotationId,
        now: Time,
        until: Time,
    ) -> StoreResult<Option<Lease>>;

    /// Extends the lease until `lease.until`, and locks the rotation's row until the end of the
    /// transaction. Fails with `Stale` if another worker has the lease or it was released.
    async fn extend_lease(&mut self, lease: &Lease) -> StoreResult<()>;

    /// Releases the lease. Does nothing if another worker has taken it since.
    async fn release_lease(&mut self, lease: &Lease) -> StoreResult<()>;

    /// Releases all leases. Only for a store that no other process uses.
    async fn release_all_leases(&mut self) -> StoreResult<()>;

    /// Inserts an attempt. Fails with `Duplicate` if the rotation has an open attempt, or an
    /// attempt with this number.
    async fn insert_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()>;

    /// Updates pending password, state, counters, outcome, error and the completion time. Fails
    /// with `Stale` if the attempt does not exist or is concluded already.
    async fn update_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()>;

    /// Deletes the attempts that were concluded before this time, oldest first, at most `limit` of
    /// them. The last attempt of each rotation stays. Returns the number of deleted attempts.
    async fn prune_attempts(&mut self, before: Time, limit: u32) -> StoreResult<u64>;
}
