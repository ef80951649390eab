//! URL paths of endpoints in a project. `project` is the URL path of the project, which
//! `Person::project` returns.

/// Returns the path of the environments of a project.
#[must_use]
pub fn environments(project: &str) -> String {
    format!("{project}/environments")
}

/// Returns the path of an environment, given by ID or name.
#[must_use]
pub fn environment(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}")
}

/// Returns the path of the event stream of changes to an environment.
#[must_use]
pub fn watch(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/watch")
}

/// Returns the path of the secrets of an environment.
#[must_use]
pub fn secrets(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/secrets")
}

/// Returns the path of a secret of an environment.
#[must_use]
pub fn secret(project: &str, environment: &str, key: &str) -> String {
    format!("{project}/environments/{environment}/secrets/{key}")
}

/// Returns the path of the webhooks of a rotation.
#[must_use]
pub fn webhooks(project: &str, environment: &str, rotation: &str) -> String {
    format!("{project}/environments/{environment}/rotations/{rotation}/webhooks")
}

/// Returns the path of the rotations of an environment.
#[must_use]
pub fn rotations(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/rotations")
}

/// Returns the path of a rotation of an environment.
#[must_use]
pub fn rotation(project: &str, environment: &str, name: &str) -> String {
    format!("{project}/environments/{environment}/rotations/{name}")
}

/// Returns the path of the permissions of all members in an environment.
#[must_use]
pub fn permissions(project: &str, environment: &str) -> String {
    format!("{project}/environments/{environment}/permissions")
}

/// Returns the path of the permission of a user in an environment. `person` is the user ID.
#[must_use]
pub fn permission(project: &str, environment: &str, person: &str) -> String {
    format!("{project}/environments/{environment}/permissions/{person}")
}

/// Returns the path and query of the External Secrets Operator endpoint for a secret. `project` is
/// the URL path, ID or slug of the project.
#[must_use]
pub fn eso_secret(project: &str, environment: &str, key: &str) -> String {
    let project = last(project);
    format!("/api/v1/eso/secret?project={project}&env={environment}&key={key}")
}

/// Returns the path and query of the External Secrets Operator endpoint for all secrets of an
/// environment. `project` is the URL path, ID or slug of the project.
#[must_use]
pub fn eso_secrets(project: &str, environment: &str) -> String {
    let project = last(project);
    format!("/api/v1/eso/secrets?project={project}&env={environment}")
}

/// Returns the last segment of a path: the ID or name of the object.
#[must_use]
pub fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
