//! Comparison of the scanned text with the values that the service stores.

use reqwest::Method;
use secrets_core::model::scans::Severity;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Finding, Scanner, Text};
use crate::failure::Failure;
use crate::service::Service;

/// Maximum number of scanned files or other texts in a request.
const MAX_FILES: usize = 1_000;

/// Size of a batch in bytes at which the batch is sent. The service accepts 16 MiB of JSON.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Text in the field `redacted` that marks a finding as the value of a stored secret.
const STORED: &str = "…";

/// Batch of scanned text that is sent to the service, which compares it with the stored values.
pub(crate) struct OwnValues {
    service: Service,
    /// Project whose stored values are compared. `None` for all projects that the caller can
    /// access.
    project: Option<String>,
    files: Vec<SentFile>,
    bytes: usize,
}

#[derive(Serialize)]
struct SentFile {
    path: String,
    content: Zeroizing<String>,
}

#[derive(Serialize)]
struct Request<'a> {
    source: SourceType,
    project_id: Option<&'a str>,
    files: &'a [SentFile],
}

#[derive(Serialize)]
struct SourceType {
    r#type: &'static str,
}

#[derive(Deserialize)]
struct Response {
    findings: Vec<Found>,
    truncated: bool,
}

#[derive(Deserialize)]
struct Found {
    rule_id: String,
    description: String,
    severity: Severity,
    path: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    redacted: Option<String>,
    fingerprint: String,
    matches_secret: Option<MatchedSecret>,
}

#[derive(Deserialize)]
struct MatchedSecret {
    key: String,
}

impl OwnValues {
    /// Creates an empty batch.
    pub(crate) fn new(service: Service, project: Option<String>) -> Self {
        Self { service, project, files: Vec::new(), bytes: 0 }
    }

    /// Returns the address of the service, for messages.
    pub(crate) fn server(&self) -> String {
        self.service.server().to_string()
    }

    /// Adds the lines of a scanned text to the batch, and sends the batch if it is full.
    pub(crate) async fn add(
        &mut self,
        text: &Text,
        scanner: &mut Scanner<'_>,
    ) -> Result<(), Failure> {
        let content = text.added_lines();
        if self.files.len() == MAX_FILES || self.bytes + content.len() > BATCH_BYTES {
            self.send(scanner).await?;
        }
        self.bytes += content.len();
        self.files.push(SentFile { path: text.path.clone(), content });
        Ok(())
    }

    /// Sends the batch to the service, and adds the stored values found in it to the findings of
    /// the scanner.
    pub(crate) async fn send(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Failure> {
        if self.files.is_empty() {
            return Ok(());
        }
        let source = SourceType { r#type: "files" };
        let request = Request { source, project_id: self.project.as_deref(), files: &self.files };
        let response: Response = self.service.call(Method::POST, &["scans"], &request).await?;
        (self.files, self.bytes) = (Vec::new(), 0);
        scanner.is_truncated |= response.truncated;
        let stored = response.findings.into_iter();
        for found in stored.filter(|found| found.redacted.as_deref() == Some(STORED)) {
            scanner.add_stored(found.into());
        }
        Ok(())
    }
}

impl From<Found> for Finding {
    fn from(found: Found) -> Self {
        Self {
            path: found.path.unwrap_or_default(),
            line: found.line.unwrap_or(1),
            column: found.column.unwrap_or(1),
            rule_id: found.rule_id,
            description: found.description,
            severity: found.severity,
            redacted: STORED.to_owned(),
            commit: None,
            fingerprint: found.fingerprint,
            secret_key: found.matches_secret.map(|secret| secret.key),
        }
    }
}
