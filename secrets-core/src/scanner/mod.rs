//! Scan engine: finds credentials in text. The code needs no Cargo feature, async runtime or clock,
//! so that the service, Python and WebAssembly give the same results.
//!
//! A rule runs only where one of its keywords occurs (found in one pass of an Aho-Corasick
//! automaton over the text), in a window around the keyword; the rule's regular expression then
//! searches the window. Both steps are linear in the length of the text, whatever it contains. A
//! match must also look like a credential: enough entropy, no placeholder, and a valid checksum if
//! the format has one. Where matches overlap, the match of the most specific rule is kept.
//!
//! Lines that contain `secrets:allow` or `gitleaks:allow` are skipped.
//!
//! ```
//! use secrets_core::scanner::{Rules, scan};
//!
//! let token = format!("gh{}_{}", "p", "a1B2c3D4e5".repeat(4).split_at(36).0);
//! let found = scan(&format!("token = \"{token}\""), "ci.toml", Rules::built_in());
//!
//! assert_eq!(found[0].rule.id(), "github-personal-access-token");
//! assert_eq!((found[0].line, found[0].column), (1, 10));
//! ```

mod built_in;
mod heuristics;
mod place;
mod redact;
mod rule;
mod rule_file;
mod rules;

pub use heuristics::entropy;
pub use redact::redacted;
pub use rule::{Rule, RuleError};
pub use rule_file::RuleFile;
pub use rules::Rules;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use crate::model::scans::Severity;

pub(super) use self::place::{Place, Places};

/// A credential that was found in a text.
#[derive(Debug, Clone)]
pub struct Match<'r> {
    /// Detection rule that found the credential.
    pub rule: &'r Rule,
    /// Byte range of the credential in the text; empty for a rule that checks only the path.
    pub span: Range<usize>,
    /// Line number of the credential, starting at 1.
    pub line: u32,
    /// Column number of the credential in characters, starting at 1.
    pub column: u32,
}

/// Description of a credential that was found, without the credential itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sighting {
    /// ID of the detection rule that found the credential.
    pub rule_id: String,
    /// Description of the detection rule.
    pub description: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// Line number of the credential, starting at 1.
    pub line: u32,
    /// Column number of the credential in characters, starting at 1.
    pub column: u32,
    /// First and last characters of the credential; the middle is left out.
    pub redacted: String,
    /// Entropy of the credential in bits per character, rounded to two decimal places.
    pub entropy: f64,
}

/// A match of one rule, before matches that overlap are removed.
struct Candidate<'r> {
    rank: usize,
    rule: &'r Rule,
    span: Range<usize>,
}

/// Finds the credentials in a text, in the order of the text. `path` is the path of the scanned
/// file, for rules that apply only to some files; it may be empty.
#[must_use]
pub fn scan<'r>(text: &str, path: &str, rules: &'r Rules) -> Vec<Match<'r>> {
    let mut candidates = Vec::new();
    for (rank, (rule, windows)) in rules.windows(text).into_iter().enumerate() {
        for window in windows {
            let spans = rule.search(text, window, path, rules.allowed());
            candidates.extend(spans.into_iter().map(|span| Candidate { rank, rule, span }));
        }
    }
    located(text, without_overlaps(candidates))
}

impl Match<'_> {
    /// Builds a description of the match without the credential itself. `text` is the scanned text.
    #[must_use]
    pub fn sighting(&self, text: &str) -> Sighting {
        let secret = text.get(self.span.clone()).unwrap_or_default();
        Sighting {
            rule_id: self.rule.id().to_owned(),
            description: self.rule.description().to_owned(),
            severity: self.rule.severity(),
            line: self.line,
            column: self.column,
            redacted: redacted(secret),
            entropy: (entropy(secret) * 100.0).round() / 100.0,
        }
    }
}

/// Removes overlapping candidates: of several candidates that overlap, keeps the one of the most
/// specific rule. Returns the candidates in the order of the text.
fn without_overlaps(mut candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    candidates.sort_by_key(|candidate| (candidate.rank, candidate.span.start));
    let mut kept: BTreeMap<usize, Candidate<'_>> = BTreeMap::new();
    for candidate in candidates {
        let before = kept.range(..candidate.span.end.max(candidate.span.start + 1)).next_back();
        let overlaps = before.is_some_and(|(start, other)| {
            other.span.end > candidate.span.start || *start == candidate.span.start
        });
        if !overlaps {
            kept.insert(candidate.span.start, candidate);
        }
    }
    kept.into_values().collect()
}

fn located<'r>(text: &str, candidates: Vec<Candidate<'r>>) -> Vec<Match<'r>> {
    let mut places = Places::new(text);
    let matches = candidates.into_iter().filter_map(|Candidate { rule, span, .. }| {
        let place = places.at(span.start)?;
        Some(Match { rule, span, line: place.line, column: place.column })
    });
    matches.collect()
}

#[cfg(test)]
mod tests;
