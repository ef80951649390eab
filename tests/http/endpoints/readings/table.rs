//! Table of the endpoints with the expected shapes of their response bodies.

/// Endpoint, and the expected shape of its response body in both response formats.
pub(super) struct Reading {
    pub(super) method: &'static str,
    pub(super) template: &'static str,
    /// Expected shape of the whole body with `SECRETS_ENVELOPE=named`.
    pub(super) named: Named,
    /// Expected content of the field `data` with `SECRETS_ENVELOPE=both`.
    pub(super) both: Both,
}

/// Shape of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// Object with one field of this name, whose value is a list of objects with at least these
    /// fields.
    List(&'static str, &'static [&'static str]),
    /// Object with one field of this name, whose value is an object with at least these fields.
    Wrapped(&'static str, &'static [&'static str]),
    /// Object with at least these fields.
    Object(&'static [&'static str]),
    /// List of objects with these fields; the list is the whole body.
    Array(&'static [&'static str]),
    /// No body, or a body that is not JSON.
    Nothing,
}

/// Expected content of the field `data` of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Both {
    /// Same value as the field of the body with this name.
    Field(&'static str),
    /// Object with all other fields of the body.
    Object,
    /// The body has no field `data`.
    Absent,
}

const fn list(
    method: &'static str,
    template: &'static str,
    name: &'static str,
    fields: &'static [&'static str],
) -> Reading {
    Reading { method, template, named: Named::List(name, fields), both: Both::Field(name) }
}

const fn secret(method: &'static str, template: &'static str) -> Reading {
    let named = Named::Wrapped("secret", &["id", "key", "version", "created_at", "updated_at"]);
    Reading { method, template, named, both: Both::Field("secret") }
}

const fn object(
    method: &'static str,
    template: &'static str,
    fields: &'static [&'static str],
) -> Reading {
    Reading { method, template, named: Named::Object(fields), both: Both::Object }
}

/// Creates the row of an endpoint that returns an object without the field `data`, because no
/// published client reads `data` from this endpoint.
const fn unwrapped(
    method: &'static str,
    template: &'static str,
    fields: &'static [&'static str],
) -> Reading {
    Reading { method, template, named: Named::Object(fields), both: Both::Absent }
}

