//! Tests that the policy (table of the allowed callers of each endpoint) has exactly the endpoints
//! of the server, and that these are the endpoints of the API specification and of a list of added
//! ones.

use std::collections::BTreeSet;

use secrets_core::runtime::Supervisor;
use secrets_http::routes;
use secrets_tests::{App, Kind};

use super::policy::{POLICY, Who};

/// Endpoints of the API specification that the service implements: method and path template.
const SPECIFIED: &[(&str, &str)] = &[
    ("GET", "/health"),
    ("GET", "/api/v1"),
    ("POST", "/api/v1/auth/sync"),
    ("GET", "/api/v1/users/me"),
    ("GET", "/api/v1/account"),
    ("GET", "/api/v1/account/data-export"),
    ("GET", "/api/v1/teams"),
    ("POST", "/api/v1/teams"),
    ("GET", "/api/v1/teams/{teamId}"),
    ("POST", "/api/v1/teams/{teamId}/members"),
    ("PATCH", "/api/v1/teams/{teamId}/members/{userId}"),
    ("DELETE", "/api/v1/teams/{teamId}/members/{userId}"),
    ("GET", "/api/v1/teams/{teamId}/invitations"),
    ("DELETE", "/api/v1/teams/{teamId}/invitations/{invitationId}"),
    ("POST", "/api/v1/teams/{teamId}/invitations/{invitationId}/resend"),
    ("GET", "/api/v1/invitations"),
    ("GET", "/api/v1/invitations/{token}"),
    ("POST", "/api/v1/invitations/{token}/accept"),
    ("GET", "/api/v1/teams/{teamId}/usage"),
    ("GET", "/api/v1/teams/{teamId}/billing"),
    ("GET", "/api/v1/projects"),
    ("POST", "/api/v1/projects"),
    ("GET", "/api/v1/projects/{projectId}"),
    ("PATCH", "/api/v1/projects/{projectId}"),
    ("DELETE", "/api/v1/projects/{projectId}"),
    ("GET", "/api/v1/projects/{projectId}/environments"),
    ("POST", "/api/v1/projects/{projectId}/environments"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}"),
    ("DELETE", "/api/v1/projects/{projectId}/environments/{environmentId}"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/export"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bulk"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}"),
    ("DELETE", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/test"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}"),
    (
        "DELETE",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}",
    ),
    (
        "POST",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/rotate",
    ),
    (
        "POST",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/test",
    ),
    (
        "GET",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/history",
    ),
    ("GET", "/api/v1/projects/{projectId}/my-permissions"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/permissions"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/permissions/{userId}"),
    ("DELETE", "/api/v1/projects/{projectId}/environments/{environmentId}/permissions/{userId}"),
    (
        "GET",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks",
    ),
    (
        "POST",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks",
    ),
    (
        "DELETE",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}",
    ),
    ("GET", "/api/v1/eso/secret"),
    ("GET", "/api/v1/eso/secrets"),
    ("GET", "/api/v1/tokens"),
    ("POST", "/api/v1/tokens"),
    ("DELETE", "/api/v1/tokens/{id}"),
    ("GET", "/api/v1/audit"),
    ("GET", "/api/v1/teams/{teamId}/audit"),
    ("POST", "/api/v1/tokens/{id}/rotate"),
];

