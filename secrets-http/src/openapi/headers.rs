//! Response headers in the OpenAPI document.

use serde_json::{Value, json};

/// Headers that every response has. The rate-limit headers are absent if there is no rate limit.
const EVERYWHERE: [&str; 4] =
    ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// Returns references to the definitions of response headers: the headers of every response, and
/// those in `others`.
pub(super) fn headers<'a>(others: impl IntoIterator<Item = &'a str>) -> Value {
    let names = EVERYWHERE.into_iter().chain(others);
    names
        .map(|name| {
            let header = json!({ "$ref": format!("#/components/headers/{name}") });
            (name.to_owned(), header)
        })
        .collect()
}

/// Returns the definitions of all response headers, for the section `components` of the document.
pub(super) fn components() -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer", "minimum": 0 });
    json!({
        "X-Request-Id": {
            "description": "ID of the request, as in the service's log.", "schema": text,
        },
        "X-RateLimit-Limit": {
            "description": "Maximum number of requests per minute. Absent if the limit is off.",
            "schema": number,
        },
        "X-RateLimit-Remaining": {
            "description": "Number of requests left in this minute. Absent if the limit is off.",
            "schema": number,
        },
        "X-RateLimit-Reset": {
            "description": "Unix time at which the limit resets. Absent if the limit is off.",
            "schema": number,
        },
        "Retry-After": {
            "description": "Seconds to wait before the next try. Absent if a plan limit is \
                            exceeded: waiting does not help then.",
            "schema": { "type": "integer", "minimum": 1 },
        },
        "WWW-Authenticate": {
            "description": "Authentication scheme: always `Bearer`.", "schema": text,
        },
        "Allow": { "description": "Methods of this path.", "schema": text },
        "ETag": {
            "description": "Version of the response. Sent back in `If-None-Match`, it saves the \
                            response if nothing has changed.",
            "schema": text,
        },
        "X-Next-Cursor": {
            "description": "Cursor of the next page, for NDJSON and CSV. Absent on the last page.",
            "schema": text,
        },
        "Content-Disposition": {
            "description": "File name for a browser that saves the response.", "schema": text,
        },
    })
}
