//! Tags: the groups of operations in the OpenAPI document.

use serde_json::{Value, json};

/// Groups of operations: the nouns of the operation names that belong to the group, and the name
/// and the description of the group.
const TAGS: &[(&[&str], &str, &str)] = &[
    (
        &["health", "liveness", "greeting", "openapi"],
        "Service",
        "Health, version and description of the service. No credential required.",
    ),
    (&["user"], "Users", "Sign-in, and the user or service token that sends a request."),
    (&["account"], "Account", "The caller's own account: profile, data export and deletion."),
    (&["team", "member"], "Teams", "Teams and their members. A team owns projects."),
    (&["invitation"], "Invitations", "Invitations to teams, for the inviting and the invited."),
    (&["usage", "billing"], "Plans", "A team's plan, and its usage of the plan's limits."),
    (&["project"], "Projects", "Projects. A new project has three environments."),
    (
        &["environment"],
        "Environments",
        "Environments of a project. An environment can inherit the secrets of another one.",
    ),
    (
        &["permission", "permission_defaults"],
        "Permissions",
        "Access of team members to the environments of a project.",
    ),
    (
        &["secret"],
        "Secrets",
        "Secrets of an environment: encrypted values with versions, import and export.",
    ),
    (
        &["rotation"],
        "Rotations",
        "Automatic rotation of database credentials, with the new credential as secrets.",
    ),
    (&["webhook"], "Webhooks", "Webhooks that are called on the events of a rotation."),
    (
        &["token"],
        "Service tokens",
        "Credentials for programs, limited to projects, environments and permissions.",
    ),
    (
        &["eso"],
        "External Secrets Operator",
        "Secret values for the External Secrets Operator in Kubernetes. Requires a service token.",
    ),
    (&["audit"], "Audit logs", "Audit logs of teams, for their owners and admins."),
    (&["scan", "finding"], "Scans", "Scans of texts and files for leaked credentials."),
    (
        &["session", "sign_in"],
        "Sessions",
        "The caller's sessions of browsers and command-line clients, and how browsers sign in.",
    ),
    (
        &["device_login", "cli_session"],
        "Device login",
        "Sign-in of command-line clients (RFC 8628), and their sessions.",
    ),
];

/// Returns the name of the group that an operation belongs to.
pub(super) fn tag(operation: &str) -> &'static str {
    let noun = operation.split('.').next().unwrap_or_default();
    TAGS.iter().find(|(nouns, ..)| nouns.contains(&noun)).map_or("Other", |(_, name, _)| name)
}

/// Returns the groups of operations, in the order of the document.
pub(super) fn tags() -> Vec<Value> {
    TAGS.iter()
        .map(|(_, name, description)| json!({ "name": name, "description": description }))
        .collect()
}
