//! Enumerations used by rotations.

use serde::{Deserialize, Serialize};

use super::named_enum::named_enum;
use super::{ValidationRule, Violation};

/// Error code of a rotation that is being revoked: its secrets are deleted, and the logins of its
/// database users are being disabled.
pub(crate) const REVOKING: &str = "revoking";

/// Error codes that require action by a user.
const NEEDS_USER: [&str; 3] = ["identity_changed", "fenced", "crashed"];

/// True if the service retries by itself after an error with this code.
pub(crate) fn is_retried(code: Option<&str>) -> bool {
    code.is_none_or(|code| !NEEDS_USER.contains(&code))
}

named_enum! {
    /// Kind of database.
    Integration, "must be postgresql or mysql",
    /// PostgreSQL 11 or later.
    Postgresql = "postgresql",
    /// MySQL 8 or later, or MariaDB 10.5 or later.
    Mysql = "mysql",
}

named_enum! {
    /// Connection method: direct, or through a proxy function.
    ConnectionMethod, "must be direct or proxied",
    /// The service connects directly.
    Direct = "direct",
    /// An AWS Lambda function in the database's network connects on behalf of the service.
    Proxied = "proxied",
}

named_enum! {
    /// Privileges of the rotated user in the database.
    PermissionLevel, "must be read, read_write or admin",
    /// Read all tables.
    Read = "read" | "read_only",
    /// Read all tables and change their rows.
    ReadWrite = "read_write",
    /// Like `read_write`, and also create, alter and drop tables.
    Admin = "admin",
}

named_enum! {
    /// TLS mode of a database connection. Never opportunistic: `allow` and `prefer` are treated as
    /// `require`.
    SslMode, "must be disable, allow, prefer, require, verify-ca or verify-full",
    /// No encryption; only for destinations that the operator allows.
    Disable = "disable" | "DISABLED",
    /// Same as `require`.
    Allow = "allow",
    /// Same as `require`.
    Prefer = "prefer" | "PREFERRED",
    /// TLS without verification of the server certificate.
    Require = "require" | "REQUIRED",
    /// TLS; the server certificate must be signed by a trusted authority. Its host name is not
    /// checked.
    VerifyCa = "verify-ca" | "VERIFY_CA",
    /// TLS; the server certificate must be signed by a trusted authority and match the host name of
    /// the database server.
    VerifyFull = "verify-full" | "VERIFY_IDENTITY",
}

named_enum! {
    /// Status of a rotation.
    RotationStatus, "must be active, paused, disabled or error",
    /// Rotates when due.
    Active = "active",
    /// Paused by a user.
    Paused = "paused",
    /// Disabled: its project or environment was deleted, it was revoked, the plan does not include
    /// it, or it was in error for too long.
    Disabled = "disabled",
    /// A user must fix a problem with the database.
    Error = "error",
}

named_enum! {
    /// Slot of a rotation: one of its two database users. The credential of one user is served; the
    /// other user is changed next.
    Slot, "must be a or b",
    /// First database user.
    A = "a",
    /// Second database user.
    B = "b",
}

named_enum! {
    /// Reason why a rotation attempt was started.
    TriggerType, "must be scheduled or manual",
    /// The rotation was due.
    Scheduled = "scheduled",
    /// A user requested it.
    Manual = "manual",
}

named_enum! {
    /// Result of a rotation attempt.
    Outcome, "must be success, failed or rolled_back",
    /// The new credential is stored in the secrets and served from now on.
    Success = "success",
    /// The attempt failed. The served credential is unchanged.
    Failed = "failed",
    /// The new credential was set but could not be used, so the login of its database user was
    /// disabled again. The served credential is unchanged.
    RolledBack = "rolled_back",
}

named_enum! {
    /// Progress of a rotation attempt. Each state is stored before the next external effect, such
    /// as a call to the target.
    AttemptState, "must be a state of an attempt",
    /// A password is generated and stored; the target database has not been contacted.
    Planned = "planned",
    /// The password is being set, or may have been set, at the target database.
    Applying = "applying",
    /// The target database accepted the password.
    Applied = "applied",
    /// A login to the target database with the password succeeded.
    Verified = "verified",
    /// The login of the changed database user is being disabled again.
    RollingBack = "rolling_back",
    /// The attempt is finished.
    Concluded = "concluded",
}

named_enum! {
    /// Event that a webhook can subscribe to.
    WebhookEvent, "must be rotation.started, rotation.completed or rotation.failed",
    /// An attempt started.
    Started = "rotation.started",
    /// A new credential is served.
    Completed = "rotation.completed",
    /// An attempt failed or was rolled back.
    Failed = "rotation.failed",
}

named_enum! {
    /// Status of a webhook delivery.
    DeliveryStatus, "must be pending, delivered or failed",
    /// Not delivered yet; will be tried or retried.
    Pending = "pending",
    /// Accepted by the receiver.
    Delivered = "delivered",
    /// Given up; will not be retried automatically.
    Failed = "failed",
}

impl SslMode {
    /// True if the connection is encrypted.
    #[must_use]
    pub fn encrypts(self) -> bool {
        self != Self::Disable
    }

    /// Returns the mode that is in effect: `require` for `allow` and `prefer`.
    #[must_use]
    pub fn effective(self) -> Self {
        match self {
            Self::Allow | Self::Prefer => Self::Require,
            other => other,
        }
    }

    /// True if the server certificate is verified.
    #[must_use]
    pub fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyFull)
    }
}

impl Slot {
    /// Returns the other slot.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Properties of a kind of database that code outside of the driver needs.
#[derive(Debug, Clone, Copy)]
pub struct DatabaseKind {
    /// Default port of the database server.
    pub default_port: u16,
    /// Scheme of database URLs.
    pub url_scheme: &'static str,
    /// Parameter of database URLs for the TLS mode; `None` if clients of this kind of database
    /// share no parameter.
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
