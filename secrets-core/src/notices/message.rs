//! Subjects and texts of notices (e-mails about rotations and tokens).

use chrono::TimeDelta;
use zeroize::Zeroizing;

use super::{Notice, Topic};
use crate::model::rotations::{REVOKING, RotationStatus, is_retried};
use crate::model::{AttemptId, BaseUrl, EmailAddress, RotationId, TeamId, Time, TokenId};
use crate::ports::mail::Email;
use crate::store::{Reads, StoreResult};

/// Age after which a notice about a restore is no longer sent. A notice can become this old if the
/// service has no mail server.
const MAX_AGE: TimeDelta = TimeDelta::days(7);

/// Subject and text of a notice, without a recipient.
pub(super) struct Message {
    /// Team whose owners and admins get the notice.
    pub(super) team: TeamId,
    subject: String,
    text: String,
}

impl Message {
    /// Creates the e-mail to one recipient.
    pub(super) fn to(self, to: EmailAddress) -> Email {
        Email { to, subject: self.subject, text: Zeroizing::new(self.text) }
    }
}

/// Builds the message of a notice. Returns `None` if there is no longer a reason to send it, for
/// example if the rotation was deleted.
pub(super) async fn message(
    reads: &mut dyn Reads,
    notice: &Notice,
    links: &BaseUrl,
    now: Time,
) -> StoreResult<Option<Message>> {
    match notice.topic {
        Topic::FailedAttempt(attempt) => {
            about_rotation(reads, attempt, notice.rotation, links).await
        }
        Topic::ExpiringToken(token) => about_token(reads, token, links, now).await,
        Topic::RestoredRotations { team, at } if now - at <= MAX_AGE => {
            about_restore(reads, team, links).await
        }
        Topic::RestoredRotations { .. } => Ok(None),
    }
}

async fn about_rotation(
    reads: &mut dyn Reads,
    attempt: AttemptId,
    rotation: Option<RotationId>,
    links: &BaseUrl,
) -> StoreResult<Option<Message>> {
    // The attempt may have been deleted since, at the end of its retention period.
    let attempt = reads.attempt(attempt).await?;
    let rotation = attempt.as_ref().map(|attempt| attempt.rotation).or(rotation);
    let Some(rotation) = rotation else { return Ok(None) };
    let Some(record) = reads.rotation(rotation).await? else { return Ok(None) };
    let Some(location) = reads.rotation_location(record.id).await? else { return Ok(None) };
    let code = record.failure.code.as_deref();
    if location.is_deleted || code == Some(REVOKING) {
        return Ok(None);
    }
    let next = match record.status {
        RotationStatus::Active | RotationStatus::Paused => return Ok(None),
        RotationStatus::Error if is_retried(code) => {
            "The service tries again, for at most 30 days."
        }
        RotationStatus::Error => {
            "The service does not try again until a user sets the status to active."
        }
        RotationStatus::Disabled => "The rotation is disabled.",
    };
    let served = match record.slots.active {
        Some(_) => "Readers still get the credential of the last successful rotation.",
        None => "The rotation has never succeeded, so its secrets have no value yet.",
    };
    let (name, environment) = (&record.settings.name, &location.environment.name);
    let project = &location.project.slug;
    let reason = record.failure.message.or(attempt.and_then(|attempt| attempt.error_message));
    let reason = reason.unwrap_or_default();
    let history = links.to(&format!(
        "/api/v1/projects/{project}/environments/{environment}/rotations/{name}/history"
    ));
    let text = format!(
        "The rotation \"{name}\" of the environment {environment} in the project {project} failed:\n\n\
         {reason}\n\n{served} {next}\n\n\
         All attempts are in the history of the rotation:\n{history}\n"
    );
    let subject = format!("The rotation \"{name}\" in {project}/{environment} fails");
    Ok(Some(Message { team: location.project.team, subject, text }))
}

async fn about_token(
    reads: &mut dyn Reads,
    token: TokenId,
    links: &BaseUrl,
    now: Time,
) -> StoreResult<Option<Message>> {
    let Some(record) = reads.token(token).await? else { return Ok(None) };
    let Some(expires_at) = record.expires_at.filter(|at| *at > now) else { return Ok(None) };
    let Some(team) = reads.team(record.team).await? else { return Ok(None) };
    let until = expires_at.format("%Y-%m-%d %H:%M UTC");
    let used = match record.last_use {
        Some(used) => format!("was last used at {}", used.at.format("%Y-%m-%d %H:%M UTC")),
        None => "has never been used".to_owned(),
    };
    let (name, prefix, team_name) = (&record.name, &record.prefix, &team.name);
    let text = format!(
        "The service token \"{name}\" ({prefix}…) of the team \"{team_name}\" at {links} expires at {until}. \
         It {used}.\n\n\
         Programs that use the token are refused from then on. Create a new token, give it to \
         these programs, and then delete the old one.\n"
    );
    let subject =
        format!("The service token \"{name}\" expires on {}", expires_at.format("%Y-%m-%d"));
    Ok(Some(Message { team: record.team, subject, text }))
}

async fn about_restore(
    reads: &mut dyn Reads,
    team: TeamId,
    links: &BaseUrl,
) -> StoreResult<Option<Message>> {
    let Some(record) = reads.team(team).await? else { return Ok(None) };
    if reads.count_rotations(team).await? == 0 {
        return Ok(None);
    }
    let name = &record.name;
    let text = format!(
        "The database of the service at {links} was restored from a backup. The rotations of the \
         team \"{name}\" are stopped until a user sets their status to active, because their \
         credentials may have changed since the backup. Rotations that were paused or disabled \
         stay so.\n\n\
         When a user resumes a rotation, the service checks at once whether the credential in the \
         secrets still works, and replaces it if it does not.\n"
    );
    let subject = format!("The rotations of the team \"{name}\" are stopped");
    Ok(Some(Message { team, subject, text }))
}
