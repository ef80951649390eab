//! Error codes for programs.

/// Error code for programs: the `code` in the body of an error response. The codes never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// A resource with this name already exists.
    AlreadyExists,
    /// The response would be larger than the maximum size.
    AnswerTooLarge,
    /// The operation requires a session that the user approved recently.
    ApprovalRequired,
    /// Environments would inherit from each other in a cycle.
    CircularInheritance,
    /// Attempt to delete or rename a default environment.
    DefaultEnvironment,
    /// Attempt to delete an environment that another environment inherits from.
    EnvironmentInUse,
    /// The caller lacks permission.
    Forbidden,
    /// An internal error occurred.
    Internal,
    /// The credential may not be used from the client's network address.
    IpNotAllowed,
    /// The secret key is invalid.
    InvalidKey,
    /// The request is invalid.
    InvalidRequest,
    /// The resource does not exist, or the caller must not learn that it exists.
    NotFound,
    /// A limit of the team's plan is exceeded.
    PlanLimitExceeded,
    /// The rate limit is exceeded.
    RateLimited,
    /// The secret key is reserved, because it is also a path of the API.
    ReservedKey,
    /// The team would be left without an owner.
    SoleOwner,
    /// The request has no valid credential.
    Unauthorized,
    /// The credential has expired.
    TokenExpired,
    /// The service is unavailable; retry later.
    Unavailable,
    /// Secret value larger than 64 KiB.
    ValueTooLarge,
    /// The record is not at the expected version.
    VersionConflict,
    /// Attempt to change a secret that a rotation manages.
    ManagedKey,
}

impl Code {
    /// Returns the code as a string, as sent in responses.
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
