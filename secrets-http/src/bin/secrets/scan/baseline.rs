//! Baseline: a file with accepted findings, which scans do not report again.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use secrets_core::scanner::{RuleFile, Rules};
use secrets_http::atomic_file::{Access, AtomicFile};
use serde::{Deserialize, Serialize};

use super::Finding;
use crate::failure::{Exit, Failure};

/// Maximum number of bytes of a baseline or a rule file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Version of the format of baseline files.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Baseline {
    version: u32,
    findings: Vec<Accepted>,
}

/// Entry of a baseline: an accepted finding. Only the fingerprint is used; the other fields are for
/// people who read the file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Accepted {
    path: String,
    rule_id: String,
    redacted: String,
    fingerprint: String,
}

/// Reads the fingerprints of the accepted findings from a baseline file.
pub(crate) fn read(path: &Path) -> Result<BTreeSet<String>, Failure> {
    let text = text(path).map_err(|mut failure| {
        failure.message.push_str("; `secrets scan --update-baseline` creates it");
        failure
    })?;
    let baseline: Baseline = serde_json::from_str(&text)
        .map_err(|error| invalid(path, &format!("must be a baseline: {error}")))?;
    if baseline.version != VERSION {
        return Err(invalid(path, "must be a baseline of version 1"));
    }
    Ok(baseline.findings.into_iter().map(|finding| finding.fingerprint).collect())
}

/// Writes a baseline with these findings, and replaces an earlier baseline.
pub(crate) fn write(path: &Path, findings: &[Finding]) -> Result<(), Failure> {
    let findings: BTreeSet<_> = findings.iter().map(Accepted::from).collect();
    let baseline = Baseline { version: VERSION, findings: findings.into_iter().collect() };
    let mut text = serde_json::to_vec_pretty(&baseline)
        .map_err(|error| Failure::new(Exit::Defect, format!("cannot write JSON: {error}")))?;
    text.push(b'\n');
    AtomicFile::create(path, Access::Shared)
        .and_then(|file| file.replace(&text))
        .map_err(|error| Failure::new(Exit::CannotCreate, format!("{}: {error}", path.display())))
}

/// Reads a rule file in the format of gitleaks, and adds its rules to the built-in rules.
pub(crate) fn rules(path: &Path) -> Result<Rules, Failure> {
    let file: RuleFile = toml::from_str(&text(path)?)
        .map_err(|error| invalid(path, error.to_string().trim_end()))?;
    Rules::with(file).map_err(|error| invalid(path, &error.to_string()))
}

impl From<&Finding> for Accepted {
    fn from(finding: &Finding) -> Self {
        Self {
            path: finding.path.clone(),
            rule_id: finding.rule_id.clone(),
            redacted: finding.redacted.clone(),
            fingerprint: finding.fingerprint.clone(),
        }
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let size = fs::metadata(path).map(|metadata| metadata.len());
    if size.is_ok_and(|size| size > MAX_BYTES) {
        return Err(invalid(path, &format!("must have at most {MAX_BYTES} bytes")));
    }
    fs::read_to_string(path).map_err(|error| {
        let exit = if error.kind() == ErrorKind::InvalidData { Exit::Data } else { Exit::NoInput };
        Failure::new(exit, format!("{}: {error}", path.display()))
    })
}

fn invalid(path: &Path, rule: &str) -> Failure {
    Failure::new(Exit::Data, format!("{}: {rule}", path.display()))
}
