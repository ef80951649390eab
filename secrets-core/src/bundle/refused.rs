//! Why a bundle does not open.

use std::{fmt, io};

/// Why a bundle does not open. Says nothing of what it holds.
#[derive(Debug)]
pub enum Refused {
    /// It is no bundle, or breaks a rule of the format: which one.
    Malformed(&'static str),
    /// It is of a version or kind that this reader does not know: of what.
    Unsupported(&'static str),
    /// It is for others: the key or passphrase is another.
    NoRecipient,
    /// It was changed, cut or put together by somebody else.
    Tampered,
    /// It is signed by another than was named; or nobody was named, and it was opened with a
    /// private key, for whose public key anybody can make bundles.
    Untrusted,
    /// Its time is over.
    Expired,
    /// It is older than one that was seen already.
    Stale,
    /// It cannot be read, for a reason that is not its own.
    Unreadable(io::Error),
}

impl Refused {
    /// The reason for machines: `malformed`, `unsupported`, `no_recipient`, `tampered`,
    /// `untrusted`, `expired`, `stale` or `unreadable`. Stable.
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

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(rule) => write!(f, "this is no bundle that can be opened: {rule}"),
            Self::Unsupported(what) => write!(f, "this bundle is of an unknown {what}"),
            Self::NoRecipient => {
                f.write_str("the key or passphrase is not one this bundle was made for")
            }
            Self::Tampered => f.write_str("this bundle was changed or cut since it was made"),
            Self::Untrusted => f.write_str("this bundle is not signed by the signer named"),
            Self::Expired => f.write_str("this bundle has expired"),
            Self::Stale => f.write_str("this bundle is older than one that was seen already"),
            Self::Unreadable(_) => f.write_str("the bundle cannot be read"),
        }
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(cause) => Some(cause),
            _ => None,
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Malformed("it ends early"),
            _ => Self::Unreadable(error),
        }
    }
}
