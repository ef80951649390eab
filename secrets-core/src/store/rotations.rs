//! Rotations, their attempts, and who is at work on them.

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

/// A rotation. Everything but its place, name, kind and keys may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationRecord {
    /// Which rotation.
    pub id: RotationId,
    /// The environment whose secrets it writes.
    pub environment: EnvironmentId,
    /// Its name, unique within the environment.
    pub name: RotationName,
    /// What kind of database.
    pub integration: Integration,
    /// Who dials it.
    pub method: ConnectionMethod,
    /// What the rotated users may do.
    pub level: PermissionLevel,
    /// How the database is reached, the administrator's password included.
    pub connection: Sealed,
    /// The function that reaches it and its shared secret, where there is one.
    pub proxy: Option<Sealed>,
    /// The keys it writes, as a JSON object from part of the credential to key.
    pub keys: String,
    /// How many days lie between rotations.
    pub interval_days: u32,
    /// How it is doing.
    pub status: RotationStatus,
    /// What is wrong, for machines.
    pub error_code: Option<String>,
    /// What is wrong, for people.
    pub error_message: Option<String>,
    /// When it entered the status `error`.
    pub error_since: Option<Time>,
    /// How many attempts have failed in a row.
    pub failures: u32,
    /// The slot whose credential is served; none before the first success.
    pub active_slot: Option<Slot>,
    /// When the other slot is shut out; none where it is, or never was open.
    pub retire_at: Option<Time>,
    /// When the served credential is tried again, and how often that was done since it is served.
    pub check_at: Option<Time>,
    /// How often the served credential was tried since it is served.
    pub checks: u32,
    /// When it rotates next, if it is active.
    pub next_rotation_at: Time,
    /// How many seconds were left when it was paused.
    pub remaining: Option<u64>,
    /// When it last succeeded.
    pub last_rotation_at: Option<Time>,
    /// What the target called itself when it was last changed.
    pub identity: Option<String>,
    /// The number of its last attempt; 0 before the first.
    pub sequence: u64,
    /// When there is something to do; none where there is nothing. Kept with every change, so that
    /// one index finds all work.
    pub work_at: Option<Time>,
    /// Who made it.
    pub created_by: Option<Uuid>,
    /// When it was made.
    pub created_at: Time,
    /// When anything of it last changed.
    pub updated_at: Time,
}

/// An attempt to rotate. Once it is concluded it is an entry of the history and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Which attempt.
    pub id: AttemptId,
    /// Whose attempt.
    pub rotation: RotationId,
    /// Its number within the rotation, from 1: the fence at the target.
    pub sequence: u64,
    /// The slot it changes: never the one that is served.
    pub slot: Slot,
    /// The new password; none once the attempt is concluded.
    pub pending: Option<Sealed>,
    /// How far it is.
    pub state: AttemptState,
    /// Why it was begun.
    pub trigger: TriggerType,
    /// Who asked for it.
    pub triggered_by: Option<Uuid>,
    /// How often applying was begun.
    pub tries: u32,
    /// How often somebody took it up after somebody else had left it.
    pub resumed: u32,
    /// How it ended; none while it is open.
    pub outcome: Option<Outcome>,
    /// Why it ended so, for machines.
    pub error_code: Option<String>,
    /// Why it ended so, for people.
    pub error_message: Option<String>,
    /// When it was begun.
    pub started_at: Time,
    /// When it was concluded.
    pub completed_at: Option<Time>,
}

/// Where a rotation is, with what opens its records.
#[derive(Debug, Clone)]
pub struct RotationPlace {
    /// The project.
    pub project: ProjectRecord,
    /// Whether the project is deleted.
    pub is_deleted: bool,
    /// The plan of its team.
    pub plan: PlanName,
    /// The environment.
    pub environment: EnvironmentRecord,
    /// The project's newest key.
    pub key: ProjectKeyRecord,
}

/// The right to work on a rotation until a time, as the only one. Every taking counts one more, and
/// whoever holds an older count has lost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// On which rotation.
    pub rotation: RotationId,
    /// The count.
    pub epoch: u64,
    /// When it ends by itself.
    pub until: Time,
}

/// Reading rotations.
#[async_trait]
pub trait RotationReads: Send {
    /// An environment's rotations, ordered by name.
    async fn rotations(&mut self, environment: EnvironmentId) -> StoreResult<Vec<RotationRecord>>;

