//! Enumerations for rotations: kinds of database, statuses, results and events.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::named_enum::named_enum;
use super::names::name_conversions;
use super::{ValidationRule, Violation};

/// Error code of a rotation that is being revoked: the rotation's secrets are deleted, and the
/// logins of its database users are being disabled.
pub(crate) const REVOKING: &str = "revoking";

/// Error code of a rotation in a database that was restored from a backup: its credential may have
/// changed since.
pub(crate) const RESTORED: &str = "restored";

/// Error codes after which the service does not retry a rotation by itself: a user must fix a
/// problem first.
const NEEDS_USER: [&str; 4] = ["identity_changed", "fenced", "crashed", RESTORED];

/// True if the service retries a rotation by itself after an error with this code.
pub(crate) fn is_retried(code: Option<&str>) -> bool {
    code.is_none_or(|code| !NEEDS_USER.contains(&code))
}

/// Name of a kind of database, such as `postgresql`: 1 to 32 lower-case letters, digits or `_`. The
/// service accepts the names in [`DatabaseKind::BUILT_IN`], and those for which the program has
/// registered a driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Integration(Arc<str>);

name_conversions!(Integration);

impl TryFrom<String> for Integration {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        const NAME: ValidationRule = ValidationRule::of(
            "must be the name of a kind of database in lower case, such as postgresql",
        );
        let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let fits = (1..=32).contains(&text.len()) && text.chars().all(is_valid);
        if fits { Ok(Self(text.into())) } else { Err(NAME.violation()) }
    }
}

/// OpenAPI schema, which lists only the built-in names.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Integration {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some("Kind of database whose credential is rotated."))
            .enum_values(Some(DatabaseKind::BUILT_IN.map(|kind| kind.name)))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Integration {}

named_enum! {
    /// Connection method: direct, or through an AWS Lambda function (proxy).
    ConnectionMethod, "must be direct or proxied",
    /// The service connects to the database itself.
    Direct = "direct",
    /// An AWS Lambda function in the database's network connects to the database on behalf of the
    /// service.
    Proxied = "proxied",
}

named_enum! {
    /// Privileges of the rotated database users: `read` reads all tables, `read_write` also changes
    /// their rows, `admin` also creates, alters and drops tables.
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
    /// Status of a rotation: `active`, `paused` by a user, `disabled` by the service or by a
    /// revocation, or `error` if a user must fix a problem with the database.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseKind {
    /// Name in requests and in the database, such as `postgresql`; a valid [`Integration`].
    pub name: &'static str,
    /// Default port of the database server.
    pub default_port: u16,
    /// URL scheme of database URLs, such as `postgres`.
    pub url_scheme: &'static str,
    /// Name of the parameter for the TLS mode in database URLs; `None` if the clients of this kind
    /// of database have no common parameter.
    pub url_tls_parameter: Option<&'static str>,
}

impl DatabaseKind {
    /// PostgreSQL 11 or later.
    pub const POSTGRESQL: Self = Self {
        name: "postgresql",
        default_port: 5432,
        url_scheme: "postgres",
        url_tls_parameter: Some("sslmode"),
    };
    /// MySQL 8 or later, or MariaDB 10.5 or later.
    pub const MYSQL: Self =
        Self { name: "mysql", default_port: 3306, url_scheme: "mysql", url_tls_parameter: None };
    /// Kinds of database for which this library has a driver.
    pub const BUILT_IN: [Self; 2] = [Self::POSTGRESQL, Self::MYSQL];
}
