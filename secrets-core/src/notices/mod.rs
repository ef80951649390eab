//! Notices: e-mails to the owners and admins of a team about a rotation that fails, or a service token
//! that expires within a week.
//!
//! A notice is a delivery of the outbox. When it is due, it is replaced by one delivery for each
//! recipient, so that an address that the mail server refuses does not delay the others.

mod message;
mod tokens;

use async_trait::async_trait;
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use self::message::message;
pub(crate) use self::tokens::needs_no_announcement;
pub use self::tokens::{EXPIRING_TOKENS, announce_expiring_tokens};
use crate::engine::Engine;
use crate::model::{AttemptId, Error, Result, Role, TeamId, Time, TokenId, UserId};
use crate::outbox::{self, Channel, settle, settle_attempt};
use crate::ports::mail::{DeliveryError, Mail};
use crate::store::{DeliveryRecord, MemberRecord, Reads, RotationRecord, StoreResult, Tx};

/// Maximum number of recipients of one notice.
const MAX_RECIPIENTS: usize = 20;

/// Minimum time between two notices about the same rotation.
const BETWEEN_FAILURES: TimeDelta = TimeDelta::days(1);

/// Outbox payload: the topic of a notice, and its recipient once the recipients are chosen.
#[derive(Serialize, Deserialize)]
struct Notice {
    topic: Topic,
    to: Option<UserId>,
}

/// Topic of a notice.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Topic {
    /// The attempt that changed the status of a rotation to `error` or `disabled`.
    FailedAttempt(AttemptId),
    /// A token that expires soon.
    ExpiringToken(TokenId),
}

/// Outbox channel of notices.
#[derive(Debug, Clone, Copy)]
pub struct NoticeMail;

/// Enqueues a notice about a rotation that begins to fail, at most once a day. Does nothing if e-mail is
/// not configured. The caller stores the rotation.
pub(crate) async fn announce_failure(
    engine: &Engine,
    tx: &mut dyn Tx,
    rotation: &mut RotationRecord,
    attempt: AttemptId,
) -> Result<()> {
    let now = engine.now();
    let is_recent = rotation.announced_at.is_some_and(|last| now - last < BETWEEN_FAILURES);
    if engine.ports().mail.is_none() || is_recent {
        return Ok(());
    }
    rotation.announced_at = Some(now);
    enqueue(tx, Topic::FailedAttempt(attempt), None, now).await
}

async fn enqueue(tx: &mut dyn Tx, topic: Topic, to: Option<UserId>, now: Time) -> Result<()> {
    let payload = serde_json::to_value(Notice { topic, to }).map_err(Error::internal)?;
    Ok(outbox::enqueue(tx, NoticeMail.kind(), payload, now).await?)
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
        let outcome = match send(engine, mail, delivery).await {
            Ok(Sent::ToAll) => return Ok(()),
            Ok(Sent::ToOne(outcome)) => outcome,
            Err(error) => Err(DeliveryError::Failed(error.to_string())),
        };
        settle_attempt(engine, delivery, outcome).await
    }
}

enum Sent {
    /// The notice was replaced by one for each recipient.
    ToAll,
    /// The notice was sent to its recipient, or is not needed any more.
    ToOne(std::result::Result<(), DeliveryError>),
}

async fn send(engine: &Engine, mail: &Mail, delivery: &DeliveryRecord) -> Result<Sent> {
    let notice: Notice = serde_json::from_str(&delivery.payload).map_err(Error::internal)?;
    let mut reads = engine.store().read().await?;
    let message = message(reads.as_mut(), notice.topic, &mail.links, engine.now()).await?;
    let Some(message) = message else { return Ok(Sent::ToOne(Ok(()))) };
    let recipients = recipients(reads.as_mut(), message.team).await?;
    drop(reads);
    let Some(to) = notice.to else {
        let mut tx = engine.store().begin().await?;
        for member in recipients.iter().take(MAX_RECIPIENTS) {
            enqueue(tx.as_mut(), notice.topic, Some(member.user), engine.now()).await?;
        }
        settle(tx, delivery, None).await?;
        return Ok(Sent::ToAll);
    };
    // The recipient may have left the team.
    let address = recipients.into_iter().find(|member| member.user == to);
    Ok(Sent::ToOne(match address.and_then(|member| member.email.try_into().ok()) {
        Some(address) => mail.mailer.send(&message.to(address)).await,
        None => Ok(()),
    }))
}

/// Lists the members of a team who get its notices: owners first, then admins, with a verified
/// address.
async fn recipients(reads: &mut dyn Reads, team: TeamId) -> StoreResult<Vec<MemberRecord>> {
    let mut members = reads.members(&[team]).await?;
    members.retain(|member| member.role >= Role::Admin && !member.email.is_empty());
    members.sort_by_key(|member| std::cmp::Reverse(member.role));
    Ok(members)
}
