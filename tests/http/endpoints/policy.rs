//! Authorization policy: the callers that each endpoint must allow, according to the API
//! specification and the design decisions. The tests compare the server with this table, so the
//! table does not use code of the server.

/// Rule for an endpoint: the allowed callers, the kind of target object, and the effect of an
/// allowed request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) method: &'static str,
    pub(super) template: &'static str,
    pub(super) who: Who,
    pub(super) on: Level,
    /// Status of the response to an allowed request.
    pub(super) ok: u16,
    pub(super) effect: Effect,
}

/// Callers that an endpoint allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Everyone; no credential is required.
    Public,
    /// Users, with or without an account.
    Identities,
    /// Callers with any valid credential; a user without an account gets 404.
    AnyCredential,
    /// Users with an account.
    People,
    /// Users with an account, and service tokens.
    Accounts,
    /// Members of the team.
    Members,
    /// Owner and admins of the team.
    Managers,
    /// Owners and admins. The endpoint returns data of the teams that the caller manages.
    Auditors,
    /// Owner and admins of the team, and members with the role admin in the environment.
    Granters,
    /// Members with read access to the environment.
    Viewers,
    /// Members with write access to the environment.
    Editors,
    /// Operators of the service; no caller in this test is an operator.
    Operators,
    /// Members, and service tokens whose scope contains the object.
    Seers,
    /// Members, and service tokens with read access.
    Readers,
    /// Members, and service tokens with write access.
    Writers,
    /// Service tokens with read access, and no users.
    Machines,
}

/// Kind of object that the requests of an endpoint name, and the part of the request that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Nothing,
    /// Team named in the path.
    Team,
    /// Team named in the path of an endpoint whose API specification lists no 404, so that an
    /// unknown team must get 403.
    UntoldTeam,
    /// Pending invitation of a team.
    Invitation,
    /// Member of a team.
    Member,
    /// Team named in the request body or in the query.
    NamedTeam,
    Project,
    Environment,
    Secret,
    /// Permission of a user in an environment.
    Permission,
    /// Rotation in an environment.
    Rotation,
    Token,
    /// Scan, or a finding of a scan.
    Scan,
    /// Webhook of a rotation, or a delivery to a webhook.
    Webhook,
}

/// Effect of an allowed request on the stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Changes,
}

/// Object that a request names (its target).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Existing object of the first test team.
    Own,
    /// Existing object of the other test team.
    Foreign,
    /// UUID that belongs to no object.
    Unknown,
    /// String that is neither a UUID nor the name of an existing object.
    Nonsense,
    /// Environment that does not exist, in the existing project of the first team.
    UnknownEnvironment,
    /// Secret key, user, rotation or webhook that does not exist, in an existing environment of the
    /// first team.
    UnknownKey,
}

const fn rule(method: &'static str, template: &'static str, who: Who, on: Level, ok: u16) -> Rule {
    Rule { method, template, who, on, ok, effect: Effect::Reads }
}

const fn change(
    method: &'static str,
    template: &'static str,
    who: Who,
    on: Level,
    ok: u16,
) -> Rule {
    Rule { method, template, who, on, ok, effect: Effect::Changes }
}

const ACCOUNT: &str = "/api/v1/account";
const DATA_EXPORT: &str = "/api/v1/account/data-export";
const MEMBERS: &str = "/api/v1/teams/{teamId}/members";
const MEMBER: &str = "/api/v1/teams/{teamId}/members/{userId}";
const INVITATIONS: &str = "/api/v1/teams/{teamId}/invitations";
const INVITATION: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}";
const RESEND: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}/resend";
const PROJECT: &str = "/api/v1/projects/{projectId}";
pub(super) const RESTORE: &str = "/api/v1/projects/{projectId}/restore";
const ENVIRONMENTS: &str = "/api/v1/projects/{projectId}/environments";
const ENVIRONMENT: &str = "/api/v1/projects/{projectId}/environments/{environmentId}";
const WATCH: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/watch";
const PROJECT_WATCH: &str = "/api/v1/projects/{projectId}/watch";
const SECRETS: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets";
const EXPORT: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/export";
const BULK: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bulk";
const BUNDLE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bundle";
const SECRET: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}";
const HISTORY: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}/history";
const ROLLBACK: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}/rollback";
pub(super) const ROTATIONS: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations";
pub(super) const CONNECTION: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/test";
const ROTATION: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}";
const ROTATE: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/rotate";
pub(super) const TEST: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/test";
const ATTEMPTS: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/history";
const CHANGES: &str = "/api/v1/projects/{projectId}/changes";
const COMPARE: &str = "/api/v1/projects/{projectId}/compare";
const DEFAULTS: &str = "/api/v1/projects/{projectId}/permissions/defaults";
const WEBHOOKS: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks";
const WEBHOOK: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}";
const WEBHOOK_TEST: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/test";
const DELIVERIES: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/deliveries";
const REDELIVER: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver";
pub(super) const PERMISSIONS: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/permissions";
const PERMISSION: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/permissions/{userId}";

