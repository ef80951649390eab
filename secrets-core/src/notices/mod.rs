//! Notices: e-mails to the owners and admins of a team about a failing rotation, about rotations
//! that are stopped after a restore from a backup, or about a service token that expires within a
//! week.
//!
//! A notice is a delivery in the outbox. When it is due, it is replaced by one delivery for each
//! recipient, so that an address that the mail server refuses does not delay the others.

mod message;
mod tokens;

use async_trait::async_trait;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::message::message;
pub(crate) use self::tokens::needs_no_announcement;
pub use self::tokens::{EXPIRING_TOKENS, announce_expiring_tokens};
use crate::engine::Engine;
use crate::model::{
    AttemptId, DeliveryId, Role, RotationId, TeamId, Time, TokenId, UserId, next_day,
};
use crate::outbox::{self, Channel, settle, settle_attempt};
use crate::ports::mail::{DeliveryError, Mail};
use crate::store::{
    DeliveryRecord, MemberRecord, Reads, RotationRecord, StoreError, StoreResult, Tx,
};

/// Maximum number of recipients of one notice.
const MAX_RECIPIENTS: usize = 20;

/// Minimum time between two notices about the same rotation.
const MIN_NOTICE_INTERVAL: TimeDelta = TimeDelta::days(1);

/// Maximum number of notices about failing rotations of one team in a day (UTC), and of notices
/// about its expiring service tokens. Each notice is sent to up to 20 people, and delays the mail
/// of other teams.
const DAILY_OF_TEAM: u64 = 100;

/// Outbox payload of a notice: its topic, and the user to send it to. A notice without a user is
/// replaced by one notice for each recipient when it is due.
#[derive(Serialize, Deserialize)]
struct Notice {
    topic: Topic,
    /// Rotation of a failed attempt. Needed if the attempt is already deleted when the notice is
    /// sent. `None` if the topic is not an attempt, or if an earlier version enqueued the notice.
    #[serde(default)]
    rotation: Option<RotationId>,
    to: Option<UserId>,
}

/// Event or object that a notice is about.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Topic {
    /// Rotation whose status became `error` or `disabled` because of this attempt.
    FailedAttempt(AttemptId),
    /// Service token that expires soon.
    ExpiringToken(TokenId),
    /// Team whose rotations were stopped at the time `at`, because the database was restored from a
    /// backup.
    RestoredRotations { team: TeamId, at: Time },
}

/// Outbox channel that sends notices: e-mails to team owners and admins about failing rotations,
/// rotations stopped after a restore, and expiring service tokens.
#[derive(Debug, Clone, Copy)]
pub struct NoticeMail;

/// Enqueues a notice about a rotation of a team whose status has become `error` or `disabled`. The
/// notice is due immediately, but at least a day after the previous notice about the same rotation.
/// Does nothing if e-mail is not configured, if the previous notice is not due yet, or if the team
/// has 100 notices about rotations on this day already. The caller must store the changed record of
/// the rotation afterwards.
pub(crate) async fn announce_failure(
    engine: &Engine,
    tx: &mut dyn Tx,
    team: TeamId,
    rotation: &mut RotationRecord,
    attempt: AttemptId,
) -> StoreResult<()> {
    let (now, last) = (engine.now(), rotation.announced_at);
    if engine.ports().mail.is_none() || last.is_some_and(|last| last > now) {
        return Ok(());
    }
    if !is_admitted(tx, "failing-rotations", team, now).await? {
        return Ok(());
    }
    let due = last.map_or(now, |last| now.max(last + MIN_NOTICE_INTERVAL));
    rotation.announced_at = Some(due);
    let topic = Topic::FailedAttempt(attempt);
    let notice = Notice { topic, rotation: Some(rotation.id), to: None };
    enqueue(tx, &notice, now, due).await
}

