//! Paths of things in a project. A project's own path is what `Person::project` gives.

/// Its environments.
#[must_use]
pub fn environments(project: &str) -> String {
    format!("{project}/environments")
}

/// An environment, by id or name.
#[must_use]
pub fn environment(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}")
}

/// What tells of changes of an environment.
#[must_use]
pub fn watch(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/watch")
}

/// An environment's secrets.
#[must_use]
pub fn secrets(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/secrets")
}

/// A secret of an environment.
#[must_use]
pub fn secret(project: &str, environment: &str, key: &str) -> String {
    format!("{project}/environments/{environment}/secrets/{key}")
}

/// A rotation's webhooks.
#[must_use]
pub fn webhooks(project: &str, environment: &str, rotation: &str) -> String {
    format!("{project}/environments/{environment}/rotations/{rotation}/webhooks")
}

/// An environment's rotations.
#[must_use]
pub fn rotations(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/rotations")
}

/// A rotation of an environment.
#[must_use]
pub fn rotation(project: &str, environment: &str, name: &str) -> String {
    format!("{project}/environments/{environment}/rotations/{name}")
}

/// What is said of everybody in an environment.
#[must_use]
pub fn permissions(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/permissions")
}

/// What is said of a person in an environment.
#[must_use]
pub fn permission(project: &str, environment: &str, person: &str) -> String {
    format!("{project}/environments/{environment}/permissions/{person}")
}

/// What an operator for Kubernetes reads a secret by. `project` is a path, an id or a slug.
#[must_use]
pub fn eso_secret(project: &str, environment: &str, key: &str) -> String {
    let project = last(project);
    format!("/api/v1/eso/secret?project={project}&env={environment}&key={key}")
}

/// What it reads all secrets of an environment by.
#[must_use]
pub fn eso_secrets(project: &str, environment: &str) -> String {
    let project = last(project);
    format!("/api/v1/eso/secrets?project={project}&env={environment}")
}

/// The last segment of a path: what names the thing.
#[must_use]
pub fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
