//! Search for credentials in files and in the Git history, on this machine.
//!
//! A [`Source`] yields the content of files one after another, the [`Scanner`] searches each of
//! them with the engine of `secrets-core`, and [`report`] prints the findings. Credentials are not
//! kept: a [`Finding`] contains only the first and last characters.

pub(crate) mod baseline;
pub(crate) mod files;
pub(crate) mod git;
pub(crate) mod hook;
pub(crate) mod own_values;
pub(crate) mod report;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use secrets_core::model::scans::Severity;
use secrets_core::scanner::{self, Match, Rules, Sighting};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Maximum number of findings in a report. If the scan has found more, the report states that
/// findings are missing.
const MAX_FINDINGS: usize = 10_000;

/// Number of bytes at the start of a file that are searched for NUL. As in Git, a file with a NUL
/// there is binary and is not scanned.
const BINARY_PROBE: usize = 8_000;

/// Source of a scan: yields files, or other texts to scan, one after another.
pub(crate) type Source = Box<dyn Iterator<Item = Result<Piece, Failure>>>;

/// Item that a source of the scan yields: a text, a skipped file, or the start of a commit.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Text to scan.
    Text(Text),
    /// File that is not scanned, with the reason.
    Skipped(Skip),
    /// Start of the next commit, to show progress.
    Commit,
}

/// Reason for not scanning a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    /// The file is binary.
    Binary,
    /// The file is larger than the size limit.
    TooLarge,
    /// The file cannot be read.
    Unreadable,
}

/// Text to scan, such as the content of a file, with its path and commit.
pub(crate) struct Text {
    /// Path of the file, relative to the root of the scan.
    pub(crate) path: String,
    /// Oldest commit that contains this text; `None` outside a scan of the history.
    pub(crate) commit: Option<String>,
    /// Ranges of the numbers of added lines, starting at 1. `None` if all lines are scanned.
    pub(crate) added: Option<Vec<RangeInclusive<u32>>>,
    /// Content of the file or other text.
    pub(crate) content: Zeroizing<String>,
}

/// Finding: a description of a found credential, without the credential.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// Path of the file.
    pub(crate) path: String,
    /// Line number, starting at 1.
    pub(crate) line: u32,
    /// Column number in characters, starting at 1.
    pub(crate) column: u32,
    /// ID of the rule that matched.
    pub(crate) rule_id: String,
    /// Description of the rule.
    pub(crate) description: String,
    /// Severity of the finding.
    pub(crate) severity: Severity,
    /// First and last characters of the credential. For a value that the service stores, only an
    /// ellipsis.
    pub(crate) redacted: String,
    /// Oldest commit that contains the credential; `None` outside a scan of the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// Fingerprint that identifies the finding in a baseline. It does not depend on the position in
    /// the file.
    pub(crate) fingerprint: String,
    /// Key of the stored secret with this value. `None` for other findings, or if the caller may
    /// not read that secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret_key: Option<String>,
}

/// Numbers of scanned and skipped files (or other texts), and of accepted findings.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Counts {
    /// Number of scanned files or other texts.
    pub(crate) texts: u64,
    /// Number of scanned bytes.
    pub(crate) bytes: u64,
    /// Number of files that were skipped because they are binary.
    pub(crate) binary: u64,
    /// Number of files that were skipped because they are larger than the size limit.
    pub(crate) too_large: u64,
    /// Number of files that could not be read.
    pub(crate) unreadable: u64,
    /// Number of findings that the baseline accepts.
    pub(crate) accepted: u64,
}

/// State of a scan, with its results.
pub(crate) struct Scanner<'r> {
    rules: &'r Rules,
    /// Fingerprints of accepted findings, which are not reported.
    accepted: BTreeSet<String>,
    /// True for a scan of the Git history, in which a credential is reported only for the oldest
    /// commit that contains it.
    is_history: bool,
    seen: BTreeSet<String>,
    /// Findings, in the order in which they were found.
    pub(crate) findings: Vec<Finding>,
    /// Numbers of scanned and skipped files (or other texts), and of accepted findings.
    pub(crate) counts: Counts,
    /// True if there are more findings than a report can contain.
    pub(crate) is_truncated: bool,
}

