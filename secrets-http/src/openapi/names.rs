//! Names of schemas in the OpenAPI document: those that the API specification uses, or names that
//! describe the purpose of a request.

use serde_json::{Map, Value};

use super::schema::{Components, reference, referenced};

/// Rust type names whose schemas have another name, each with the name of the schema.
const NAMES: &[(&str, &str)] = &[
    ("AccountChange", "UpdateAccountRequest"),
    ("Candidate", "TestConnectionRequest"),
    ("CodeBody", "DecideDeviceLoginRequest"),
    ("Confirmation", "DeleteAccountRequest"),
    ("Decided", "DeviceLoginDecision"),
    ("Details", "ErrorDetails"),
    ("EnvironmentChange", "UpdateEnvironmentRequest"),
    ("ErrorBody", "Error"),
    ("EsoSecret", "ESOSecretResponse"),
    ("EsoSecrets", "ESOSecretsResponse"),
    ("FieldBody", "FieldError"),
    ("FindingChange", "UpdateFindingRequest"),
    ("GrantError", "DeviceLoginError"),
    ("Granted", "UserPermission"),
    ("HistoryEntry", "SecretVersion"),
    ("ImportResult", "BulkImportResult"),
    ("MemberChange", "UpdateMemberRoleRequest"),
    ("NewArchive", "ExportAccountSecretsRequest"),
    ("NewBundle", "ExportBundleRequest"),
    ("NewDefault", "EnvironmentDefault"),
    ("NewDefaults", "SetPermissionDefaultsRequest"),
    ("NewDeviceLogin", "StartDeviceLoginRequest"),
    ("NewEnvironment", "CreateEnvironmentRequest"),
    ("NewInvitation", "InviteMemberRequest"),
    ("NewPermission", "SetPermissionRequest"),
    ("NewPermissions", "SetPermissionsRequest"),
    ("NewPlan", "SetPlanRequest"),
    ("NewProject", "CreateProjectRequest"),
    ("NewRecipient", "BundleRecipient"),
    ("NewRotation", "CreateRotationRequest"),
    ("NewScan", "CreateScanRequest"),
    ("NewSecret", "CreateSecretRequest"),
    ("NewTeam", "CreateTeamRequest"),
    ("NewToken", "CreateTokenRequest"),
    ("NewWebhook", "CreateWebhookRequest"),
    ("PollDeviceLogin", "PollDeviceLoginRequest"),
    ("ProjectChange", "UpdateProjectRequest"),
    ("Rollback", "RollBackSecretRequest"),
    ("Rotation", "RotationConfigResponse"),
    ("RotationChange", "UpdateRotationRequest"),
    ("SecretChange", "UpdateSecretRequest"),
    ("SessionBody", "RevokeSessionRequest"),
    ("SubmittedImport", "BulkImportRequest"),
    ("SubmittedSecret", "BulkImportSecret"),
    ("TokenRotation", "RotateTokenRequest"),
];

/// Renames the components (named schemas) of the document, and changes all references to them.
pub(super) fn rename(schemas: &mut Components, paths: &mut Value) {
    let renamed: Map<_, _> = std::mem::take(schemas)
        .into_iter()
        .map(|(name, schema)| (name_of(&name).to_owned(), schema))
        .collect();
    *schemas = renamed;
    schemas.values_mut().for_each(rename_references);
    rename_references(paths);
}

fn name_of(name: &str) -> &str {
    NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, renamed)| renamed)
}

fn rename_references(schema: &mut Value) {
    if let Some(name) = referenced(schema).map(name_of).map(str::to_owned) {
        schema["$ref"] = reference(&name)["$ref"].take();
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(rename_references),
        Value::Array(items) => items.iter_mut().for_each(rename_references),
        _ => {}
    }
}
