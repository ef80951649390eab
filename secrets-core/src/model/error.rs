//! Errors of operations.

mod body;

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::bound::BoundReached;
use crate::model::{Bound, EnvironmentName, PlanName, Quota, SecretKey, Time};

pub use body::{Details, ErrorBody, FieldBody, LimitBody};

/// Result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Cause of a failure that is not the caller's fault. It is logged and never sent to the caller.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Error of an operation. `Display` is for the caller; `source()` is for the log.
#[derive(Debug)]
pub enum Error {
    /// The input violates validation rules, listed by field.
    Invalid(Vec<FieldError>),
    /// The current state does not allow the operation for any caller.
    Refused {
        /// Error code, for programs.
        code: Code,
        /// Reason, for people.
        reason: Cow<'static, str>,
    },
    /// Missing or invalid credential. The text never reveals the reason.
    Unauthenticated(&'static str),
    /// The credential was valid, but its lifetime has ended.
    Expired,
    /// The caller is authenticated, but the credential may not be used from this network address.
    AddressNotAllowed(&'static str),
    /// The caller is authenticated, but lacks permission.
    Forbidden(Cow<'static, str>),
    /// The caller has permission, but needs a session that was approved recently.
    ApprovalRequired(&'static str),
    /// The resource does not exist, or the caller may not know that it exists.
    NotFound(Subject),
    /// A resource with this name already exists.
    Conflict(Subject),
    /// The record is not at the version the caller expected.
    Stale(Subject),
    /// Secrets of a change set are not at the versions the caller expected.
    Outdated(Vec<VersionConflict>),
    /// A limit of the team's plan would be exceeded.
    PlanLimit(PlanLimit),
    /// Too many requests.
    RateLimited {
        /// Limit that refused the request.
        bound: Bound,
        /// Time from which requests are accepted again.
        until: Time,
    },
    /// A dependency cannot be reached now; a later retry may succeed.
    Unavailable(Cause),
    /// Internal error, or data that does not decrypt.
    Internal(Cause),
}

/// Validation error of one field. Never contains the submitted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field in the request, such as `secrets[3].key`.
    pub field: String,
    /// Error code, for programs.
    pub code: Code,
    /// Rule that the field violates, for people.
    pub message: Cow<'static, str>,
    /// Secret key of the entry, in an import or a change set.
    pub key: Option<String>,
}

/// Secret of a change set that is not at the version the caller expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionConflict {
    /// Index of the change in the change set.
    pub index: usize,
    /// Environment name.
    pub environment: EnvironmentName,
    /// Secret key.
    pub key: SecretKey,
    /// Version that the change expected. Absent for a change of an existing secret that expected no
    /// version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Version of the environment's own secret; 0 if there is none.
    pub version: u32,
}

/// Quota that would be exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLimit {
    /// Limited resource.
    pub quota: Quota,
    /// Plan name.
    pub plan: PlanName,
    /// Limit of the plan.
    pub limit: u64,
    /// Current number of these resources.
    pub current: u64,
}

/// Kind of resource an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Account of a person, created by the first sign-in.
    Account,
    /// Audit log of a team.
    Audit,
    /// Device login of a command-line client.
    DeviceLogin,
    /// Environment of a project.
    Environment,
    /// Invitation to a team.
    Invitation,
    /// Finding of a scan.
    Finding,
    /// Permission that was explicitly set for a user in an environment.
    Permission,
    /// Project.
    Project,
    /// Path that matches no resource.
    Resource,
    /// Rotation.
    Rotation,
    /// Scan.
    Scan,
    /// Secret. Also used for a hidden secret.
    Secret,
    /// Session of a command-line client or a browser.
    Session,
    /// Team.
    Team,
    /// Service token.
    Token,
    /// User.
    User,
    /// Previous version of a secret.
    Version,
    /// Webhook.
    Webhook,
    /// Event delivery to a webhook.
    WebhookDelivery,
}

