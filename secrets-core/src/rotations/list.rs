//! Reading rotations and their history.

use super::{ConcludedAttempt, Rotation};
use crate::access::{EnvironmentScope, LockedRow};
use crate::engine::{Access, Audit, Callers, Context, Lock, Operation, Read, Write};
use crate::model::{EnvironmentPath, Error, Permission, Result, Subject};
use crate::store::RotationRecord;

/// Maximum number of history entries in a response. Older finished attempts are deleted.
pub(super) const MAX_HISTORY: u32 = 200;

/// Lists an environment's rotations, ordered by name.
#[derive(Debug)]
pub struct ListRotations {
    /// Environment whose rotations are listed.
    pub at: EnvironmentPath,
}

/// Reads a rotation.
#[derive(Debug)]
pub struct GetRotation {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
}

/// Reads the last 200 finished attempts of a rotation, newest first.
#[derive(Debug)]
pub struct ReadRotationHistory {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
}

impl Operation for ListRotations {
    const NAME: &'static str = "rotation.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<Rotation>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<Rotation>> {
        let scope = cx.environment(&self.at, Permission::Read).await?;
        let rotations = cx.reads().rotations(scope.environment.id).await?;
        rotations.into_iter().map(Rotation::new).collect()
    }
}

impl Operation for GetRotation {
    const NAME: &'static str = "rotation.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Rotation;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Rotation> {
        let scope = cx.environment(&self.at, Permission::Read).await?;
        Rotation::new(named_rotation(cx, scope.environment.id, &self.name).await?)
    }
}

impl Operation for ReadRotationHistory {
    const NAME: &'static str = "rotation.history";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<ConcludedAttempt>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<ConcludedAttempt>> {
        let scope = cx.environment(&self.at, Permission::Read).await?;
        let rotation = named_rotation(cx, scope.environment.id, &self.name).await?;
        let attempts = cx.reads().concluded_attempts(rotation.id, MAX_HISTORY).await?;
        attempts.into_iter().map(ConcludedAttempt::new).collect()
    }
}

/// Loads the rotation with this name in an environment. Fails if there is none.
pub(super) async fn named_rotation<A: Access>(
    cx: &mut Context<'_, A>,
    environment: crate::model::EnvironmentId,
    name: &str,
) -> Result<RotationRecord> {
    let unknown = || Error::NotFound(Subject::Rotation);
    let name = name.parse().map_err(|_| unknown())?;
    cx.reads().rotation_by_name(environment, &name).await?.ok_or_else(unknown)
}

/// Locks a rotation and its environment, authorizes the caller for changes of rotations, and loads
/// the rotation.
pub(super) async fn locked_rotation(
    cx: &mut Context<'_, Write>,
    at: &EnvironmentPath,
    name: &str,
    row: LockedRow,
) -> Result<(EnvironmentScope, RotationRecord)> {
    let scope = cx.locked_environment(at, Permission::Write, &[row]).await?;
    let id = named_rotation(cx, scope.environment.id, name).await?.id;
    // Requests lock the environment first, so only a worker can hold this row, and only briefly.
    let held = cx.lock(Lock::Rotation(id)).await;
    held.map_err(|error| error.or_not_found(Subject::Rotation))?;
    let rotation = named_rotation(cx, scope.environment.id, name).await?;
    Ok((scope, rotation))
}
