//! Failure policy: retries within an attempt, and the effect of a failed attempt on its rotation.

use crate::ports::rotator::{Fault, TargetError};

/// Reaction of the service to an error while it sets a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    /// Retry after each of the delays in `Timings::retries`; if the last retry fails, give up.
    Again,
    /// Retry immediately, up to this number of times, then give up.
    RetryImmediately(u32),
    /// Retry with a new password, up to this number of times, then give up.
    RetryWithNewPassword(u32),
    /// Give up without a retry.
    GiveUp,
}

/// Effect of an unsuccessful attempt on its rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Retry later, with increasing delays. After this number of consecutive failures, the status
    /// of the rotation becomes `error`.
    BackOff(u32),
    /// Set the status of the rotation to `error` immediately: a user must fix the problem.
    Error,
    /// Set the status of the rotation to `disabled`: its project or environment was deleted.
    Disabled,
}

/// Error code of a rotation whose stored records cannot be decrypted.
pub(super) const UNDECRYPTABLE: &str = "undecryptable";

/// Error message for [`UNDECRYPTABLE`].
pub(super) const UNDECRYPTABLE_MESSAGE: &str =
    "the stored records of this rotation cannot be decrypted";

/// Number of consecutive failures after which the status of a rotation becomes `error`.
pub(super) const FAILURES: u32 = 5;

/// Number of consecutive rollbacks after which the status of a rotation becomes `error`.
pub(super) const MAX_ROLLBACKS: u32 = 3;

impl Fault {
    /// Returns the reaction to this error while a password is set: retry after delays, retry
    /// immediately, retry with a new password, or give up.
    pub(super) fn reaction(self) -> Reaction {
        match self {
            Self::Unreachable | Self::ProxyUnavailable => Reaction::Again,
            Self::Busy | Self::Interrupted => Reaction::RetryImmediately(2),
            Self::PasswordPolicy => Reaction::RetryWithNewPassword(2),
            // An unresolved name fails as fast as an address that is not allowed. Otherwise, the
            // response time would show whether the name resolves.
            Self::Unresolved
            | Self::NotAllowed
            | Self::TlsNotOffered
            | Self::TlsUntrusted
            | Self::AdminRejected
            | Self::LoginRejected
            | Self::Privilege
            | Self::NoDatabase
            | Self::Identity
            | Self::Fenced
            | Self::ProbeRefused
            | Self::Protocol
            | Self::Unsupported
            | Self::ProxyRefused
            | Self::ProxyUntrusted => Reaction::GiveUp,
        }
    }

    /// True if the command to the target database may have run although it returned this error.
    pub(super) fn has_unknown_result(self) -> bool {
        matches!(self, Self::Interrupted | Self::ProxyUnavailable | Self::ProxyUntrusted)
    }

    /// Returns the effect on the rotation if an attempt ends because of this error: a later retry,
    /// or the status `error`.
    pub(super) fn effect(self) -> Effect {
        match self {
            Self::Unreachable
            | Self::Unresolved
            | Self::ProxyUnavailable
            | Self::Busy
            | Self::Interrupted => Effect::BackOff(FAILURES),
            _ => Effect::Error,
        }
    }
}

/// Reason why an attempt was unsuccessful: error code, message, and effect on the rotation.
#[derive(Debug, Clone)]
pub(super) struct Reason {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) effect: Effect,
}

impl Reason {
    pub(super) fn new(code: &'static str, message: impl Into<String>, effect: Effect) -> Self {
        Self { code, message: message.into(), effect }
    }
}

impl From<TargetError> for Reason {
    fn from(error: TargetError) -> Self {
        Self::new(error.fault.code(), error.to_string(), error.fault.effect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_that_may_pass_are_retried() {
        let delayed = [Fault::Unreachable, Fault::ProxyUnavailable];
        let immediate = [Fault::Busy, Fault::Interrupted];
        let user = [Fault::AdminRejected, Fault::NotAllowed, Fault::Fenced, Fault::ProxyRefused];
        let later = Effect::BackOff(FAILURES);

        assert_eq!(delayed.map(Fault::reaction), [Reaction::Again; 2]);
        assert_eq!(delayed.map(Fault::effect), [later; 2]);
        assert_eq!(immediate.map(Fault::reaction), [Reaction::RetryImmediately(2); 2]);
        assert_eq!(immediate.map(Fault::effect), [later; 2]);
        assert_eq!(user.map(Fault::reaction), [Reaction::GiveUp; 4]);
        assert_eq!(user.map(Fault::effect), [Effect::Error; 4]);
    }

    #[test]
    fn a_name_that_is_not_resolved_is_retried_with_the_next_attempt_alone() {
        let fault = Fault::Unresolved;

        assert_eq!(fault.reaction(), Reaction::GiveUp);
        assert_eq!(fault.effect(), Effect::BackOff(FAILURES));
    }

    #[test]
    fn a_password_that_is_rejected_is_replaced_twice() {
        let fault = Fault::PasswordPolicy;

        assert_eq!(fault.reaction(), Reaction::RetryWithNewPassword(2));
        assert_eq!(fault.effect(), Effect::Error);
    }
}