/// Enqueues a notice about the rotations of a team that are stopped because the database was
/// restored from a backup. The command that accepts a restore has no mailer, so the notice waits in
/// the outbox until a service with a mailer runs. A team has at most one such notice, whose ID is
/// the ID of the team.
pub(crate) async fn announce_restore(tx: &mut dyn Tx, team: TeamId, now: Time) -> StoreResult<()> {
    let notice =
        Notice { topic: Topic::RestoredRotations { team, at: now }, rotation: None, to: None };
    let id = DeliveryId::from(team.uuid());
    outbox::enqueue_as(tx, id, (NoticeMail.kind(), json!(notice)), now, now).await
}

/// Counts a notice against the daily limit of its team. `counter` names the kind of notice. Returns
/// true if the limit is not exceeded.
async fn is_admitted(tx: &mut dyn Tx, counter: &str, team: TeamId, now: Time) -> StoreResult<bool> {
    let counter = format!("{counter}/{team}");
    Ok(tx.count_message(&counter, next_day(now)).await? <= DAILY_OF_TEAM)
}

async fn enqueue(tx: &mut dyn Tx, notice: &Notice, now: Time, due: Time) -> StoreResult<()> {
    outbox::enqueue(tx, NoticeMail.kind(), json!(notice), now, due).await
}

#[async_trait]
impl Channel for NoticeMail {
    fn kind(&self) -> &'static str {
        "notice"
    }

    fn max_in_flight(&self) -> usize {
        4
    }

    fn is_available(&self, engine: &Engine) -> bool {
        engine.ports().mail.is_some()
    }

    async fn deliver(&self, engine: &Engine, delivery: &DeliveryRecord) -> StoreResult<()> {
        let Some(mail) = &engine.ports().mail else { return Ok(()) };
        match send(engine, mail, delivery).await? {
            Progress::Replaced => Ok(()),
            Progress::Sent(outcome) => settle_attempt(engine, delivery, outcome).await,
        }
    }
}

enum Progress {
    /// The notice was replaced by one notice for each recipient.
    Replaced,
    /// The notice was sent, failed to be sent, or is no longer needed.
    Sent(Result<(), DeliveryError>),
}

async fn send(engine: &Engine, mail: &Mail, delivery: &DeliveryRecord) -> StoreResult<Progress> {
    let notice = serde_json::from_str::<Notice>(&delivery.payload);
    let notice = notice.map_err(|_| StoreError::Corrupt("the payload is not a notice".into()))?;
    let mut reads = engine.store().read().await?;
    let message = message(reads.as_mut(), &notice, &mail.links, engine.now()).await?;
    let Some(message) = message else { return Ok(Progress::Sent(Ok(()))) };
    let recipients = recipients(reads.as_mut(), message.team).await?;
    drop(reads);
    let Some(to) = notice.to else {
        let mut tx = engine.store().begin().await?;
        for member in recipients.iter().take(MAX_RECIPIENTS) {
            let (notice, now) = (Notice { to: Some(member.user), ..notice }, engine.now());
            enqueue(tx.as_mut(), &notice, now, now).await?;
        }
        settle(tx, delivery, None).await?;
        return Ok(Progress::Replaced);
    };
    // The recipient may have left the team.
    let address = recipients.into_iter().find(|member| member.user == to);
    Ok(Progress::Sent(match address.and_then(|member| member.email.try_into().ok()) {
        Some(address) => mail.mailer.send(&message.to(address)).await,
        None => Ok(()),
    }))
}

/// Lists the members of a team who get notices: owners first, then admins. Only members with a
/// verified e-mail address get notices.
async fn recipients(reads: &mut dyn Reads, team: TeamId) -> StoreResult<Vec<MemberRecord>> {
    let mut members = reads.members(&[team]).await?;
    members.retain(|member| member.role >= Role::Admin && !member.email.is_empty());
    members.sort_by_key(|member| std::cmp::Reverse(member.role));
    Ok(members)
}