    /// The rotation of this name.
    async fn rotation_named(
        &mut self,
        environment: EnvironmentId,
        name: &RotationName,
    ) -> StoreResult<Option<RotationRecord>>;

    /// The rotation with this id, whether or not its project is deleted.
    async fn rotation(&mut self, rotation: RotationId) -> StoreResult<Option<RotationRecord>>;

    /// The first rotation at or after this id, whether or not its project is deleted.
    async fn rotation_from(&mut self, from: RotationId) -> StoreResult<Option<RotationRecord>>;

    /// Where a rotation is, whether or not its project is deleted.
    async fn rotation_place(&mut self, rotation: RotationId) -> StoreResult<Option<RotationPlace>>;

    /// How many rotations the projects of a team have; those of deleted projects do not count.
    async fn count_rotations(&mut self, team: TeamId) -> StoreResult<u64>;

    /// The rotations on which there is work (`work_at` is not after `now`) and nobody is at work
    /// (no lease lasts beyond `now`), the longest due first.
    async fn rotation_work(&mut self, now: Time, limit: u32) -> StoreResult<Vec<RotationId>>;

    /// Those out of `keys` that a rotation of the environment writes, ordered.
    async fn managed_keys(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretKey>>;

    /// The attempt that is not concluded.
    async fn open_attempt(&mut self, rotation: RotationId) -> StoreResult<Option<AttemptRecord>>;

    /// The attempt with this id.
    async fn attempt(&mut self, attempt: AttemptId) -> StoreResult<Option<AttemptRecord>>;

    /// The attempts that are concluded, newest first.
    async fn concluded_attempts(
        &mut self,
        rotation: RotationId,
        limit: u32,
    ) -> StoreResult<Vec<AttemptRecord>>;
}

/// Writing rotations. Locks are taken in the order environment, rotation.
#[async_trait]
pub trait RotationWrites: Send {
    /// Keeps a rotation and reserves the keys it writes. Fails with `Duplicate(Rotation)` if the
    /// environment has one of the name, with `Duplicate(Secret)` if another rotation writes one of
    /// the keys. The environment was touched before.
    async fn insert_rotation(
        &mut self,
        rotation: &RotationRecord,
        keys: &[SecretKey],
    ) -> StoreResult<()>;

    /// Holds the rotation's row until the end of the transaction. Fails with `Stale` if it is gone.
    async fn lock_rotation(&mut self, rotation: RotationId) -> StoreResult<()>;

    /// Replaces all that may change, and nothing of its lease. The row was held or locked before.
    /// Fails with `Stale` if it is gone.
    async fn update_rotation(&mut self, rotation: &RotationRecord) -> StoreResult<()>;

    /// Deletes it with its attempts, reserved keys, webhooks and their deliveries. Fails with `Stale`
    /// if it is gone.
    async fn delete_rotation(&mut self, rotation: RotationId) -> StoreResult<()>;

    /// Disables the rotations of a project: status, error, and no work any more but the attempts
    /// that are open. One that is disabled already keeps its reason.
    async fn disable_rotations(
        &mut self,
        project: ProjectId,
        code: &str,
        message: &str,
        now: Time,
    ) -> StoreResult<()>;

    /// Takes the lease unless somebody's lasts beyond `now`; `None` if it does, or the rotation is
    /// gone.
    async fn take_lease(
        &mut self,
        rotation: RotationId,
        now: Time,
        until: Time,
    ) -> StoreResult<Option<Lease>>;

    /// Prolongs the lease to what it says and holds the row until the end of the transaction. Fails
    /// with `Stale` if it was lost.
    async fn hold_lease(&mut self, lease: &Lease) -> StoreResult<()>;

    /// Ends the lease, if it was not lost.
    async fn end_lease(&mut self, lease: &Lease) -> StoreResult<()>;

    /// Ends all leases. Only where no other process has the store.
    async fn end_leases(&mut self) -> StoreResult<()>;

    /// Fails with `Duplicate` if the rotation has an attempt that is not concluded, or one of this
    /// number.
    async fn insert_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()>;

    /// Replaces pending password, state, counts, outcome, error and time of completion. Fails with
    /// `Stale` if the attempt is gone or concluded.
    async fn update_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()>;
}
