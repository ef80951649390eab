//! Statuses and kinds of scans.

use serde::{Deserialize, Serialize};

use super::named_enum::named_enum;
use super::{ValidationRule, Violation};

named_enum! {
    /// Triage status of a finding.
    FindingStatus, "must be unresolved, resolved, false_positive or ignored",
    /// Not triaged yet.
    Unresolved = "unresolved",
    /// Fixed. A later scan that finds the credential again reports it as unresolved.
    Resolved = "resolved",
    /// Not a credential. Applies to later scans as well.
    FalsePositive = "false_positive",
    /// Accepted. Applies to later scans as well.
    Ignored = "ignored",
}

named_enum! {
    /// Kind of input of a scan.
    SourceKind, "must be text, files or findings",
    /// A text.
    Text = "text",
    /// Files.
    Files = "files",
    /// Findings of another scanner.
    Findings = "findings",
}

impl FindingStatus {
    /// Returns the status itself if it also applies to later scans (false positive, ignored),
    /// otherwise `None`.
    pub(crate) fn lasting(self) -> Option<Self> {
        matches!(self, Self::FalsePositive | Self::Ignored).then_some(self)
    }
}

/// Severity of a leaked credential.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The credential gives access to something important.
    High,
    /// The credential gives access to something, or may do so.
    #[default]
    Medium,
    /// The match may not be a credential.
    Low,
}

impl Severity {
    /// All severities, highest first.
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    /// Returns the name, as stored and as used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// Returns the severity with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == name)
    }
}
