//! Change sets: changes to secrets in several environments of a project, either all made or none.

mod apply;
mod copy;
mod locate;
mod plan;
mod submitted;

use serde::{Deserialize, Serialize};

pub use submitted::SubmittedChangeSet;

use crate::crypto::{Description, Plaintext};
use crate::model::{EnvironmentName, EnvironmentRef, ProjectRef, SecretKey};

/// Changes to the secrets of a project. Either all changes are made or none.
#[derive(Debug)]
pub struct ChangeSecrets {
    /// Project ID or slug.
    pub project: ProjectRef,
    /// Changes to make.
    pub change_set: ChangeSet,
}

/// Changes to make.
#[derive(Debug, Deserialize)]
#[serde(try_from = "SubmittedChangeSet")]
pub struct ChangeSet {
    /// Changes: 1 to 1,000, each secret key of an environment at most once.
    pub changes: Vec<KeyChange>,
    /// True for a dry run: the changes are made and rolled back, and only their results are
    /// returned.
    pub dry_run: bool,
}

/// Change to one secret key of an environment.
#[derive(Debug)]
pub struct KeyChange {
    /// Environment of the secret.
    pub environment: EnvironmentRef,
    /// Secret key.
    pub key: SecretKey,
    /// Change to make.
    pub action: ChangeAction,
    /// Version that the environment's own secret must have; 0 if the environment must not hold the
    /// secret key itself.
    pub expected_version: Option<u32>,
}

/// Kind of a change, with its input.
#[derive(Debug)]
pub enum ChangeAction {
    /// Creates the secret or sets its value.
    Set {
        /// New value.
        value: Plaintext,
        /// Description. Without one, an existing secret keeps its description.
        description: Option<Description>,
    },
    /// Creates the secret or sets its value to the value of another environment.
    Copy {
        /// Environment to copy from, with its inherited values, as they are before the change set.
        from: EnvironmentRef,
        /// Description. Without one, an existing secret keeps its description.
        description: Option<Description>,
    },
    /// Hides the secret key in the environment.
    Hide,
    /// Deletes the environment's own secret with its versions.
    Delete,
    /// Sets the description of the environment's own secret.
    Describe {
        /// New description.
        description: Description,
    },
}

/// Results of a change set, in the order of its changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeSetResult {
    /// True if the changes were checked only, and nothing was changed.
    pub dry_run: bool,
    /// Number of secrets created.
    pub created: usize,
    /// Number of secrets with a new value.
    pub updated: usize,
    /// Number of secrets that were not written, because they had the requested content already.
    pub same: usize,
    /// Number of secret keys hidden.
    pub hidden: usize,
    /// Number of secrets deleted.
    pub deleted: usize,
    /// Number of secrets of which only the description changed.
    pub described: usize,
    /// Result of each change.
    pub changes: Vec<KeyChangeResult>,
}

/// Result of a change to one secret key.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyChangeResult {
    /// Environment name.
    pub environment: EnvironmentName,
    /// Secret key.
    pub key: SecretKey,
    /// Effect of the change.
    pub result: ChangeEffect,
    /// Version of the environment's own secret before the change; 0 if there was none.
    pub previous_version: u32,
    /// Version after the change. Absent for a deleted secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// Effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeEffect {
    /// A secret was created.
    Created,
    /// A new value was set.
    Updated,
    /// Nothing was written: the secret has the requested content already.
    Same,
    /// The secret key was hidden.
    Hidden,
    /// The secret was deleted.
    Deleted,
    /// Only the description changed.
    Described,
}

impl ChangeSetResult {
    fn new(dry_run: bool, changes: Vec<KeyChangeResult>) -> Self {
        let count = |effect| changes.iter().filter(|change| change.result == effect).count();
        Self {
            dry_run,
            created: count(ChangeEffect::Created),
            updated: count(ChangeEffect::Updated),
            same: count(ChangeEffect::Same),
            hidden: count(ChangeEffect::Hidden),
            deleted: count(ChangeEffect::Deleted),
            described: count(ChangeEffect::Described),
            changes,
        }
    }
}