/// Error code for programs: the `code` of a response. Stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// Name already taken.
    AlreadyExists,
    /// Output larger than the maximum of one response.
    AnswerTooLarge,
    /// Session not approved recently.
    ApprovalRequired,
    /// Inheritance cycle between environments.
    CircularInheritance,
    /// Attempt to delete or rename a default environment.
    DefaultEnvironment,
    /// Attempt to delete an environment that another environment inherits from.
    EnvironmentInUse,
    /// Permission missing.
    Forbidden,
    /// Internal error.
    Internal,
    /// Credential not allowed from this network address.
    IpNotAllowed,
    /// Invalid secret key.
    InvalidKey,
    /// Invalid request.
    InvalidRequest,
    /// Resource not found.
    NotFound,
    /// Plan limit exceeded.
    PlanLimitExceeded,
    /// Rate limit exceeded.
    RateLimited,
    /// Secret key reserved for paths of the API.
    ReservedKey,
    /// Team would be left without an owner.
    SoleOwner,
    /// No valid credential.
    Unauthorized,
    /// Expired credential.
    TokenExpired,
    /// Service unavailable; retry later.
    Unavailable,
    /// Secret value larger than 64 KiB.
    ValueTooLarge,
    /// Record not at the expected version.
    VersionConflict,
    /// Attempt to change a secret that is managed by a rotation.
    ManagedKey,
}

impl Code {
    /// Returns the code as text, as sent in responses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyExists => "already_exists",
            Self::AnswerTooLarge => "answer_too_large",
            Self::ApprovalRequired => "approval_required",
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
            Self::TokenExpired => "token_expired",
            Self::Unauthorized => "unauthorized",
            Self::Unavailable => "unavailable",
            Self::ValueTooLarge => "value_too_large",
            Self::VersionConflict => "version_conflict",
            Self::ManagedKey => "managed_key",
        }
    }
}

impl Error {
    /// Creates a validation error of one field.
    pub fn invalid(field: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(vec![FieldError::new(field, Code::InvalidRequest, message)])
    }

    /// Creates an error for a name that is already taken, where the API reports this as a field
    /// error.
    #[must_use]
    pub fn taken(field: &'static str, message: &'static str) -> Self {
        Self::Invalid(vec![FieldError::new(field, Code::AlreadyExists, message)])
    }

    /// Creates an error for a caller who lacks permission.
    #[must_use]
    pub const fn forbidden(reason: &'static str) -> Self {
        Self::Forbidden(Cow::Borrowed(reason))
    }

    /// Returns "not found" for a record that was deleted meanwhile, and other errors unchanged.
    pub(crate) fn or_not_found(self, subject: Subject) -> Self {
        match self {
            Self::Stale(_) => Self::NotFound(subject),
            other => other,
        }
    }

    /// Creates an internal error.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }

    /// Returns the kind of the error, for host applications with one exception class per kind.
    /// Stable.
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
            Self::Unavailable(_) => "unavailable",
            Self::Internal(_) => "internal",
        }
    }

    /// True if the caller's credential is not accepted for any request.
    #[must_use]
    pub fn refuses_credential(&self) -> bool {
        matches!(self, Self::Unauthenticated(_) | Self::Expired | Self::AddressNotAllowed(_))
    }

    /// Returns the bound that was reached, if the error is a refusal by a bound of the service.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        match self {
            Self::RateLimited { bound, .. } => Some(*bound),
            Self::PlanLimit(_) => Some(Bound::PlanQuota),
            Self::Refused { code: Code::AnswerTooLarge, .. } => Some(Bound::ResponseSize),
            Self::Unavailable(cause) => {
                cause.downcast_ref::<BoundReached>().map(|reached| reached.bound)
            }
            _ => None,
        }
    }

    /// Returns the error code, for programs.
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
            Self::Unavailable(_) => Code::Unavailable,
            Self::Internal(_) => Code::Internal,
        }
    }
}

impl FieldError {
    /// Creates a field error.
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
            Self::Internal(_) => f.write_str("internal error"),
        }
    }
}

/// Message for people who have not signed in yet.
pub(crate) const NO_ACCOUNT: &str = "no account yet: call POST /api/v1/auth/sync once to sign in";

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
            Self::Account => "account",
            Self::Audit => "audit log",
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
            Self::Session => "session",
            Self::Team => "team",
            Self::Token => "token",
            Self::User => "user",
            Self::Version => "version",
            Self::Webhook => "webhook",
            Self::WebhookDelivery => "delivery",
        })
    }
}
