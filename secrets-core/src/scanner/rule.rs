//! Detection rules: how credentials are recognized.

use std::fmt;
use std::ops::Range;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::heuristics::{entropy, is_stand_in};
use crate::model::scans::Severity;

/// Detection rule for one kind of credential.
pub struct Rule {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) severity: Severity,
    /// Keywords of the rule, in upper or lower case: at least one must be near the credential. If
    /// the list is empty, the whole text is searched.
    pub(super) keywords: Vec<String>,
    /// Regular expression that finds the credential; `None` for a rule that checks only the path.
    pub(super) expression: Option<Regex>,
    /// Regular expression of the file paths that the rule applies to; `None` if the rule applies to
    /// all paths.
    pub(super) path: Option<Regex>,
    /// Number of the capture group that contains the credential. 0 means the first group that is
    /// not empty or, if all are empty, the whole match.
    pub(super) group: usize,
    /// Minimum entropy of the credential, in bits per character.
    pub(super) entropy: f64,
    /// Part of the text, around a keyword, in which the rule searches for the credential.
    pub(super) reach: Reach,
    /// True if the rule skips placeholders such as `changeme`.
    pub(super) skips_stand_ins: bool,
    /// Function that additionally checks a match, called with the credential and the whole match;
    /// `None` if there is no such check.
    pub(super) check: Option<Check>,
    /// Allowlists of the rule: descriptions of the matches that the rule ignores.
    pub(super) allowed: Vec<Allowlist>,
}

pub(super) type Check = fn(&str, &str) -> bool;

/// Part of the text around a keyword in which a rule searches for a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Line that contains the keyword.
    Line,
    /// Line that contains the keyword, and up to this many bytes after the line.
    Below(usize),
    /// Whole text.
    Text,
}

/// Description of the matches that a rule ignores.
#[derive(Debug, Default)]
pub(super) struct Allowlist {
    pub(super) regexes: Vec<Regex>,
    pub(super) stopwords: Vec<String>,
    pub(super) paths: Vec<Regex>,
    /// Text to which the regular expressions of the allowlist are applied.
    pub(super) target: Target,
    /// True if the allowlist applies only to matches that satisfy all of its kinds of conditions
    /// (`AND`); false if one kind is enough (`OR`).
    pub(super) needs_all: bool,
}

/// A match that is compared with an allowlist.
pub(super) struct AllowlistInput<'t> {
    text: &'t str,
    path: &'t str,
    span: Range<usize>,
    secret: &'t str,
    whole: &'t str,
}

/// Text to which the regular expressions of an allowlist are applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Target {
    /// Credential that was found.
    #[default]
    Secret,
    /// Whole match of the rule's regular expression.
    Match,
    /// Line that contains the match.
    Line,
}

/// Error in a rule file: the ID of the invalid rule and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// ID of the rule, `number N` if the rule has no ID, or `file` or `allowlist` if the error is
    /// not about a single rule.
    pub rule: String,
    /// Reason why the rule is invalid.
    pub reason: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.reason)
    }
}

impl std::error::Error for RuleError {}

/// Maximum memory in bytes of a compiled regular expression, and also of its search cache.
const MAX_REGEX_SIZE: usize = 4 * 1024 * 1024;

/// Compiles a regular expression, with a limit on its memory.
pub(super) fn expression(text: &str) -> Result<Regex, String> {
    let compiled =
        RegexBuilder::new(text).size_limit(MAX_REGEX_SIZE).dfa_size_limit(MAX_REGEX_SIZE).build();
    compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the expression is too large".to_owned(),
        // The last line is the reason; the lines before repeat the expression.
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("the expression is not valid: {reason}")
        }
    })
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({})", self.id)
    }
}

impl Rule {
    /// Returns the rule ID, such as `github-personal-access-token`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the human-readable description of the rule.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the severity of the credentials that the rule finds.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Finds the credentials in a window (byte range) of a text. Returns their byte ranges in the
    /// text. Skips matches that the rule's own allowlists or the allowlists in `everywhere` ignore.
    pub(super) fn search(
        &self,
        text: &str,
        window: Range<usize>,
        path: &str,
        everywhere: &[Allowlist],
    ) -> Vec<Range<usize>> {
        if self.path.as_ref().is_some_and(|expression| !expression.is_match(path)) {
            return Vec::new();
        }
        let allows = |seen: &AllowlistInput<'_>| {
            self.allowed.iter().chain(everywhere).any(|allowlist| allowlist.holds(seen))
        };
        let Some(expression) = &self.expression else {
            let seen = AllowlistInput { text, path, span: 0..0, secret: "", whole: "" };
            return if allows(&seen) { Vec::new() } else { vec![seen.span] };
        };
        let start = window.start;
        let Some(window) = text.get(window) else { return Vec::new() };
        let found = expression.captures_iter(window).filter_map(|captures| {
            let whole = captures.get(0)?;
            let secret = match self.group {
                0 => captures.iter().skip(1).flatten().find(|group| !group.is_empty()),
                group => captures.get(group),
            };
            let secret = secret.unwrap_or(whole);
            let span = start + secret.start()..start + secret.end();
            let (secret, whole) = (secret.as_str(), whole.as_str());
            let seen = AllowlistInput { text, path, span, secret, whole };
            (self.looks_right(secret, whole) && !allows(&seen)).then_some(seen.span)
        });
        found.collect()
    }

    fn looks_right(&self, secret: &str, whole: &str) -> bool {
        !secret.is_empty()
            && (self.entropy <= 0.0 || entropy(secret) >= self.entropy)
            && !(self.skips_stand_ins && is_stand_in(secret))
            && self.check.is_none_or(|check| check(secret, whole))
    }
}

impl Allowlist {
    fn holds(&self, seen: &AllowlistInput<'_>) -> bool {
        let subject = match self.target {
            Target::Secret => seen.secret,
            Target::Match => seen.whole,
            Target::Line => line(seen.text, &seen.span),
        };
        let lower = seen.secret.to_lowercase();
        let kinds = [
            (self.regexes.is_empty(), self.regexes.iter().any(|known| known.is_match(subject))),
            (self.stopwords.is_empty(), self.stopwords.iter().any(|word| lower.contains(word))),
            (self.paths.is_empty(), self.paths.iter().any(|known| known.is_match(seen.path))),
        ];
        let any = kinds.iter().any(|(is_absent, fits)| !is_absent && *fits);
        any && (!self.needs_all || kinds.iter().all(|(is_absent, fits)| *is_absent || *fits))
    }
}

/// Returns the lines that contain a byte range, limited to 1,024 bytes before and after the range.
fn line<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    let from = text.floor_char_boundary(span.start.saturating_sub(1_024));
    let to = text.ceil_char_boundary((span.end + 1_024).min(text.len()));
    let start = text[from..span.start].rfind('\n').map_or(from, |at| from + at + 1);
    let end = text[span.end..to].find('\n').map_or(to, |at| span.end + at);
    &text[start..end]
}
