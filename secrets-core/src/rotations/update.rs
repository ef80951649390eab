//! Changes to rotations.

use chrono::TimeDelta;
use serde::Deserialize;

use super::Rotation;
use super::create::check_interval;
use super::list::locked_rotation;
use super::schedule::work_at;
use crate::access::LockedRow;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::rotations::RotationStatus;
use crate::model::{EnvironmentPath, Error, Result, Subject, ValidationRule, Violation, whole};
use crate::store::{RotationFailure, RotationRecord};

/// Changes of a rotation's settings. At least one field is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RotationChange {
    /// Number of days between rotations: 1 to 365.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 365))]
    #[serde(default, deserialize_with = "whole::optional")]
    pub rotation_interval_days: Option<u32>,
    /// New status. `paused` keeps the time left until the next rotation; `active` resumes the
    /// rotation, also after an error.
    pub status: Option<WantedStatus>,
}

/// Statuses that a user can set for a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "String")]
#[cfg_attr(feature = "openapi", schema(rename_all = "lowercase"))]
pub enum WantedStatus {
    /// Rotate the credential when the rotation is due.
    Active,
    /// Do not rotate the credential until the rotation is resumed.
    Paused,
}

impl TryFrom<String> for WantedStatus {
    type Error = Violation;

    fn try_from(text: String) -> std::result::Result<Self, Violation> {
        match text.as_str() {
            "active" => Ok(Self::Active),
            "paused" => Ok(Self::Paused),
            _ => Err(ValidationRule::of("must be active or paused").violation()),
        }
    }
}

/// Changes a rotation's interval, or pauses or resumes it.
#[derive(Debug)]
pub struct UpdateRotation {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name.
    pub name: String,
    /// Changes of the rotation's settings.
    pub change: RotationChange,
}

impl Operation for UpdateRotation {
    const NAME: &'static str = "rotation.update";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("rotation.updated");
    type Access = Write;
    type Output = Rotation;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Rotation> {
        let row = LockedRow::Environment;
        let (_, mut rotation) = locked_rotation(cx, &self.at, &self.name, row).await?;
        let id = rotation.id;
        let RotationChange { rotation_interval_days, status } = self.change;
        if rotation_interval_days.is_none() && status.is_none() {
            return Err(Error::invalid("status", "or rotation_interval_days must be given"));
        }
        rotation_interval_days.map_or(Ok(()), check_interval)?;
        if let Some(days) = rotation_interval_days {
            set_interval(cx, &mut rotation, days);
        }
        match status {
            Some(WantedStatus::Paused) => pause(cx, &mut rotation),
            Some(WantedStatus::Active) => resume(cx, &mut rotation),
            None => {}
        }
        let has_open = cx.reads().open_attempt(id).await?.is_some();
        rotation.updated_at = cx.now();
        rotation.schedule.work_at = work_at(&rotation, has_open, cx.now());
        cx.tx()
            .update_rotation(&rotation)
            .await
            .map_err(|error| error.or_not_found(Subject::Rotation))?;
        cx.set_resource("rotation", id.uuid(), rotation.settings.name.as_str());
        cx.add_detail("rotation_interval_days", rotation.settings.interval_days);
        cx.add_detail("status", rotation.status.as_str());
        Rotation::new(rotation)
    }
}

/// Sets the rotation interval, and moves the next rotation so that the new interval is counted from
/// the last rotation.
fn set_interval(cx: &mut Context<'_, Write>, rotation: &mut RotationRecord, days: u32) {
    rotation.settings.interval_days = days;
    let from = rotation.schedule.last_at.unwrap_or(rotation.created_at);
    let next = cx.ports().timings().next(rotation, from).max(cx.now());
    rotation.schedule.next_at = next;
    if rotation.schedule.remaining.is_some() {
        rotation.schedule.remaining = Some(seconds(next - cx.now()));
    }
}

fn pause(cx: &mut Context<'_, Write>, rotation: &mut RotationRecord) {
    if rotation.status == RotationStatus::Paused {
        return;
    }
    let left = match rotation.status {
        RotationStatus::Active => rotation.schedule.next_at - cx.now(),
        // After an error, `next_at` is the time of a retry and not of a regular rotation, so a
        // whole interval remains.
        _ => cx.ports().timings().interval(rotation),
    };
    rotation.schedule.remaining = Some(seconds(left));
    rotation.status = RotationStatus::Paused;
    cx.audit.action = Some("rotation.paused");
}

fn resume(cx: &mut Context<'_, Write>, rotation: &mut RotationRecord) {
    let next = match rotation.status {
        RotationStatus::Active => return,
        RotationStatus::Paused => {
            let left = i64::try_from(rotation.schedule.remaining.unwrap_or_default());
            cx.now() + TimeDelta::seconds(left.unwrap_or_default())
        }
        RotationStatus::Error | RotationStatus::Disabled => {
            cx.ports().timings().next(rotation, cx.now())
        }
    };
    // Resuming confirms the new server. Its identity is stored at the next rotation.
    if rotation.failure.code.as_deref() == Some("identity_changed") {
        rotation.identity = None;
    }
    // A restore from a backup has cancelled the checks. Check now, because the password in the
    // rotated database may be newer than the backup.
    if rotation.slots.check_at.is_none() {
        rotation.slots.check_at = rotation.slots.active.map(|_| cx.now());
    }
    rotation.status = RotationStatus::Active;
    rotation.failure = RotationFailure::default();
    rotation.schedule.remaining = None;
    rotation.schedule.next_at = next;
    cx.audit.action = Some("rotation.resumed");
}

fn seconds(span: TimeDelta) -> u64 {
    u64::try_from(span.num_seconds()).unwrap_or_default()
}
