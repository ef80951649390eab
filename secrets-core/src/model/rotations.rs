//! Enumerations for rotations: kinds of database, statuses, results and events.

use serde::{Deserialize, Serialize};

use super::named_enum::named_enum;
use super::{ValidationRule, Violation};

/// Error code of a rotation that is being revoked: the rotation's secrets are deleted, and the
/// logins of its database users are being disabled.
pub(crate) const REVOKING: &str = "revoking";

/// Error codes of rotations after which a user must fix a problem before the service continues.
const NEEDS_USER: [&str; 3] = ["identity_changed", "fenced", "crashed"];

/// True if the service retries a rotation by itself after an error with this code.
pub(crate) fn is_retried(code: Option<&str>) -> bool {
    code.is_none_or(|code| !NEEDS_USER.contains(&code))
}

named_enum! {
    /// Kind of target database.
    Integration, "must be postgresql or mysql",
    /// PostgreSQL 11 or later.
    Postgresql = "postgresql",
    /// MySQL 8 or later, or MariaDB 10.5 or later.
    Mysql = "mysql",
}

named_enum! {
    /// Connection method: direct, or through a proxy function.
    ConnectionMethod, "must be direct or proxied",
    /// The service connects to the database itself.
    Direct = "direct",
    /// An AWS Lambda function in the database's network connects to the database on behalf of the
    /// service.
    Proxied = "proxied",
}

named_enum! {
    /// Privileges of the rotated database users.
    PermissionLevel, "must be read, read_write or admin",
    /// Privilege to read all tables.
    Read = "read" | "read_only",
    /// Privileges to read all tables and change their rows.
    ReadWrite = "read_write",
    /// Same privileges as `read_write`, and also the privileges to create, alter and drop tables.
    Admin = "admin",
}

named_enum! {
    /// TLS mode of a database connection. No mode falls back to an unencrypted connection: `allow`
    /// and `prefer` are treated as `require`.
    SslMode, "must be disable, allow, prefer, require, verify-ca or verify-full",
    /// No encryption. Permitted only for destinations that the operator lists.
    Disable = "disable" | "DISABLED",
    /// Same as `require`.
    Allow = "allow",
    /// Same as `require`.
    Prefer = "prefer" | "PREFERRED",
    /// TLS without verification of the server certificate.
    Require = "require" | "REQUIRED",
    /// TLS; the server certificate must be signed by a trusted authority. The host name in the
    /// certificate is not checked.
    VerifyCa = "verify-ca" | "VERIFY_CA",
    /// TLS; the server certificate must be signed by a trusted authority and match the host name of
    /// the database server.
    VerifyFull = "verify-full" | "VERIFY_IDENTITY",
}

named_enum! {
    /// Status of a rotation.
    RotationStatus, "must be active, paused, disabled or error",
    /// The service rotates the credential when the rotation is due.
    Active = "active",
    /// A user paused the rotation, so that no scheduled rotation happens.
    Paused = "paused",
    /// The rotation is disabled: its project or environment was deleted, it was revoked, the plan
    /// does not include it, or it was in status `error` for too long.
    Disabled = "disabled",
    /// The rotation failed, and a user must fix a problem with the database.
    Error = "error",
}

named_enum! {
    /// Slot of a rotation: one of the two database users that the rotation alternates between. The
    /// secrets contain the credential of one user; the next attempt changes the password of the
    /// other.
    Slot, "must be a or b",
    /// First of the two database users that the rotation alternates between.
    A = "a",
    /// Second of the two database users that the rotation alternates between.
    B = "b",
}

named_enum! {
    /// Reason why a rotation attempt was started.
    TriggerType, "must be scheduled or manual",
    /// The scheduled time of the rotation was reached.
    Scheduled = "scheduled",
    /// A user requested the rotation.
    Manual = "manual",
}

named_enum! {
    /// Result of a rotation attempt.
    Outcome, "must be success, failed or rolled_back",
    /// The new credential was stored in the secrets, and clients get it from now on.
    Success = "success",
    /// The attempt failed. The credential in the secrets is unchanged.
    Failed = "failed",
    /// The new password was set but could not be used, so the login of its database user was
    /// disabled again. The credential in the secrets is unchanged.
    RolledBack = "rolled_back",
}

named_enum! {
    /// Progress of a rotation attempt. Each state is stored before the next external action, such
    /// as a command to the target database.
    AttemptState, "must be a state of an attempt",
    /// A new password is generated and stored; the target database has not been contacted.
    Planned = "planned",
    /// The new password is being set in the target database, or may already be set.
    Applying = "applying",
    /// The target database has accepted the new password.
    Applied = "applied",
    /// A login to the target database with the new password has succeeded.
    Verified = "verified",
    /// The login of the changed database user is being disabled again, because its new password
    /// cannot be used.
    RollingBack = "rolling_back",
    /// The attempt has ended.
    Concluded = "concluded",
}

named_enum! {
    /// Event of a rotation that a webhook can subscribe to.
    WebhookEvent, "must be rotation.started, rotation.completed or rotation.failed",
    /// An attempt to rotate the credential started.
    Started = "rotation.started",
    /// The attempt succeeded, and the secrets contain the new credential.
    Completed = "rotation.completed",
    /// The attempt failed or was rolled back.
    Failed = "rotation.failed",
}

named_enum! {
    /// Status of a webhook delivery.
    DeliveryStatus, "must be pending, delivered or failed",
    /// Not delivered yet; the service will try or retry to deliver the event.
    Pending = "pending",
    /// Accepted by the webhook's receiver.
    Delivered = "delivered",
    /// Not delivered; the service will not try again by itself.
    Failed = "failed",
}

impl SslMode {
    /// True if connections with this TLS mode are encrypted.
    #[must_use]
    pub fn encrypts(self) -> bool {
        self != Self::Disable
    }

    /// Returns the TLS mode that is actually used: `require` for `allow` and `prefer`, otherwise
    /// the same mode.
    #[must_use]
    pub fn effective(self) -> Self {
        match self {
            Self::Allow | Self::Prefer => Self::Require,
            other => other,
        }
    }

    /// True if this TLS mode verifies the server certificate.
    #[must_use]
    pub fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyFull)
    }
}

impl Slot {
    /// Returns the other one of the two slots.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Properties of a kind of database that code outside of the database driver needs.
#[derive(Debug, Clone, Copy)]
pub struct DatabaseKind {
    /// Default port of the database server.
    pub default_port: u16,
    /// URL scheme of database URLs, such as `postgres`.
    pub url_scheme: &'static str,
    /// Name of the parameter for the TLS mode in database URLs; `None` if the clients of this kind
    /// of database have no common parameter.
    pub url_tls_parameter: Option<&'static str>,
}

impl Integration {
    /// Returns the properties of this kind of database.
    #[must_use]
    pub fn kind(self) -> DatabaseKind {
        match self {
            Self::Postgresql => DatabaseKind {
                default_port: 5432,
                url_scheme: "postgres",
                url_tls_parameter: Some("sslmode"),
            },
            Self::Mysql => {
                DatabaseKind { default_port: 3306, url_scheme: "mysql", url_tls_parameter: None }
            }
        }
    }
}
