//! Statuses and kinds of rotations.

use serde::{Deserialize, Serialize};

use super::kinds::kinds;
use super::{Broken, Rule};

kinds! {
    /// What kind of database it is.
    Integration, "must be postgresql or mysql",
    /// PostgreSQL 11 or later.
    Postgresql = "postgresql",
    /// MySQL 8 or later, or MariaDB 10.5 or later.
    Mysql = "mysql",
}

kinds! {
    /// Who dials the database.
    ConnectionMethod, "must be direct or proxied",
    /// The service.
    Direct = "direct",
    /// A function of AWS Lambda in the database's own network.
    Proxied = "proxied",
}

kinds! {
    /// What the rotated user may do in the database.
    PermissionLevel, "must be read, read_write or admin",
    /// Read every table.
    Read = "read" | "read_only",
    /// And change their rows.
    ReadWrite = "read_write",
    /// And make, change and drop tables.
    Admin = "admin",
}

kinds! {
    /// How a connection to a database is protected. Never opportunistic: `allow` and `prefer` mean
    /// `require`.
    SslMode, "must be disable, allow, prefer, require, verify-ca or verify-full",
    /// Not at all; only to destinations that the operator allows so.
    Disable = "disable" | "DISABLED",
    /// As `require`.
    Allow = "allow",
    /// As `require`.
    Prefer = "prefer" | "PREFERRED",
    /// TLS, whoever the server is.
    Require = "require" | "REQUIRED",
    /// TLS to a server whose certificate a known authority signed, whatever its name.
    VerifyCa = "verify-ca" | "VERIFY_CA",
    /// TLS to a server that a known authority vouches for by name.
    VerifyFull = "verify-full" | "VERIFY_IDENTITY",
}

kinds! {
    /// How a rotation is doing.
    RotationStatus, "must be active, paused, disabled or error",
    /// It rotates when it is due.
    Active = "active",
    /// Somebody paused it.
    Paused = "paused",
    /// What it is for is gone, or the plan does not include it.
    Disabled = "disabled",
    /// It waits for somebody to do something about its target.
    Error = "error",
}

kinds! {
    /// One of the two users of a rotation.
    Slot, "must be a or b",
    /// The first.
    A = "a",
    /// The second.
    B = "b",
}

kinds! {
    /// Why a rotation was attempted.
    TriggerType, "must be scheduled or manual",
    /// It was due.
    Scheduled = "scheduled",
    /// Somebody asked.
    Manual = "manual",
}

kinds! {
    /// How an attempt ended.
    Outcome, "must be success, failed or rolled_back",
    /// The new credential is served.
    Success = "success",
    /// Nothing changed for anybody.
    Failed = "failed",
    /// It was set, proved useless and was shut out again; nothing changed for anybody.
    RolledBack = "rolled_back",
}

kinds! {
    /// How far an attempt is: what is on the disk before the next effect.
    AttemptState, "must be a state of an attempt",
    /// A password is drawn and kept; nobody was told.
    Planned = "planned",
    /// The target is being, or may have been, told.
    Applying = "applying",
    /// The target took it.
    Applied = "applied",
    /// It was logged in with.
    Verified = "verified",
    /// It is being shut out again.
    RollingBack = "rolling_back",
    /// It is over.
    Concluded = "concluded",
}

kinds! {
    /// What a webhook can be told of.
    WebhookEvent, "must be rotation.started, rotation.completed or rotation.failed",
    /// An attempt began.
    Started = "rotation.started",
    /// A new credential is served.
    Completed = "rotation.completed",
    /// An attempt failed, or was rolled back.
    Failed = "rotation.failed",
}

kinds! {
    /// How a delivery to a webhook is doing.
    DeliveryStatus, "must be pending, delivered or failed",
    /// It will be tried, again or for the first time.
    Pending = "pending",
    /// The receiver took it.
    Delivered = "delivered",
    /// It was given up.
    Failed = "failed",
}

impl SslMode {
    /// Whether the connection is encrypted.
    #[must_use]
    pub fn encrypts(self) -> bool {
        self != Self::Disable
    }

    /// Whether the server must prove who it is.
    #[must_use]
    pub fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyFull)
    }
}

impl Slot {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl Integration {
    /// Where such a server listens unless it is said.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Postgresql => 5432,
            Self::Mysql => 3306,
        }
    }

    /// The scheme of its URLs.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Postgresql => "postgres",
            Self::Mysql => "mysql",
        }
    }
}
