//! Statuses of findings, kinds of scan input, and severities.

use serde::{Deserialize, Serialize};

use super::named_enum::named_enum;
use super::{ValidationRule, Violation};

named_enum! {
    /// Review status of a scan finding: unresolved, or the result of a user's review.
    FindingStatus, "must be unresolved, resolved, false_positive or ignored",
    /// Not reviewed by a user yet.
    Unresolved = "unresolved",
    /// The leak was fixed. A later scan that finds the credential again reports it as unresolved.
    Resolved = "resolved",
    /// The finding is not a credential. Later scans keep this status.
    FalsePositive = "false_positive",
    /// The finding is a credential, but the leak is accepted. Later scans keep this status.
    Ignored = "ignored",
}

named_enum! {
    /// Kind of input that is scanned.
    SourceKind, "must be text, files or findings",
    /// Text in the request.
    Text = "text",
    /// Files in the request.
    Files = "files",
    /// Findings that another scanner reported.
    Findings = "findings",
}

impl FindingStatus {
    /// Returns the status if later scans keep it (false positive or ignored); otherwise `None`.
    pub(crate) fn lasting(self) -> Option<Self> {
        matches!(self, Self::FalsePositive | Self::Ignored).then_some(self)
    }
}

named_enum! {
    /// Severity of a scan finding.
    #[derive(Default)]
    Severity, "must be high, medium or low",
    /// The credential gives access to a critical account or system.
    High = "high",
    /// The credential gives limited access, or may give access.
    #[default]
    Medium = "medium",
    /// The match may not be a credential at all.
    Low = "low",
}
