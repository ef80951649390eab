//! Why an operation did not happen.

mod body;

use std::borrow::Cow;
use std::fmt;

use crate::model::{PlanName, Quota, Time};

pub use body::{Details, ErrorBody, FieldBody, LimitBody};

/// What an operation returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The cause of a failure that is not the caller's; for the log, never for an answer.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an operation did not happen. `Display` is for the caller; `source()` is for the log.
#[derive(Debug)]
pub enum Error {
    /// The input breaks rules that can be named by field.
    Invalid(Vec<FieldError>),
    /// A rule about the state of things forbids it, whoever asks.
    Refused {
        /// The rule, for machines.
        code: Code,
        /// The rule, for people.
        reason: Cow<'static, str>,
    },
    /// No credential, or one that proves nothing. The text never says which part failed.
    Unauthenticated(&'static str),
    /// The caller is known, and may not from where they are.
    Elsewhere(&'static str),
    /// The caller is known and may not.
    Forbidden(&'static str),
    /// There is no such thing, or none that may be spoken of.
    NotFound(Subject),
    /// Something of that name is there already.
    Conflict(Subject),
    /// The record is not at the version the caller expected.
    Stale(Subject),
    /// The team's plan has no room.
    PlanLimit(PlanLimit),
    /// Too many requests; the window ends at this time.
    RateLimited(Time),
    /// Something we depend on cannot be reached now; trying again later may help.
    Unavailable(Cause),
    /// A fault of ours, or data that does not decrypt.
    Internal(Cause),
}

/// A field and the rule it breaks. Never holds what was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field as the caller wrote it, such as `secrets[3].key`.
    pub field: String,
    /// The rule, for machines.
    pub code: Code,
    /// The rule, for people: what the field must be.
    pub message: Cow<'static, str>,
    /// The secret key concerned, in an import.
    pub key: Option<String>,
}

/// A quota that would be exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLimit {
    /// What is counted.
    pub quota: Quota,
    /// The plan's name.
    pub plan: PlanName,
    /// How many the plan allows.
    pub limit: u64,
    /// How many there are.
    pub current: u64,
}

/// The kinds of thing a caller can be told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The audit log of a team.
    Audit,
    /// A session of a command-line client.
    CliSession,
    /// A login of a command-line client.
    DeviceLogin,
    /// An environment of a project.
    Environment,
    /// An invitation to a team.
    Invitation,
    /// Something a scan found.
    Finding,
    /// What a person may do in an environment, where somebody said it.
    Permission,
    /// A project.
    Project,
    /// A path that names nothing.
    Resource,
    /// A rotation.
    Rotation,
    /// A scan.
    Scan,
    /// A secret, or a key that is hidden.
    Secret,
    /// A team.
    Team,
    /// A service token.
    Token,
    /// A user.
    User,
    /// A version that a secret has replaced.
    Version,
    /// A webhook.
    Webhook,
    /// Something that was sent to a webhook.
    WebhookDelivery,
}

/// A rule's name for machines: the `code` of an answer. Stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// Taken already.
    AlreadyExists,
    /// Environments inherit from each other in a circle.
    CircularInheritance,
    /// The default environments cannot be deleted.
    DefaultEnvironment,
    /// Another environment inherits from this one.
    EnvironmentInUse,
    /// The caller may not.
    Forbidden,
    /// Our fault.
    Internal,
    /// The credential may not be used from this address.
    IpNotAllowed,
    /// Not a secret key.
    InvalidKey,
    /// Not what the operation takes.
    InvalidRequest,
    /// Unknown.
    NotFound,
    /// The plan has no room.
    PlanLimitExceeded,
    /// Too many requests.
    RateLimited,
    /// A key that the interface itself uses as a path.
    ReservedKey,
    /// A team must keep an owner.
    SoleOwner,
    /// No valid credential.
    Unauthorized,
    /// Try again later.
    Unavailable,
    /// Over 64 KiB.
    ValueTooLarge,
    /// Not at the expected version.
    VersionConflict,
    /// A key that a rotation writes.
    ManagedKey,
}

impl Code {
    /// The code as it is written in an answer.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyExists => "already_exists",
            Self::CircularInheritance => "circular_inheritance",
            Self::DefaultEnvironment => "default_environment",
            Self::EnvironmentInUse => "environment_in_use",
            Self::Forbidden => "forbidden",
            Self::Internal => "internal",
            Self::IpNotAllowed => "ip_not_allowed",
            Self::InvalidKey => "invalid_key",
            Self::InvalidRequest => "invalid_request",
            Self::NotFound => "not_found",
            Self::PlanLimitExceeded => "plan_limit_exceeded",
            Self::RateLimited => "rate_limited",
            Self::ReservedKey => "reserved_key",
            Self::SoleOwner => "sole_owner",
            Self::Unauthorized => "unauthorized",
            Self::Unavailable => "unavailable",
            Self::ValueTooLarge => "value_too_large",
            Self::VersionConflict => "version_conflict",
            Self::ManagedKey => "managed_key",
        }
    }
}

