//! IDs: UUIDs of version 7 (RFC 9562), which are ordered by time, so that rows created together are
//! stored together.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::{NoContext, Timestamp, Uuid};

use crate::model::Time;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Generates a new unique ID.
            #[must_use]
            pub fn draw(now: Time) -> Self {
                Self(draw(now))
            }

            /// Returns the ID as a UUID.
            #[must_use]
            pub fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// ID of an attempt to rotate a credential.
    AttemptId
    /// ID of a batch of audit log entries.
    AuditBatchId
    /// ID of an audit log entry.
    AuditId
    /// ID of a delivery in the outbox: a message to be sent, such as an e-mail or a webhook event.
    DeliveryId
    /// ID of a device login of a command-line client.
    DeviceLoginId
    /// ID of an environment.
    EnvironmentId
    /// ID of a scan finding.
    FindingId
    /// ID of an instance: an installation of the service with its database and encryption keys.
    InstanceId
    /// ID of an invitation to a team.
    InvitationId
    /// ID of a project.
    ProjectId
    /// ID of a request to the host application.
    RequestId
    /// ID of a rotation of database credentials.
    RotationId
    /// ID of a scan.
    ScanId
    /// ID of a secret. A secret that is deleted and created again under the same secret key gets a
    /// new ID.
    SecretId
    /// ID of a session of a command-line client or a browser.
    SessionId
    /// ID of a team.
    TeamId
    /// ID of a service token. Rotating the token does not change its ID.
    TokenId
    /// ID of a user.
    UserId
    /// ID of a rotation webhook.
    WebhookId
    /// ID of an event delivery to a webhook.
    WebhookDeliveryId
}

impl ProjectId {
    /// Placeholder ID for records that belong to the whole instance and not to a project.
    pub const NIL: Self = Self(Uuid::nil());
}

impl AuditId {
    /// Lowest possible entry ID: it sorts before the ID of every entry.
    pub const NIL: Self = Self(Uuid::nil());
}

impl AuditBatchId {
    /// Lowest possible batch ID: it sorts before the ID of every batch.
    pub const NIL: Self = Self(Uuid::nil());
}

/// Parses a UUID in any of its string representations; `None` if `text` is not a UUID.
#[must_use]
pub fn parse(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok()
}

fn draw(now: Time) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, now.timestamp_subsec_nanos()))
}