/// Endpoints of the service that the API specification does not contain.
const ADDED: &[(&str, &str)] = &[
    ("PATCH", "/api/v1/account"),
    ("DELETE", "/api/v1/account"),
    ("POST", "/api/v1/account/data-export"),
    ("GET", "/invitations/{token}"),
    ("POST", "/api/v1/projects/{projectId}/restore"),
    ("PATCH", "/api/v1/projects/{projectId}/environments/{environmentId}"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/watch"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bundle"),
    ("GET", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}/history"),
    ("POST", "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}/rollback"),
    (
        "POST",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/test",
    ),
    (
        "GET",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/deliveries",
    ),
    (
        "POST",
        "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver",
    ),
    ("GET", "/api/v1/projects/{projectId}/watch"),
    ("GET", "/api/v1/projects/{projectId}/compare"),
    ("POST", "/api/v1/projects/{projectId}/changes"),
    ("POST", "/api/v1/auth/cli/device"),
    ("POST", "/api/v1/auth/cli/token"),
    ("GET", "/api/v1/auth/cli/device/{userCode}"),
    ("POST", "/api/v1/auth/cli/approve"),
    ("POST", "/api/v1/auth/cli/deny"),
    ("POST", "/api/v1/auth/cli/revoke"),
    ("GET", "/api/v1/auth/cli/sessions"),
    ("GET", "/api/v1/auth/config"),
    ("GET", "/api/v1/auth/sessions"),
    ("DELETE", "/api/v1/auth/sessions"),
    ("DELETE", "/api/v1/auth/sessions/{id}"),
    ("POST", "/api/v1/auth/sign-out"),
    ("GET", "/"),
    ("GET", "/projects"),
    ("GET", "/projects/{*rest}"),
    ("GET", "/teams/{*rest}"),
    ("GET", "/account"),
    ("GET", "/assets/{build}/{*file}"),
    ("GET", "/device"),
    ("POST", "/device"),
    ("GET", "/sign-in"),
    ("GET", "/sign-in/callback"),
    ("GET", "/sign-in/dev"),
    ("POST", "/invitations/{token}"),
    ("GET", "/health/live"),
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/api/docs"),
    ("GET", "/api/docs/{file}"),
    ("GET", "/api/v1/scans"),
    ("POST", "/api/v1/scans"),
    ("GET", "/api/v1/scans/{id}"),
    ("DELETE", "/api/v1/scans/{id}"),
    ("PATCH", "/api/v1/scans/{id}/findings/{findingId}"),
    ("GET", "/api/v1/teams/{teamId}/audit/verification"),
    ("PUT", "/api/v1/teams/{teamId}/billing"),
    ("PUT", "/api/v1/projects/{projectId}/environments/{environmentId}/permissions"),
    ("GET", "/api/v1/projects/{projectId}/permissions/defaults"),
    ("PUT", "/api/v1/projects/{projectId}/permissions/defaults"),
    ("DELETE", "/api/v1/projects/{projectId}/permissions/defaults"),
];

/// Returns the routes of the server: the method, the path template, and true if the route needs no
/// credential.
async fn served() -> Vec<(String, &'static str, bool)> {
    let app = App::start(Kind::Memory).await;
    let api = app.api();
    let table = routes::table(&api, &Supervisor::new(Vec::new()));
    table
        .iter()
        .map(|route| (route.method.to_string(), route.template, route.callers.is_none()))
        .collect()
}

#[tokio::test]
async fn the_policy_names_the_endpoints_that_are_served_and_no_others() {
    let served = served().await;
    let served: BTreeSet<_> =
        served.iter().map(|(method, template, _)| (method.as_str(), *template)).collect();
    let policy: BTreeSet<_> = POLICY.iter().map(|rule| (rule.method, rule.template)).collect();

    assert_eq!(policy, served);
}

#[tokio::test]
async fn the_endpoints_are_those_of_the_specification_and_ours_each_once() {
    let served = served().await;
    let mut served: Vec<_> =
        served.iter().map(|(method, template, _)| (method.as_str(), *template)).collect();
    let mut specified = [SPECIFIED, ADDED].concat();
    served.sort_unstable();
    specified.sort_unstable();

    assert_eq!(served, specified);
}

#[tokio::test]
async fn only_public_endpoints_of_the_policy_need_no_credential() {
    let served = served().await;
    let public: BTreeSet<_> =
        served.iter().filter(|(_, _, public)| *public).map(|(_, template, _)| *template).collect();
    let unauthenticated = POLICY.iter().filter(|rule| rule.who == Who::Public);
    let unauthenticated: BTreeSet<_> = unauthenticated.map(|rule| rule.template).collect();

    assert_eq!(public, unauthenticated);
}