const fn array(template: &'static str, fields: &'static [&'static str]) -> Reading {
    Reading { method: "GET", template, named: Named::Array(fields), both: Both::Absent }
}

const fn audit(template: &'static str) -> Reading {
    let named = Named::Object(&["logs", "limit"]);
    Reading { method: "GET", template, named, both: Both::Field("logs") }
}

const fn nothing(method: &'static str, template: &'static str) -> Reading {
    Reading { method, template, named: Named::Nothing, both: Both::Absent }
}

macro_rules! environment {
    ($rest:literal) => {
        concat!("/api/v1/projects/{projectId}/environments/{environmentId}", $rest)
    };
}

macro_rules! rotation {
    ($rest:literal) => {
        concat!(
            "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}",
            $rest
        )
    };
}

/// Path of the endpoint that returns different fields to a user than to a service token.
pub(super) const ME: &str = "/api/v1/users/me";
/// Fields of the response of [`ME`] to a service token.
pub(super) const TOKEN_SELF: &[&str] = &["id", "name", "auth_type", "permissions"];
const USER: &[&str] = &["id", "email", "name", "auth_type", "created_at", "teams"];
const TEAM: &[&str] = &["id", "name", "slug", "created_at"];
const PROJECT: &[&str] = &["id", "team_id", "name", "slug", "created_at"];
const ENVIRONMENT: &[&str] = &["id", "project_id", "name", "created_at"];
const SECRET: &[&str] = &["id", "key", "version", "created_at", "updated_at"];
const EXPORTED: &[&str] = &["id", "key", "value", "version", "created_at", "updated_at"];
const PERMISSION: &[&str] =
    &["id", "environment_id", "user_id", "user_email", "role", "can_read", "can_write"];
const DEFAULT: &[&str] = &["id", "project_id", "environment_name", "default_role", "created_at"];
const ROTATION: &[&str] = &["id", "environment_id", "name", "status", "injected_secrets"];
const WEBHOOK: &[&str] = &["id", "rotation_config_id", "url", "events", "enabled", "created_at"];
const DELIVERY: &[&str] = &["id", "event", "status", "created_at"];
const TOKEN: &[&str] = &["id", "name", "team_id", "permissions", "created_at"];
const NEW_TOKEN: &[&str] = &["id", "name", "token", "permissions", "created_at"];
const ACCOUNT: &[&str] = &["user", "teams", "created_at"];
const MEMBER: &[&str] = &["id", "team_id", "email", "role", "status", "created_at"];
const INVITED: &[&str] = &["id", "email", "role", "expires_at"];
const SCAN: &[&str] = &["id", "status", "findings_count"];
const BILLING: &[&str] = &["team_id", "plan", "status", "limits"];
const VERIFICATION: &[&str] = &["team_id", "status", "checked", "unchecked", "unsealed"];

pub(super) const READINGS: &[Reading] = &[
    object("GET", "/health", &["status", "service", "version", "build_time", "checks"]),
    object("GET", "/health/live", &["status"]),
    object("GET", "/api/v1", &["message", "version"]),
    object("POST", "/api/v1/auth/sync", USER),
    object("GET", ME, USER),
    object("GET", "/api/v1/account", ACCOUNT),
    object("PATCH", "/api/v1/account", ACCOUNT),
    nothing("DELETE", "/api/v1/account"),
    object("GET", "/api/v1/account/data-export", &["format_version", "user", "audit_logs"]),
    nothing("POST", "/api/v1/account/data-export"),
    list("GET", "/api/v1/teams", "teams", TEAM),
    object("POST", "/api/v1/teams", TEAM),
    object("GET", "/api/v1/teams/{teamId}", &["id", "name", "slug", "members", "role"]),
    object("POST", "/api/v1/teams/{teamId}/members", MEMBER),
    object("PATCH", "/api/v1/teams/{teamId}/members/{userId}", MEMBER),
    nothing("DELETE", "/api/v1/teams/{teamId}/members/{userId}"),
    array("/api/v1/teams/{teamId}/invitations", INVITED),
    nothing("DELETE", "/api/v1/teams/{teamId}/invitations/{invitationId}"),
    nothing("POST", "/api/v1/teams/{teamId}/invitations/{invitationId}/resend"),
    array("/api/v1/invitations", INVITED),
    object("GET", "/api/v1/invitations/{token}", INVITED),
    object("POST", "/api/v1/invitations/{token}/accept", TEAM),
    nothing("GET", "/invitations/{token}"),
    object("GET", "/api/v1/teams/{teamId}/usage", &["team_id", "plan", "period_start"]),
    object("GET", "/api/v1/teams/{teamId}/billing", BILLING),
    object("PUT", "/api/v1/teams/{teamId}/billing", BILLING),
    list("GET", "/api/v1/projects", "projects", PROJECT),
    object("POST", "/api/v1/projects", PROJECT),
    object("GET", "/api/v1/projects/{projectId}", &["id", "name", "slug", "environments"]),
    object("PATCH", "/api/v1/projects/{projectId}", PROJECT),
    nothing("DELETE", "/api/v1/projects/{projectId}"),
    object("POST", "/api/v1/projects/{projectId}/restore", PROJECT),
    list("GET", "/api/v1/projects/{projectId}/environments", "environments", ENVIRONMENT),
    object("POST", "/api/v1/projects/{projectId}/environments", ENVIRONMENT),
    object("GET", environment!(""), ENVIRONMENT),
    object("PATCH", environment!(""), ENVIRONMENT),
    nothing("DELETE", environment!("")),
    nothing("GET", environment!("/watch")),
    nothing("GET", "/api/v1/projects/{projectId}/watch"),
    list("GET", environment!("/secrets"), "secrets", SECRET),
    secret("POST", environment!("/secrets")),
    list("GET", environment!("/secrets/export"), "secrets", EXPORTED),
    object("POST", environment!("/secrets/bundle"), &["bundle", "signer", "seq", "secrets"]),
    object("POST", environment!("/secrets/bulk"), &["created", "updated", "skipped"]),
    secret("GET", environment!("/secrets/{key}")),
    secret("PUT", environment!("/secrets/{key}")),
    nothing("DELETE", environment!("/secrets/{key}")),
    list(
        "GET",
        environment!("/secrets/{key}/history"),
        "history",
        &["id", "version", "changed_at", "change_type"],
    ),
    secret("POST", environment!("/secrets/{key}/rollback")),
    unwrapped("GET", "/api/v1/projects/{projectId}/compare", &["revision", "environments", "keys"]),
    unwrapped("POST", "/api/v1/projects/{projectId}/changes", &["dry_run", "created", "changes"]),
    list("GET", environment!("/rotations"), "rotations", ROTATION),
    object("POST", environment!("/rotations"), ROTATION),
    object("POST", environment!("/rotations/test"), &["success", "message"]),
    object("GET", rotation!(""), ROTATION),
    object("PUT", rotation!(""), ROTATION),
    nothing("DELETE", rotation!("")),
    object("POST", rotation!("/rotate"), &["id", "rotation_config_id", "version", "status"]),
    object("POST", rotation!("/test"), &["success", "message"]),
    array(rotation!("/history"), &["id", "rotation_config_id", "version", "status"]),
    unwrapped(
        "GET",
        "/api/v1/projects/{projectId}/my-permissions",
        &["permissions", "is_team_admin"],
    ),
    list("GET", "/api/v1/projects/{projectId}/permissions/defaults", "defaults", DEFAULT),
    list("PUT", "/api/v1/projects/{projectId}/permissions/defaults", "defaults", DEFAULT),
    nothing("DELETE", "/api/v1/projects/{projectId}/permissions/defaults"),
    list("GET", environment!("/permissions"), "permissions", PERMISSION),
    list("PUT", environment!("/permissions"), "permissions", PERMISSION),
    object("PUT", environment!("/permissions/{userId}"), PERMISSION),
    nothing("DELETE", environment!("/permissions/{userId}")),
    array(rotation!("/webhooks"), WEBHOOK),
    object("POST", rotation!("/webhooks"), WEBHOOK),
    nothing("DELETE", rotation!("/webhooks/{webhookId}")),
    object("POST", rotation!("/webhooks/{webhookId}/test"), DELIVERY),
    list("GET", rotation!("/webhooks/{webhookId}/deliveries"), "deliveries", DELIVERY),
    object("POST", rotation!("/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver"), DELIVERY),
    unwrapped("GET", "/api/v1/eso/secret", &["value"]),
    unwrapped("GET", "/api/v1/eso/secrets", &["secrets"]),
    list("GET", "/api/v1/tokens", "tokens", TOKEN),
    object("POST", "/api/v1/tokens", NEW_TOKEN),
    object("POST", "/api/v1/tokens/{id}/rotate", NEW_TOKEN),
    nothing("DELETE", "/api/v1/tokens/{id}"),
    audit("/api/v1/audit"),
    audit("/api/v1/teams/{teamId}/audit"),
    object("GET", "/api/v1/teams/{teamId}/audit/verification", VERIFICATION),
    object("POST", "/api/v1/auth/cli/device", &["device_code", "user_code", "interval"]),
    object("POST", "/api/v1/auth/cli/token", &["access_token", "token_type", "user"]),
    object("GET", "/api/v1/auth/cli/device/{userCode}", &["created_at", "expires_at"]),
    object("POST", "/api/v1/auth/cli/approve", &["status"]),
    object("POST", "/api/v1/auth/cli/deny", &["status"]),
    nothing("POST", "/api/v1/auth/cli/revoke"),
    list("GET", "/api/v1/auth/cli/sessions", "sessions", &["id", "created_at"]),
    object("GET", "/api/v1/auth/config", &["browser_sign_in", "dev"]),
    list("GET", "/api/v1/auth/sessions", "sessions", &["id", "kind", "created_at"]),
    object("DELETE", "/api/v1/auth/sessions", &["revoked"]),
    nothing("DELETE", "/api/v1/auth/sessions/{id}"),
    nothing("POST", "/api/v1/auth/sign-out"),
    nothing("GET", "/"),
    nothing("GET", "/projects"),
    nothing("GET", "/projects/{*rest}"),
    nothing("GET", "/teams/{*rest}"),
    nothing("GET", "/account"),
    nothing("GET", "/assets/{build}/{*file}"),
    nothing("GET", "/device"),
    nothing("POST", "/device"),
    nothing("GET", "/sign-in"),
    nothing("GET", "/sign-in/callback"),
    nothing("GET", "/sign-in/dev"),
    nothing("POST", "/invitations/{token}"),
    // The OpenAPI document has no envelope.
    unwrapped("GET", "/api/v1/openapi.json", &["openapi", "info", "paths", "components"]),
    nothing("GET", "/api/docs"),
    nothing("GET", "/api/docs/{file}"),
    list("GET", "/api/v1/scans", "scans", SCAN),
    object("POST", "/api/v1/scans", &["id", "status", "findings"]),
    object("GET", "/api/v1/scans/{id}", &["id", "status", "findings"]),
    nothing("DELETE", "/api/v1/scans/{id}"),
    object("PATCH", "/api/v1/scans/{id}/findings/{findingId}", &["id", "status", "fingerprint"]),
];
