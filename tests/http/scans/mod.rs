//! Tests of the endpoints below `/api/v1/scans`.

mod large;
mod rules;
mod scan;
mod stored;
mod triage;

use serde_json::{Value, json};

pub(super) const SCANS: &str = "/api/v1/scans";

/// Returns the request body that scans `text`, for the project with this URL path.
pub(super) fn of_project(project: &str, text: &str) -> Value {
    json!({
        "project_id": secrets_tests::paths::last(project),
        "source": { "type": "text" },
        "content": text,
    })
}
