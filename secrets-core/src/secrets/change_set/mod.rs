//! Change sets: several changes of secrets, in one or more environments of a project, of which
//! either all are made or none.

mod apply;
mod copy;
mod locate;
mod plan;
mod reads;
mod submitted;

use serde::{Deserialize, Serialize};

pub use submitted::SubmittedChangeSet;

use crate::crypto::{Description, Plaintext};
use crate::model::{EnvironmentName, EnvironmentRef, ProjectRef, SecretKey};

/// Makes the changes of a change set to the secrets of a project. Either all changes are made or
/// none.
#[derive(Debug)]
pub struct ChangeSecrets {
    /// Project ID or slug.
    pub project: ProjectRef,
    /// Change set with the changes to make.
    pub change_set: ChangeSet,
}

/// Changes of secrets that are made together.
#[derive(Debug, Deserialize)]
#[serde(try_from = "SubmittedChangeSet")]
pub struct ChangeSet {
    /// Changes to make: 1 to 1,000, each secret key of an environment at most once.
    pub changes: Vec<KeyChange>,
    /// True for a dry run: nothing is changed, and only the results of the changes are returned.
    pub dry_run: bool,
}

/// Change of one secret in one environment.
#[derive(Debug)]
pub struct KeyChange {
    /// Environment in which the secret is changed.
    pub environment: EnvironmentRef,
    /// Key (name) of the secret to change.
    pub key: SecretKey,
    /// Kind of change, with its input.
    pub action: ChangeAction,
    /// Version that the secret in this environment is expected to have; 0 if the environment is
    /// expected to have no secret of its own with this key. If the stored version differs, the
    /// change set fails with a conflict. `None` accepts any version.
    pub expected_version: Option<u32>,
}

/// Kind of change of a secret, with its input.
#[derive(Debug)]
pub enum ChangeAction {
    /// Creates the secret, or sets its value if it exists.
    Set {
        /// New value of the secret.
        value: Plaintext,
        /// New description. If absent, an existing secret keeps its description.
        description: Option<Description>,
    },
    /// Creates the secret, or sets its value if it exists, to the value that the key has in another
    /// environment.
    Copy {
        /// Environment from which the value is copied. Inherited values are copied too. The copied
        /// value is the one that the key had before the change set.
        from: EnvironmentRef,
        /// New description. If absent, an existing secret keeps its description.
        description: Option<Description>,
    },
    /// Hides the secret: reads of this environment then return no value for the key, not even an
    /// inherited one.
    Hide,
    /// Deletes the secret of this environment, with all its versions. An inherited secret is not
    /// deleted.
    Delete,
    /// Sets the description of the secret of this environment. An inherited secret is not changed.
    Describe {
        /// New description of the secret.
        description: Description,
    },
}

/// Results of a change set, in the order of its changes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeSetResult {
    /// True if nothing was changed, because the request was a dry run.
    pub dry_run: bool,
    /// Number of secrets that were created.
    pub created: usize,
    /// Number of secrets that got a new value.
    pub updated: usize,
    /// Number of secrets that were not written, because they already had the requested content.
    pub same: usize,
    /// Number of secrets that were hidden.
    pub hidden: usize,
    /// Number of secrets that were deleted.
    pub deleted: usize,
    /// Number of secrets whose description changed, but not their value.
    pub described: usize,
    /// Result of each change.
    pub changes: Vec<KeyChangeResult>,
}

/// Result of one change of a change set.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyChangeResult {
    /// Name of the environment in which the secret was changed.
    pub environment: EnvironmentName,
    /// Key (name) of the changed secret.
    pub key: SecretKey,
    /// Effect of the change on the secret.
    pub result: ChangeEffect,
    /// Version that the environment's own secret had before the change; 0 if there was no secret.
    pub previous_version: u32,
    /// Version of the secret after the change; absent if the secret was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// Effect of a change on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeEffect {
    /// The secret was created.
    Created,
    /// The secret got a new value.
    Updated,
    /// Nothing was written, because the secret already had the requested content.
    Same,
    /// The secret was hidden.
    Hidden,
    /// The secret was deleted.
    Deleted,
    /// The description was changed, but not the value.
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
