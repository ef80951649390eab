//! Lookup of deleted projects that can be restored.

use chrono::TimeDelta;

use crate::engine::{Context, Write};
use crate::model::{ProjectRef, Result};
use crate::store::ProjectRelation;

/// Time during which a deleted project can be restored.
pub(crate) const RESTORE_PERIOD: TimeDelta = TimeDelta::days(30);

/// Loads a deleted project that can still be restored. Returns `None` if there is none with this
/// ID, or if `path` is a slug.
pub(super) async fn deleted_project(
    cx: &mut Context<'_, Write>,
    path: &ProjectRef,
) -> Result<Option<ProjectRelation>> {
    let Some(id) = path.id() else { return Ok(None) };
    let principal = cx.caller.principal()?;
    let since = cx.now() - RESTORE_PERIOD;
    Ok(cx.reads().deleted_project(id, since, principal).await?)
}