impl Error {
    /// One field that breaks one rule.
    pub fn invalid(field: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(vec![FieldError::new(field, Code::InvalidRequest, message)])
    }

    /// A name that is taken, where the interface answers so with the field.
    #[must_use]
    pub fn taken(field: &'static str, message: &'static str) -> Self {
        Self::Invalid(vec![FieldError::new(field, Code::AlreadyExists, message)])
    }

    /// A fault of ours.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }

    /// What kind of failure it is, for hosts that have a class for each. Stable.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Refused { .. } => "refused",
            Self::Unauthenticated(_) => "unauthenticated",
            Self::Elsewhere(_) => "elsewhere",
            Self::Forbidden(_) => "forbidden",
            Self::NotFound(_) => "not_found",
            Self::Conflict(_) => "conflict",
            Self::Stale(_) => "stale",
            Self::PlanLimit(_) => "plan_limit",
            Self::RateLimited(_) => "rate_limited",
            Self::Unavailable(_) => "unavailable",
            Self::Internal(_) => "internal",
        }
    }

    /// The rule's name for machines.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid(fields) => {
                fields.first().map_or(Code::InvalidRequest, |first| first.code)
            }
            Self::Refused { code, .. } => *code,
            Self::Unauthenticated(_) => Code::Unauthorized,
            Self::Elsewhere(_) => Code::IpNotAllowed,
            Self::Forbidden(_) => Code::Forbidden,
            Self::NotFound(_) => Code::NotFound,
            Self::Conflict(_) => Code::AlreadyExists,
            Self::Stale(_) => Code::VersionConflict,
            Self::PlanLimit(_) => Code::PlanLimitExceeded,
            Self::RateLimited(_) => Code::RateLimited,
            Self::Unavailable(_) => Code::Unavailable,
            Self::Internal(_) => Code::Internal,
        }
    }
}

impl FieldError {
    /// A field and its rule.
    pub fn new(
        field: impl Into<String>,
        code: Code,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { field: field.into(), code, message: message.into(), key: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(fields) => match fields.as_slice() {
                [] => f.write_str("invalid request"),
                [one] => write!(f, "{} {}", one.field, one.message),
                [first, rest @ ..] => {
                    write!(f, "{} {} (and {} more)", first.field, first.message, rest.len())
                }
            },
            Self::Refused { reason, .. } => f.write_str(reason),
            Self::Unauthenticated(reason) | Self::Elsewhere(reason) | Self::Forbidden(reason) => {
                f.write_str(reason)
            }
            Self::NotFound(subject) => write!(f, "{subject} not found"),
            Self::Conflict(Subject::Secret) => {
                f.write_str("a secret with this key already exists in this environment")
            }
            Self::Conflict(Subject::Rotation) => {
                f.write_str("a rotation of this environment writes this key")
            }
            Self::Conflict(subject) => write!(f, "this {subject} already exists"),
            Self::Stale(subject) => write!(f, "the {subject} is not at the expected version"),
            Self::PlanLimit(PlanLimit { quota, limit, current, .. }) => {
                write!(f, "Plan limit exceeded: {} ({current} of {limit})", quota.as_str())
            }
            Self::RateLimited(_) => f.write_str("rate limit exceeded, try again later"),
            Self::Unavailable(_) => {
                f.write_str("the service is not available now, try again later")
            }
            Self::Internal(_) => f.write_str("internal error"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable(cause) | Self::Internal(cause) => Some(cause.as_ref()),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Audit => "audit log",
            Self::CliSession => "session",
            Self::DeviceLogin => "login",
            Self::Environment => "environment",
            Self::Invitation => "invitation",
            Self::Finding => "finding",
            Self::Permission => "permission",
            Self::Project => "project",
            Self::Resource => "resource",
            Self::Rotation => "rotation",
            Self::Scan => "scan",
            Self::Secret => "secret",
            Self::Team => "team",
            Self::Token => "token",
            Self::User => "user",
            Self::Version => "version",
            Self::Webhook => "webhook",
            Self::WebhookDelivery => "delivery",
        })
    }
}
