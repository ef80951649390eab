//! Paths: references to projects and environments by ID or by name.

use serde::{Deserialize, Serialize};

use crate::model::{EnvironmentId, ProjectId, ids};

/// A reference to a project by ID or slug. A string that parses as a UUID is always an ID, never a
/// slug.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ProjectRef {
    /// Project ID.
    Id(ProjectId),
    /// Project slug. A string that is not a valid slug is accepted, but matches no project.
    Slug(String),
}

/// A reference to an environment of a project by ID or name. A string that parses as a UUID is
/// always an ID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum EnvironmentRef {
    /// Environment ID.
    Id(EnvironmentId),
    /// Environment name, matched exactly. A string that is not a valid name is accepted, but
    /// matches no environment.
    Name(String),
}

/// Path of an environment: a project and an environment of that project.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnvironmentPath {
    /// Project that contains the environment.
    pub project: ProjectRef,
    /// Environment of the project.
    pub environment: EnvironmentRef,
}

impl EnvironmentPath {
    /// Creates a path from a project and an environment.
    #[must_use]
    pub fn new(project: impl Into<ProjectRef>, environment: impl Into<EnvironmentRef>) -> Self {
        Self { project: project.into(), environment: environment.into() }
    }
}

impl ProjectRef {
    /// Returns the project ID; `None` if the reference is a slug.
    #[must_use]
    pub fn id(&self) -> Option<ProjectId> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Slug(_) => None,
        }
    }

    /// Returns the project slug; `None` if the reference is an ID.
    #[must_use]
    pub fn slug(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Slug(slug) => Some(slug),
        }
    }
}

impl EnvironmentRef {
    /// Returns the environment ID; `None` if the reference is a name.
    #[must_use]
    pub fn id(&self) -> Option<EnvironmentId> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Name(_) => None,
        }
    }

    /// Returns the environment name; `None` if the reference is an ID.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Name(name) => Some(name),
        }
    }
}

impl From<String> for ProjectRef {
    fn from(text: String) -> Self {
        ids::parse(&text).map_or(Self::Slug(text), |id| Self::Id(id.into()))
    }
}

impl From<&str> for ProjectRef {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<ProjectId> for ProjectRef {
    fn from(id: ProjectId) -> Self {
        Self::Id(id)
    }
}

impl From<ProjectRef> for String {
    fn from(project: ProjectRef) -> Self {
        match project {
            ProjectRef::Id(id) => id.to_string(),
            ProjectRef::Slug(slug) => slug,
        }
    }
}

impl From<String> for EnvironmentRef {
    fn from(text: String) -> Self {
        ids::parse(&text).map_or(Self::Name(text), |id| Self::Id(id.into()))
    }
}

impl From<&str> for EnvironmentRef {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<EnvironmentId> for EnvironmentRef {
    fn from(id: EnvironmentId) -> Self {
        Self::Id(id)
    }
}

impl From<EnvironmentRef> for String {
    fn from(environment: EnvironmentRef) -> Self {
        match environment {
            EnvironmentRef::Id(id) => id.to_string(),
            EnvironmentRef::Name(name) => name,
        }
    }
}