impl Piece {
    /// Creates the item for a file: text to scan, or a skipped file if the content is binary.
    pub(crate) fn of(path: String, commit: Option<String>, bytes: &[u8]) -> Self {
        if bytes.iter().take(BINARY_PROBE).any(|byte| *byte == 0) {
            return Self::Skipped(Skip::Binary);
        }
        let content = Zeroizing::new(String::from_utf8_lossy(bytes).into_owned());
        Self::Text(Text { path, commit, added: None, content })
    }
}

impl Text {
    /// True if at least one line in the range `lines` was added.
    fn has_added(&self, lines: &RangeInclusive<u32>) -> bool {
        self.added.as_ref().is_none_or(|added| {
            added.iter().any(|range| range.start() <= lines.end() && lines.start() <= range.end())
        })
    }

    /// Returns the text with all lines that were not added replaced by empty lines, so that line
    /// numbers stay the same.
    fn added_lines(&self) -> Zeroizing<String> {
        let lines = (1..)
            .zip(self.content.split_inclusive('\n'))
            .map(|(number, line)| if self.has_added(&(number..=number)) { line } else { "\n" });
        Zeroizing::new(lines.collect())
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Finding {
    fn new(text: &Text, sighting: Sighting) -> Self {
        Self {
            fingerprint: fingerprint(&text.path, &sighting),
            path: text.path.clone(),
            line: sighting.line,
            column: sighting.column,
            rule_id: sighting.rule_id,
            description: sighting.description,
            severity: sighting.severity,
            redacted: sighting.redacted,
            commit: text.commit.clone(),
            secret_key: None,
        }
    }

    /// True if both findings have the same path and position.
    fn is_at(&self, other: &Self) -> bool {
        (self.line, self.column, &self.path) == (other.line, other.column, &other.path)
    }
}

impl<'r> Scanner<'r> {
    /// Creates a scanner. Findings with an accepted fingerprint are not reported.
    pub(crate) fn new(rules: &'r Rules, accepted: BTreeSet<String>, is_history: bool) -> Self {
        Self {
            rules,
            accepted,
            is_history,
            seen: BTreeSet::new(),
            findings: Vec::new(),
            counts: Counts::default(),
            is_truncated: false,
        }
    }

    /// Increments the number of files that were skipped for this reason.
    pub(crate) fn skip(&mut self, reason: Skip) {
        match reason {
            Skip::Binary => self.counts.binary += 1,
            Skip::TooLarge => self.counts.too_large += 1,
            Skip::Unreadable => self.counts.unreadable += 1,
        }
    }

    /// Scans a text, and adds a finding for each credential that it contains.
    pub(crate) fn scan(&mut self, text: &Text) {
        self.counts.texts += 1;
        self.counts.bytes += text.content.len() as u64;
        for found in scanner::scan(&text.content, &text.path, self.rules) {
            if text.has_added(&lines(&found, &text.content)) {
                self.add(Finding::new(text, found.sighting(&text.content)));
            }
        }
    }

    /// Adds a finding, unless the finding is accepted or its credential was already found in an
    /// older commit.
    fn add(&mut self, finding: Finding) {
        if self.accepted.contains(&finding.fingerprint) {
            self.counts.accepted += 1;
        } else if self.is_history && self.seen.contains(&finding.fingerprint) {
            // The oldest commit with this credential is reported already.
        } else if self.findings.len() == MAX_FINDINGS {
            self.is_truncated = true;
        } else {
            self.seen.insert(finding.fingerprint.clone());
            self.findings.push(finding);
        }
    }

    /// Adds a finding for a stored value, which the service has reported. It replaces a finding of
    /// a rule at the same position.
    fn add_stored(&mut self, finding: Finding) {
        self.findings.retain(|other| !other.is_at(&finding));
        self.add(finding);
    }
}

/// Returns the numbers of the first and last line of a match.
fn lines(found: &Match<'_>, text: &str) -> RangeInclusive<u32> {
    let newlines = text.get(found.span.clone()).unwrap_or_default().matches('\n').count();
    found.line..=found.line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX))
}

/// Returns the fingerprint of a finding. It is computed only from the path, the rule, the redacted
/// form and the entropy of the credential, so that a baseline reveals no more than these.
fn fingerprint(path: &str, sighting: &Sighting) -> String {
    let entropy = format!("{:.2}", sighting.entropy);
    let parts = [path, &sighting.rule_id, &sighting.redacted, &entropy];
    let hash = Sha256::digest(parts.join("\0"));
    let (half, _) = hash.split_first_chunk().unwrap_or((&[0; 16], &[]));
    format!("{:032x}", u128::from_be_bytes(*half))
}
