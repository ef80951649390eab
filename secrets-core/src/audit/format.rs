//! Output formats of an audit log page.

use serde_json::Value;

use super::{AuditEntry, AuditPage};

/// Output format of an audit log page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuditFormat {
    /// A single JSON document with all entries of the page.
    #[default]
    Json,
    /// Newline-delimited JSON: each line holds a JSON object.
    Ndjson,
    /// CSV (RFC 4180) with a header line.
    Csv,
}

const COLUMNS: [&str; 22] = [
    "id",
    "team_id",
    "project_id",
    "project_name",
    "environment_id",
    "environment_name",
    "actor_type",
    "actor_id",
    "actor_name",
    "actor_email",
    "action",
    "resource_type",
    "resource_id",
    "resource_name",
    "outcome",
    "metadata",
    "ip_address",
    "user_agent",
    "request_id",
    "created_at",
    "hash",
    "prev_hash",
];

impl AuditPage {
    /// Formats the audit entries as one JSON object per line.
    #[must_use]
    pub fn ndjson(&self) -> String {
        let lines = self.logs.iter().filter_map(|entry| serde_json::to_string(entry).ok());
        lines.flat_map(|line| [line, "\n".to_owned()]).collect()
    }

    /// Formats the audit entries as CSV. A cell that a spreadsheet would evaluate as a formula is
    /// prefixed with `'`, because names and user agents are chosen by others.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut table = csv::Writer::from_writer(Vec::new());
        let written = table
            .write_record(COLUMNS)
            .and_then(|()| self.logs.iter().try_for_each(|entry| table.write_record(cells(entry))));
        let bytes = written.ok().and_then(|()| table.into_inner().ok()).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

fn cells(entry: &AuditEntry) -> [String; COLUMNS.len()] {
    let entry = serde_json::to_value(entry).unwrap_or_default();
    COLUMNS.map(|column| match &entry[column] {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("'{text}")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}
