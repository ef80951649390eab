//! Kinds of sessions.

use serde::{Deserialize, Serialize};

use crate::model::named_enum::named_enum;
use crate::model::{ValidationRule, Violation};

named_enum! {
    /// Kind of client that a session was created for.
    SessionKind, "must be cli or browser",
    /// Command-line client that was signed in by a device login (RFC 8628).
    Cli = "cli",
    /// Browser that was signed in at the identity provider.
    Browser = "browser",
}
