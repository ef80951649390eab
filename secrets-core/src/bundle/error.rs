//! Errors from opening a bundle.

use std::{fmt, io};

/// Error from opening a bundle. The error includes no data from the bundle, so that it can be
/// logged.
#[derive(Debug)]
pub enum BundleError {
    /// The data is not a bundle, or it violates the bundle format; the string describes the
    /// violation.
    Malformed(&'static str),
    /// The bundle uses an unsupported version or option; the string names it.
    Unsupported(&'static str),
    /// The key or passphrase does not match any recipient.
    NoRecipient,
    /// The bundle was modified or truncated, or was not created by the signer in its header.
    Tampered,
    /// The bundle was signed by a signer other than the expected one. Also returned if a private
    /// key is used without an expected signer, because anyone can create bundles for a public key.
    Untrusted,
    /// The expiry time of the bundle has passed.
    Expired,
    /// The sequence number of the bundle is lower than the required minimum.
    Stale,
    /// An I/O error occurred while the bundle was read.
    Unreadable(io::Error),
}

impl BundleError {
    /// Returns the machine-readable error code: `malformed`, `unsupported`, `no_recipient`,
    /// `tampered`, `untrusted`, `expired`, `stale` or `unreadable`. The codes are stable.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Unsupported(_) => "unsupported",
            Self::NoRecipient => "no_recipient",
            Self::Tampered => "tampered",
            Self::Untrusted => "untrusted",
            Self::Expired => "expired",
            Self::Stale => "stale",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(rule) => write!(f, "this is not a valid bundle: {rule}"),
            Self::Unsupported(what) => write!(f, "this bundle has an unsupported {what}"),
            Self::NoRecipient => f.write_str("the key or passphrase does not match this bundle"),
            Self::Tampered => f.write_str("this bundle was modified or truncated"),
            Self::Untrusted => f.write_str("this bundle is not signed by the expected signer"),
            Self::Expired => f.write_str("this bundle has expired"),
            Self::Stale => f.write_str("this bundle is older than one already seen"),
            Self::Unreadable(_) => f.write_str("the bundle cannot be read"),
        }
    }
}

impl std::error::Error for BundleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(cause) => Some(cause),
            _ => None,
        }
    }
}

impl From<io::Error> for BundleError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Malformed("it ends early"),
            _ => Self::Unreadable(error),
        }
    }
}
