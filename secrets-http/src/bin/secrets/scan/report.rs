//! Reports of a scan. No report contains a credential.

use std::collections::BTreeMap;

use clap::ValueEnum;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrets_core::model::scans::Severity;
use serde_json::{Value, json};

use super::{Counts, Finding};
use crate::failure::{Exit, Failure};
use crate::output::{Output, printable};

/// Characters in a path that are percent-encoded in a URI.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One line for each finding.
    Text,
    /// One document with the findings and the numbers of scanned files.
    Json,
    /// SARIF 2.1.0, for code hosting services.
    Sarif,
    /// A table for spreadsheets (RFC 4180).
    Csv,
}

/// Writes the report to standard output.
pub(crate) fn write(
    output: &Output,
    format: ReportFormat,
    findings: &[Finding],
    counts: &Counts,
) -> Result<(), Failure> {
    match format {
        ReportFormat::Text => findings.iter().try_for_each(|finding| output.line(&line(finding))),
        ReportFormat::Json => output.json(&json!({ "findings": findings, "scanned": counts })),
        ReportFormat::Sarif => output.json(&sarif(findings)),
        ReportFormat::Csv => output.raw(&csv(findings)?),
    }
}

fn line(finding: &Finding) -> String {
    let Finding { path, line, column, severity, rule_id, redacted, .. } = finding;
    let secret = finding.secret_key.as_ref().map(|key| format!(" (value of {key})"));
    let commit = finding.commit.as_ref().map(|id| format!(" (commit {})", &id[..12.min(id.len())]));
    printable(&format!(
        "{path}:{line}:{column}: {} {rule_id} {redacted}{}{}",
        severity.as_str(),
        secret.unwrap_or_default(),
        commit.unwrap_or_default(),
    ))
}

fn csv(findings: &[Finding]) -> Result<Vec<u8>, Failure> {
    let failed = |_| Failure::new(Exit::Defect, "cannot write CSV");
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record([
            "path",
            "line",
            "column",
            "severity",
            "rule_id",
            "redacted",
            "commit",
            "fingerprint",
        ])
        .map_err(failed)?;
    for finding in findings {
        writer
            .write_record([
                &finding.path,
                &finding.line.to_string(),
                &finding.column.to_string(),
                finding.severity.as_str(),
                &finding.rule_id,
                &finding.redacted,
                finding.commit.as_deref().unwrap_or_default(),
                &finding.fingerprint,
            ])
            .map_err(failed)?;
    }
    writer.into_inner().map_err(|_| Failure::new(Exit::Defect, "cannot write CSV"))
}

fn sarif(findings: &[Finding]) -> Value {
    let rules: BTreeMap<_, _> =
        findings.iter().map(|finding| (finding.rule_id.as_str(), sarif_rule(finding))).collect();
    let index = |id: &str| rules.keys().position(|rule| *rule == id);
    let results: Vec<_> =
        findings.iter().map(|finding| sarif_result(finding, index(&finding.rule_id))).collect();
    let rules: Vec<_> = rules.values().collect();
    let driver = json!({
        "name": "secrets",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn sarif_rule(finding: &Finding) -> Value {
    json!({
        "id": finding.rule_id,
        "shortDescription": { "text": finding.description },
        "defaultConfiguration": { "level": level(finding.severity) },
    })
}

fn sarif_result(finding: &Finding, rule_index: Option<usize>) -> Value {
    let location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": utf8_percent_encode(&finding.path, PATH).to_string() },
            "region": { "startLine": finding.line, "startColumn": finding.column },
        },
    });
    let text = format!("{}: {}", finding.description, finding.redacted);
    let mut result = json!({
        "ruleId": finding.rule_id,
        "ruleIndex": rule_index,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [location],
        "partialFingerprints": { "secrets/v1": finding.fingerprint },
    });
    if let Some(commit) = &finding.commit {
        result["properties"] = json!({ "commit": commit });
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}
