//! The engine: finds credentials in text. Pure, without features, a runtime or a clock, so that the
//! service, Python and WebAssembly scan alike.
//!
//! A rule is looked at only where one of its keywords stands (one pass of an automaton over the
//! text), in a window around it; what a window holds is searched by the rule's expression. Both are
//! linear in the text, whatever the text is. A match must then look like a credential: enough
//! entropy, no placeholder, a checksum that fits where the format has one. Where matches overlap,
//! the most specific rule keeps its own.
//!
//! A line that holds `secrets:allow` or `gitleaks:allow` is left alone.
//!
//! ```
//! use crate::scanner::{Rules, scan};
//!
//! let token = format!("gh{}_{}", "p", "a1B2c3D4e5".repeat(4).split_at(36).0);
//! let found = scan(&format!("token = \"{token}\""), "ci.toml", Rules::built_in());
//!
//! assert_eq!(found[0].rule.id(), "github-personal-access-token");
//! assert_eq!((found[0].line, found[0].column), (1, 10));
//! ```

mod built_in;
mod look;
mod place;
mod redact;
mod rule;
mod rule_file;
mod rules;

pub use look::entropy;
pub use redact::redacted;
pub use rule::{Rule, RuleError, Severity};
pub use rule_file::RuleFile;
pub use rules::Rules;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

pub(super) use self::place::{Place, Places};

/// A credential that was found in a text.
#[derive(Debug, Clone)]
pub struct Match<'r> {
    /// The rule that knows it.
    pub rule: &'r Rule,
    /// Where it is, in bytes; empty for a rule about the path alone.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1, in characters.
    pub column: u32,
}

/// What is told of a credential that was found: all but the credential.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sighting {
    /// The rule that found it.
    pub rule_id: String,
    /// What the rule finds.
    pub description: String,
    /// How bad it is.
    pub severity: Severity,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1, in characters.
    pub column: u32,
    /// Its first and last characters.
    pub redacted: String,
    /// Its entropy, in bits for each character, to two places.
    pub entropy: f64,
}

/// What a rule found, before it is known whether another rule knows it better.
struct Candidate<'r> {
    rank: usize,
    rule: &'r Rule,
    span: Range<usize>,
}

/// Finds the credentials in a text, in their order. `path` is where the text is from, for rules
/// that are about some files only; it may be empty.
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
    /// What may be told of it. `text` is what was scanned.
    #[must_use]
    pub fn told(&self, text: &str) -> Sighting {
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

/// Of candidates that overlap the one whose rule comes first, in the order of the text.
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