const VERIFICATION: &str = "/api/v1/teams/{teamId}/audit/verification";

/// Rules of all endpoints. `GET /api/v1/tokens` has two rules: with and without the query parameter
/// that names a team. The token in requests about invitations belongs to an invitation of a user
/// who is no caller of the test, so no caller can use it.
pub(super) const POLICY: &[Rule] = &[
    rule("GET", "/health", Who::Public, Level::Nothing, 200),
    rule("GET", "/health/live", Who::Public, Level::Nothing, 200),
    rule("GET", "/api/v1", Who::Public, Level::Nothing, 200),
    rule("POST", "/api/v1/auth/sync", Who::Identities, Level::Nothing, 200),
    rule("GET", "/api/v1/users/me", Who::AnyCredential, Level::Nothing, 200),
    rule("GET", ACCOUNT, Who::People, Level::Nothing, 200),
    change("PATCH", ACCOUNT, Who::People, Level::Nothing, 200),
    // The request contains an address that is not the caller's, so the confirmation fails.
    rule("DELETE", ACCOUNT, Who::People, Level::Nothing, 400),
    rule("GET", DATA_EXPORT, Who::People, Level::Nothing, 200),
    rule("POST", DATA_EXPORT, Who::People, Level::Nothing, 200),
    // This rule precedes the requests with which each person creates a team, because its creator
    // manages the team.
    rule("GET", "/api/v1/audit", Who::Auditors, Level::Nothing, 200),
    rule("GET", "/api/v1/teams", Who::People, Level::Nothing, 200),
    change("POST", "/api/v1/teams", Who::People, Level::Nothing, 201),
    rule("GET", "/api/v1/teams/{teamId}", Who::Members, Level::Team, 200),
    change("POST", MEMBERS, Who::Managers, Level::UntoldTeam, 201),
    change("PATCH", MEMBER, Who::Managers, Level::UntoldTeam, 200),
    change("DELETE", MEMBER, Who::Managers, Level::Member, 204),
    rule("GET", INVITATIONS, Who::Managers, Level::UntoldTeam, 200),
    change("DELETE", INVITATION, Who::Managers, Level::Invitation, 204),
    change("POST", RESEND, Who::Managers, Level::Invitation, 200),
    rule("GET", "/api/v1/invitations", Who::People, Level::Nothing, 200),
    rule("GET", "/api/v1/invitations/{token}", Who::People, Level::Nothing, 404),
    rule("POST", "/api/v1/invitations/{token}/accept", Who::People, Level::Nothing, 404),
    rule("GET", "/invitations/{token}", Who::Public, Level::Nothing, 200),
    rule("POST", "/invitations/{token}", Who::Public, Level::Nothing, 200),
    rule("GET", "/api/v1/teams/{teamId}/usage", Who::Members, Level::Team, 200),
    rule("GET", "/api/v1/teams/{teamId}/billing", Who::Managers, Level::Team, 200),
    rule("PUT", "/api/v1/teams/{teamId}/billing", Who::Operators, Level::Nothing, 403),
    rule("GET", "/api/v1/projects", Who::Accounts, Level::Nothing, 200),
    change("POST", "/api/v1/projects", Who::Members, Level::NamedTeam, 201),
    rule("GET", PROJECT, Who::Seers, Level::Project, 200),
    change("PATCH", PROJECT, Who::Managers, Level::Project, 200),
    change("DELETE", PROJECT, Who::Managers, Level::Project, 204),
    change("POST", RESTORE, Who::Managers, Level::Project, 200),
    rule("GET", ENVIRONMENTS, Who::Seers, Level::Project, 200),
    change("POST", ENVIRONMENTS, Who::Members, Level::Project, 201),
    rule("GET", ENVIRONMENT, Who::Seers, Level::Environment, 200),
    change("PATCH", ENVIRONMENT, Who::Managers, Level::Environment, 200),
    change("DELETE", ENVIRONMENT, Who::Managers, Level::Environment, 204),
    rule("GET", WATCH, Who::Readers, Level::Environment, 200),
    rule("GET", SECRETS, Who::Readers, Level::Environment, 200),
    change("POST", SECRETS, Who::Writers, Level::Environment, 201),
    rule("GET", EXPORT, Who::Readers, Level::Environment, 200),
    rule("POST", BUNDLE, Who::Readers, Level::Environment, 200),
    change("POST", BULK, Who::Writers, Level::Environment, 200),
    rule("GET", SECRET, Who::Readers, Level::Secret, 200),
    change("PUT", SECRET, Who::Writers, Level::Secret, 200),
    change("DELETE", SECRET, Who::Writers, Level::Secret, 204),
    rule("GET", HISTORY, Who::Readers, Level::Secret, 200),
    change("POST", ROLLBACK, Who::Writers, Level::Secret, 200),
    rule("GET", PROJECT_WATCH, Who::Readers, Level::Project, 200),
    rule("GET", COMPARE, Who::Readers, Level::Project, 200),
    change("POST", CHANGES, Who::Writers, Level::Project, 200),
    rule("GET", ROTATIONS, Who::Viewers, Level::Environment, 200),
    change("POST", ROTATIONS, Who::Editors, Level::Environment, 201),
    // The attempt is recorded in the audit log.
    change("POST", CONNECTION, Who::Editors, Level::Environment, 200),
    rule("GET", ROTATION, Who::Viewers, Level::Rotation, 200),
    change("PUT", ROTATION, Who::Editors, Level::Rotation, 200),
    change("DELETE", ROTATION, Who::Editors, Level::Rotation, 204),
    change("POST", ROTATE, Who::Editors, Level::Rotation, 200),
    change("POST", TEST, Who::Editors, Level::Rotation, 200),
    rule("GET", ATTEMPTS, Who::Viewers, Level::Rotation, 200),
    rule("GET", "/api/v1/projects/{projectId}/my-permissions", Who::Seers, Level::Project, 200),
    rule("GET", DEFAULTS, Who::Members, Level::Project, 200),
    change("PUT", DEFAULTS, Who::Managers, Level::Project, 200),
    change("DELETE", DEFAULTS, Who::Managers, Level::Project, 204),
    rule("GET", PERMISSIONS, Who::Granters, Level::Environment, 200),
    change("PUT", PERMISSIONS, Who::Granters, Level::Environment, 200),
    change("PUT", PERMISSION, Who::Granters, Level::Permission, 200),
    change("DELETE", PERMISSION, Who::Granters, Level::Permission, 204),
    rule("GET", WEBHOOKS, Who::Viewers, Level::Rotation, 200),
    change("POST", WEBHOOKS, Who::Editors, Level::Rotation, 201),
    change("DELETE", WEBHOOK, Who::Editors, Level::Webhook, 204),
    change("POST", WEBHOOK_TEST, Who::Editors, Level::Webhook, 200),
    rule("GET", DELIVERIES, Who::Viewers, Level::Webhook, 200),
    change("POST", REDELIVER, Who::Editors, Level::Webhook, 200),
    rule("GET", "/api/v1/eso/secret", Who::Machines, Level::Secret, 200),
    rule("GET", "/api/v1/eso/secrets", Who::Machines, Level::Environment, 200),
    rule("GET", "/api/v1/tokens", Who::People, Level::Nothing, 200),
    rule("GET", "/api/v1/tokens", Who::Managers, Level::NamedTeam, 200),
    change("POST", "/api/v1/tokens", Who::Managers, Level::NamedTeam, 201),
    change("POST", "/api/v1/tokens/{id}/rotate", Who::Managers, Level::Token, 200),
    change("DELETE", "/api/v1/tokens/{id}", Who::Managers, Level::Token, 204),
    rule("POST", "/api/v1/auth/cli/device", Who::Public, Level::Nothing, 200),
    // Here and below, the named codes do not exist; `device_login` tests existing codes.
    rule("POST", "/api/v1/auth/cli/token", Who::Public, Level::Nothing, 400),
    rule("GET", "/api/v1/auth/cli/device/{userCode}", Who::People, Level::Nothing, 404),
    rule("POST", "/api/v1/auth/cli/approve", Who::People, Level::Nothing, 404),
    rule("POST", "/api/v1/auth/cli/deny", Who::People, Level::Nothing, 404),
    rule("POST", "/api/v1/auth/cli/revoke", Who::People, Level::Nothing, 404),
    rule("GET", "/api/v1/auth/cli/sessions", Who::People, Level::Nothing, 200),
    rule("GET", "/api/v1/auth/config", Who::Public, Level::Nothing, 200),
    rule("GET", "/api/v1/auth/sessions", Who::People, Level::Nothing, 200),
    change("DELETE", "/api/v1/auth/sessions", Who::People, Level::Nothing, 200),
    rule("DELETE", "/api/v1/auth/sessions/{id}", Who::People, Level::Nothing, 404),
    // The request has no session, so the service ends no session.
    rule("POST", "/api/v1/auth/sign-out", Who::People, Level::Nothing, 204),
    rule("GET", "/", Who::Public, Level::Nothing, 200),
    rule("GET", "/projects", Who::Public, Level::Nothing, 200),
    rule("GET", "/projects/{*rest}", Who::Public, Level::Nothing, 200),
    rule("GET", "/teams/{*rest}", Who::Public, Level::Nothing, 200),
    rule("GET", "/account", Who::Public, Level::Nothing, 200),
    rule("GET", "/assets/{build}/{*file}", Who::Public, Level::Nothing, 404),
    rule("GET", "/device", Who::Public, Level::Nothing, 200),
    rule("POST", "/device", Who::Public, Level::Nothing, 400),
    // Browsers cannot sign in to this service; `sign_in` tests services with a provider.
    rule("GET", "/sign-in", Who::Public, Level::Nothing, 404),
    rule("GET", "/sign-in/callback", Who::Public, Level::Nothing, 404),
    rule("GET", "/sign-in/dev", Who::Public, Level::Nothing, 404),
    rule("GET", "/api/v1/openapi.json", Who::Public, Level::Nothing, 200),
    rule("GET", "/api/docs", Who::Public, Level::Nothing, 200),
    rule("GET", "/api/docs/{file}", Who::Public, Level::Nothing, 404),
    rule("GET", "/api/v1/audit", Who::Managers, Level::NamedTeam, 200),
    rule("GET", "/api/v1/teams/{teamId}/audit", Who::Managers, Level::UntoldTeam, 200),
    rule("GET", VERIFICATION, Who::Managers, Level::Team, 200),
    rule("GET", "/api/v1/scans", Who::People, Level::Nothing, 200),
    rule("GET", "/api/v1/scans", Who::Members, Level::NamedTeam, 200),
    change("POST", "/api/v1/scans", Who::Members, Level::NamedTeam, 201),
    rule("GET", "/api/v1/scans/{id}", Who::Members, Level::Scan, 200),
    change("DELETE", "/api/v1/scans/{id}", Who::Managers, Level::Scan, 204),
    change("PATCH", "/api/v1/scans/{id}/findings/{findingId}", Who::Members, Level::Scan, 200),
];

impl Level {
    /// Returns the targets for which requests to an endpoint of this level are tested.
    pub(super) fn targets(self) -> &'static [Target] {
        use Target::{Foreign, Nonsense, Own, Unknown, UnknownEnvironment, UnknownKey};
        match self {
            Self::Nothing => &[Own],
            // `Nonsense` is left out: a value in a body or query that is not a UUID is malformed,
            // and another test covers malformed requests.
            Self::NamedTeam => &[Own, Foreign, Unknown],
            Self::Team
            | Self::UntoldTeam
            | Self::Invitation
            | Self::Member
            | Self::Project
            | Self::Scan
            | Self::Token => &[Own, Foreign, Unknown, Nonsense],
            Self::Environment => &[Own, Foreign, Unknown, Nonsense, UnknownEnvironment],
            Self::Secret | Self::Permission | Self::Rotation | Self::Webhook => {
                &[Own, Foreign, Unknown, Nonsense, UnknownEnvironment, UnknownKey]
            }
        }
    }
}
