//! Error responses in the OpenAPI document. Many operations share them.

use secrets_core::model::{ErrorBody, LimitBody};
use serde_json::{Value, json};

use super::headers;
use super::schema::{Components, Described, reference};
use crate::serve::router::Route;

/// Definition of an error response: status, name of the component, description, and headers.
struct ErrorResponse(u16, &'static str, &'static str, &'static [&'static str]);

/// Component name of the error response for operations that can exceed a plan limit.
const PLAN_LIMIT: &str = "PlanOrRateLimitExceeded";

const RESPONSES: &[ErrorResponse] = &[
    ErrorResponse(400, "BadRequest", "Invalid request; the error says what is wrong", &[]),
    ErrorResponse(
        401,
        "Unauthorized",
        "Missing, invalid or expired credential",
        &["WWW-Authenticate"],
    ),
    ErrorResponse(403, "Forbidden", "The caller does not have the required permission", &[]),
    ErrorResponse(404, "NotFound", "Resource not found", &[]),
    ErrorResponse(405, "MethodNotAllowed", "The path has no such method", &["Allow"]),
    ErrorResponse(408, "RequestTimeout", "The request body did not arrive in time", &[]),
    ErrorResponse(
        409,
        "Conflict",
        "The resource already exists, or has another version than expected",
        &[],
    ),
    ErrorResponse(413, "ContentTooLarge", "Request body or response too large", &[]),
    ErrorResponse(429, "RateLimitExceeded", "Rate limit exceeded", &["Retry-After"]),
    ErrorResponse(429, PLAN_LIMIT, "Plan limit or rate limit exceeded", &["Retry-After"]),
    ErrorResponse(
        500,
        "InternalError",
        "Internal error, for example a record that cannot be decrypted",
        &[],
    ),
    ErrorResponse(
        503,
        "ServiceUnavailable",
        "Service unavailable; try again later",
        &["Retry-After"],
    ),
];

/// Adds the schemas of error response bodies to the components.
pub(super) fn register(schemas: &mut Components) {
    for described in [Described::of::<ErrorBody>(), Described::of::<LimitBody>()] {
        schemas.extend(described.compute().named);
    }
    let Some(mut limit) = schemas.remove("LimitBody") else { return };
    let description = "Error of an operation that would exceed a limit of the team's plan.";
    if let Some(fields) = limit.as_object_mut() {
        fields.remove("description");
    }
    let limit = json!({ "description": description, "allOf": [reference("ErrorBody"), limit] });
    schemas.insert("LimitError".to_owned(), limit);
}

/// Returns the definitions of all error responses, for the section `components` of the document.
pub(super) fn components() -> Value {
    RESPONSES
        .iter()
        .map(|ErrorResponse(_, name, description, headers)| {
            let schema = if *name == PLAN_LIMIT {
                json!({ "anyOf": [reference("LimitError"), reference("Error")] })
            } else {
                reference("Error")
            };
            let response = json!({
                "description": description,
                "headers": headers::headers(headers.iter().copied()),
                "content": { "application/json": { "schema": schema } },
            });
            ((*name).to_owned(), response)
        })
        .collect()
}

/// Returns the error responses of a route, by status.
pub(super) fn of_route(route: &Route) -> impl Iterator<Item = (u16, Value)> {
    let statuses = statuses(route);
    let is_other = if route.doc.exceeds_plan { "RateLimitExceeded" } else { PLAN_LIMIT };
    RESPONSES
        .iter()
        .filter(move |ErrorResponse(status, name, ..)| {
            statuses.contains(status) && *name != is_other
        })
        .map(|ErrorResponse(status, name, ..)| {
            (*status, json!({ "$ref": format!("#/components/responses/{name}") }))
        })
}

fn statuses(route: &Route) -> Vec<u16> {
    let mut statuses = vec![400, 405, 429, 500, 503];
    if route.callers.is_some() {
        statuses.extend([401, 403]);
    }
    if route.template.contains('{') || route.doc.looks_up {
        statuses.push(404);
    }
    if !route.doc.bodies.is_empty() {
        statuses.push(408);
    }
    if !route.doc.bodies.is_empty() || route.has_large_output {
        statuses.push(413);
    }
    if route.doc.conflicts {
        statuses.push(409);
    }
    statuses
}
