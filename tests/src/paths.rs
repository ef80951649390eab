//! Paths of objects in a project. `Person::project` returns the path of the project itself.

/// Environments of a project.
#[must_use]
pub fn environments(project: &str) -> String {
    format!("{project}/environments")
}

/// Environment, by id or name.
#[must_use]
pub fn environment(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}")
}

/// Watch of an environment.
#[must_use]
pub fn watch(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/watch")
}

/// Secrets of an environment.
#[must_use]
pub fn secrets(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/secrets")
}

/// Secret of an environment.
#[must_use]
pub fn secret(project: &str, environment: &str, key: &str) -> String {
    format!("{project}/environments/{environment}/secrets/{key}")
}

/// Webhooks of a rotation.
#[must_use]
pub fn webhooks(project: &str, environment: &str, rotation: &str) -> String {
    format!("{project}/environments/{environment}/rotations/{rotation}/webhooks")
}

/// Rotations of an environment.
#[must_use]
pub fn rotations(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/rotations")
}

/// Rotation of an environment.
#[must_use]
pub fn rotation(project: &str, environment: &str, name: &str) -> String {
    format!("{project}/environments/{environment}/rotations/{name}")
}

/// Permissions of all members in an environment.
#[must_use]
pub fn permissions(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/permissions")
}

/// Permission of a person in an environment.
#[must_use]
pub fn permission(project: &str, environment: &str, person: &str) -> String {
    format!("{project}/environments/{environment}/permissions/{person}")
}

/// ESO endpoint for a secret. `project` is a path, an id or a slug.
#[must_use]
pub fn eso_secret(project: &str, environment: &str, key: &str) -> String {
    let project = last(project);
    format!("/api/v1/eso/secret?project={project}&env={environment}&key={key}")
}

/// ESO endpoint for all secrets of an environment.
#[must_use]
pub fn eso_secrets(project: &str, environment: &str) -> String {
    let project = last(project);
    format!("/api/v1/eso/secrets?project={project}&env={environment}")
}

/// Last segment of a path, which names the object.
#[must_use]
pub fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
