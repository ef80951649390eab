//! What a failure means: whether it is tried again, and what becomes of the rotation.

use crate::ports::rotator::Fault;

/// What is done about a fault while a password is being set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    /// It is tried again after the pauses for targets that cannot be reached, then given up.
    Again,
    /// It is tried again at once, so many times, then given up.
    AtOnce(u32),
    /// It is tried with another password, so many times, then given up.
    OtherPassword(u32),
    /// It is given up.
    GiveUp,
}

/// What becomes of a rotation when an attempt has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It is tried again, later each time; after so many failures in a row it is in error.
    BackOff(u32),
    /// It is in error at once: nothing will be better until somebody does something.
    Error,
    /// It is over: what it was for is gone.
    Disabled,
}

/// How many failures in a row are an error.
pub(super) const FAILURES: u32 = 5;

/// How many in a row that were rolled back are one.
pub(super) const ROLLED_BACK: u32 = 3;

impl Fault {
    /// What is done about it while a password is being set.
    pub(super) fn reaction(self) -> Reaction {
        match self {
            Self::Unreachable | Self::ProxyUnavailable => Reaction::Again,
            Self::Busy | Self::Interrupted => Reaction::AtOnce(2),
            Self::PasswordPolicy => Reaction::OtherPassword(2),
            Self::NotAllowed
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

    /// What becomes of the rotation when it was given up for this.
    pub(super) fn effect(self) -> Effect {
        match self {
            Self::Unreachable | Self::ProxyUnavailable | Self::Busy | Self::Interrupted => {
                Effect::BackOff(FAILURES)
            }
            _ => Effect::Error,
        }
    }
}

/// Why an attempt ended badly: for machines, for people, and what becomes of the rotation.
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

impl From<super::super::TargetError> for Reason {
    fn from(error: super::super::TargetError) -> Self {
        Self::new(error.fault.code(), error.to_string(), error.fault.effect())
    }
}
