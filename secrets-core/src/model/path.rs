//! What paths name: projects and environments, by id or by name.

use serde::{Deserialize, Serialize};

use crate::model::{EnvironmentId, ProjectId, ids};

/// A project, by id or slug. What reads as a UUID is an id and never falls back to a slug.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ProjectRef {
    /// By id.
    Id(ProjectId),
    /// By slug, or by something that is none and names nothing.
    Slug(String),
}

/// An environment of a project, by id or name. What reads as a UUID is an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum EnvironmentRef {
    /// By id.
    Id(EnvironmentId),
    /// By name, exactly; or by something that is none and names nothing.
    Name(String),
}

/// An environment, from the outside in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentPath {
    /// The project.
    pub project: ProjectRef,
    /// The environment in it.
    pub environment: EnvironmentRef,
}

impl EnvironmentPath {
    /// The environment named so.
    #[must_use]
    pub fn new(project: impl Into<ProjectRef>, environment: impl Into<EnvironmentRef>) -> Self {
        Self { project: project.into(), environment: environment.into() }
    }
}

impl ProjectRef {
    /// The id, where it is one.
    #[must_use]
    pub fn id(&self) -> Option<ProjectId> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Slug(_) => None,
        }
    }

    /// The slug, where it is one.
    #[must_use]
    pub fn slug(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Slug(slug) => Some(slug),
        }
    }
}

impl EnvironmentRef {
    /// The id, where it is one.
    #[must_use]
    pub fn id(&self) -> Option<EnvironmentId> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Name(_) => None,
        }
    }

    /// The name, where it is one.
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
