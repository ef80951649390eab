//! Errors of operations.

mod body;
mod code;
mod subject;

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::bound::BoundReached;
use crate::model::{Bound, EnvironmentName, PlanName, Quota, SecretKey, Time};

pub use body::{Details, ErrorBody, FieldBody, LimitBody};
pub use code::Code;
pub use subject::Subject;

/// Result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Cause of a failure that is not the caller's fault. It is logged and never sent to the caller.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Seconds after which a caller may repeat an operation that failed with [`Error::Unavailable`].
const RETRY_AFTER: i64 = 5;

/// Error of an operation. The `Display` text is for the caller; `source()` is for the log.
#[derive(Debug)]
pub enum Error {
    /// The input violates validation rules, listed by field.
    Invalid(Vec<FieldError>),
    /// The current state of the stored data does not allow the operation for any caller, or the
    /// response would be too large.
    Refused {
        /// Error code for programs.
        code: Code,
        /// Human-readable reason.
        reason: Cow<'static, str>,
    },
    /// Missing or invalid credential. The string does not reveal why a credential is invalid. Only
    /// for an identity token with a valid signature, it may name the claim that is not accepted.
    Unauthenticated(&'static str),
    /// The credential was valid, but its lifetime has ended.
    Expired,
    /// The caller is authenticated, but the credential may not be used from the client's network
    /// address.
    AddressNotAllowed(&'static str),
    /// The caller is authenticated, but lacks permission.
    Forbidden(Cow<'static, str>),
    /// The caller has permission, but the operation requires a session that the user approved
    /// recently.
    ApprovalRequired(&'static str),
    /// The resource does not exist, or the caller must not learn that it exists.
    NotFound(Subject),
    /// A resource with this name already exists.
    Conflict(Subject),
    /// The record has changed: it is not at the version that the caller expected.
    Stale(Subject),
    /// Secrets of a change set are not at the versions that the caller expected.
    Outdated(Vec<VersionConflict>),
    /// A limit of the team's plan would be exceeded.
    PlanLimit(PlanLimit),
    /// The caller has sent too many requests.
    RateLimited {
        /// Rate limit that refused the request.
        bound: Bound,
        /// Earliest time at which the service accepts requests again.
        until: Time,
    },
    /// A system that the service depends on cannot be reached now; a later retry may succeed.
    Unavailable(Cause),
    /// The commit of a change failed or reached its time limit, so it is unknown whether the change
    /// was made.
    Unconfirmed(Cause),
    /// An internal error occurred, or stored data cannot be decrypted.
    Internal(Cause),
}

/// Validation error of one field. Never contains the submitted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field in the request, such as `secrets[3].key`.
    pub field: String,
    /// Error code for programs.
    pub code: Code,
    /// Human-readable text of the rule that the field violates.
    pub message: Cow<'static, str>,
    /// Secret key of the invalid item, in an import or a change set.
    pub key: Option<String>,
}

/// A change of a change set whose secret is not at the version that the caller expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionConflict {
    /// Index of the conflicting change in the change set, starting at 0.
    pub index: usize,
    /// Name of the environment that the change applies to.
    pub environment: EnvironmentName,
    /// Secret key that the change applies to.
    pub key: SecretKey,
    /// Version that the request expected. Absent if the request stated no version: the conflict is
    /// then that the secret to delete or describe does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Stored version of the secret in this environment; 0 if the environment has no secret of its
    /// own with this key.
    pub version: u32,
}

/// Error: a limit of the team's plan would be exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLimit {
    /// Kind of resource that is limited.
    pub quota: Quota,
    /// Name of the team's plan.
    pub plan: PlanName,
    /// Limit of the plan: a number of resources, or a size in bytes.
    pub limit: u64,
    /// Current usage: a number of resources, or a size in bytes.
    pub current: u64,
}

impl Error {
    /// Creates a validation error of one field.
    pub fn invalid(field: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(vec![FieldError::new(field, Code::InvalidRequest, message)])
    }

    /// Creates a field error for a name that is already taken. Used where the API reports this as
    /// an invalid field and not as a conflict.
    #[must_use]
    pub fn taken(field: &'static str, message: &'static str) -> Self {
        Self::Invalid(vec![FieldError::new(field, Code::AlreadyExists, message)])
    }

    /// Creates an error for a caller who lacks permission, with this reason.
    #[must_use]
    pub const fn forbidden(reason: &'static str) -> Self {
        Self::Forbidden(Cow::Borrowed(reason))
    }

    /// Converts the error for a missing row (`Stale`, a record that was deleted meanwhile) to "not
    /// found" of this kind of resource. Returns other errors unchanged.
    pub(crate) fn or_not_found(self, subject: Subject) -> Self {
        match self {
            Self::Stale(_) => Self::NotFound(subject),
            other => other,
        }
    }

    /// Creates an internal error with this cause.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }

