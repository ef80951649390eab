//! Identifiers: UUID version 7 (RFC 9562), so that rows made together lie together.

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
            /// A new one, never given before.
            #[must_use]
            pub fn draw(now: Time) -> Self {
                Self(draw(now))
            }

            /// The UUID itself.
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
    /// An attempt to rotate a credential.
    AttemptId
    /// An entry of the audit log.
    AuditId
    /// A login of a command-line client that was approved.
    CliSessionId
    /// Something to be sent.
    DeliveryId
    /// A login of a command-line client.
    DeviceLoginId
    /// An environment.
    EnvironmentId
    /// Something a scan found.
    FindingId
    /// One installation: a database and its keys.
    InstanceId
    /// An invitation to a team.
    InvitationId
    /// A project.
    ProjectId
    /// A request that a host answers.
    RequestId
    /// A rotation of a database's credentials.
    RotationId
    /// A scan.
    ScanId
    /// A secret; a key that is deleted and made again gets another.
    SecretId
    /// A team.
    TeamId
    /// A service token; rotating keeps it.
    TokenId
    /// A user.
    UserId
    /// A webhook of a rotation.
    WebhookId
    /// An event on its way to a webhook.
    WebhookDeliveryId
}

impl ProjectId {
    /// Stands where a key belongs to the instance and not to a project.
    pub const NIL: Self = Self(Uuid::nil());
}

/// The UUID a text is, in any of the forms that are one; `None` if it is a name.
#[must_use]
pub fn parse(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok()
}

fn draw(now: Time) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, now.timestamp_subsec_nanos()))
}
