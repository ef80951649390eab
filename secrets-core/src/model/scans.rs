//! Statuses and kinds of scans.

use serde::{Deserialize, Serialize};

use super::kinds::kinds;
use super::{Broken, Rule};

kinds! {
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

kinds! {
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
    /// The status, if later scans start with it.
    pub(crate) fn lasting(self) -> Option<Self> {
        matches!(self, Self::FalsePositive | Self::Ignored).then_some(self)
    }
}

/// How bad it is that a credential is known.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It opens something that matters.
    High,
    /// It opens something, or may.
    #[default]
    Medium,
    /// It may be one.
    Low,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    /// The name under which it is kept and told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// The severity kept under this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == name)
    }
}