    /// Returns the name of this kind of error. Language bindings define one exception class for
    /// each. The names never change.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Refused { .. } => "refused",
            Self::Unauthenticated(_) | Self::Expired => "unauthenticated",
            Self::AddressNotAllowed(_) => "elsewhere",
            Self::Forbidden(_) | Self::ApprovalRequired(_) => "forbidden",
            Self::NotFound(_) => "not_found",
            Self::Conflict(_) => "conflict",
            Self::Stale(_) | Self::Outdated(_) => "stale",
            Self::PlanLimit(_) => "plan_limit",
            Self::RateLimited { .. } => "rate_limited",
            Self::Unavailable(_) | Self::Unconfirmed(_) => "unavailable",
            Self::Internal(_) => "internal",
        }
    }

    /// True if the caller's credential is not accepted: it is missing or invalid, has expired, or
    /// may not be used from the client's network address.
    #[must_use]
    pub fn refuses_credential(&self) -> bool {
        matches!(self, Self::Unauthenticated(_) | Self::Expired | Self::AddressNotAllowed(_))
    }

    /// Returns the bound (limit of the service) that the request reached; `None` for other errors.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        match self {
            Self::RateLimited { bound, .. } => Some(*bound),
            Self::PlanLimit(_) => Some(Bound::PlanQuota),
            Self::Refused { code: Code::AnswerTooLarge, .. } => Some(Bound::ResponseSize),
            Self::Unavailable(cause) | Self::Unconfirmed(cause) => {
                cause.downcast_ref::<BoundReached>().map(|reached| reached.bound)
            }
            _ => None,
        }
    }

    /// Converts an "unavailable" error of a commit to [`Error::Unconfirmed`]: the change may have
    /// been made. Other errors stay the same.
    #[must_use]
    pub(crate) fn unconfirmed(self) -> Self {
        match self {
            Self::Unavailable(cause) => Self::Unconfirmed(cause),
            other => other,
        }
    }

    /// Returns the seconds after which a caller may repeat the operation. `None` if a repetition
    /// fails again, or could make a change twice. `now` is in seconds since 1970.
    #[must_use]
    pub fn retry_after(&self, now: i64) -> Option<i64> {
        match self {
            // At least 1: a request that comes too early would be refused again.
            Self::RateLimited { until, .. } => Some((until.timestamp() - now).max(1)),
            Self::Unavailable(_) => Some(RETRY_AFTER),
            _ => None,
        }
    }

    /// Returns the error code for programs.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid(fields) => {
                fields.first().map_or(Code::InvalidRequest, |first| first.code)
            }
            Self::Refused { code, .. } => *code,
            Self::Unauthenticated(_) => Code::Unauthorized,
            Self::Expired => Code::TokenExpired,
            Self::AddressNotAllowed(_) => Code::IpNotAllowed,
            Self::Forbidden(_) => Code::Forbidden,
            Self::ApprovalRequired(_) => Code::ApprovalRequired,
            Self::NotFound(_) => Code::NotFound,
            Self::Conflict(_) => Code::AlreadyExists,
            Self::Stale(_) | Self::Outdated(_) => Code::VersionConflict,
            Self::PlanLimit(_) => Code::PlanLimitExceeded,
            Self::RateLimited { .. } => Code::RateLimited,
            Self::Unavailable(_) | Self::Unconfirmed(_) => Code::Unavailable,
            Self::Internal(_) => Code::Internal,
        }
    }
}

impl FieldError {
    /// Creates a validation error of one field.
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
            Self::Refused { reason, .. } | Self::Forbidden(reason) => f.write_str(reason),
            Self::Unauthenticated(reason)
            | Self::AddressNotAllowed(reason)
            | Self::ApprovalRequired(reason) => f.write_str(reason),
            Self::Expired => f.write_str("the credential has expired"),
            Self::NotFound(Subject::Account) => f.write_str(NO_ACCOUNT),
            Self::NotFound(subject) => write!(f, "{subject} not found"),
            Self::Conflict(Subject::Secret) => {
                f.write_str("a secret with this key already exists in this environment")
            }
            Self::Conflict(Subject::Rotation) => {
                f.write_str("a rotation of this environment writes this key")
            }
            Self::Conflict(subject) => write!(f, "this {subject} already exists"),
            Self::Stale(subject) => write!(f, "the {subject} is not at the expected version"),
            Self::Outdated(conflicts) if conflicts.len() == 1 => {
                f.write_str("1 secret is not at the expected version")
            }
            Self::Outdated(conflicts) => {
                write!(f, "{} secrets are not at the expected version", conflicts.len())
            }
            Self::PlanLimit(PlanLimit { quota, limit, current, .. }) => {
                write!(f, "Plan limit exceeded: {} ({current} of {limit})", quota.as_str())
            }
            Self::RateLimited { .. } => f.write_str("rate limit exceeded, try again later"),
            Self::Unavailable(_) => {
                f.write_str("the service is not available now, try again later")
            }
            Self::Unconfirmed(_) => {
                f.write_str("the change may have been made: read before you repeat it")
            }
            Self::Internal(_) => f.write_str("internal error"),
        }
    }
}

/// Error message for users with a valid identity token who have not signed in yet.
pub(crate) const NO_ACCOUNT: &str = "no account yet: call POST /api/v1/auth/sync once to sign in";

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable(cause) | Self::Unconfirmed(cause) | Self::Internal(cause) => {
                Some(cause.as_ref())
            }
            _ => None,
        }
    }
}

/// Formats an error and its sources on one line, for the log.
#[doc(hidden)]
#[must_use]
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
