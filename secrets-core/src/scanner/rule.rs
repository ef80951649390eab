//! Rules: what a kind of credential looks like.

use std::fmt;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::look::{entropy, is_stand_in};

/// What a kind of credential looks like.
pub struct Rule {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) severity: Severity,
    /// One of these stands near it, in any case of letters; none: it may be anywhere.
    pub(super) keywords: Vec<String>,
    /// What it looks like; none for a rule about the path alone.
    pub(super) expression: Option<Regex>,
    /// Which files it is in.
    pub(super) path: Option<Regex>,
    /// The group of the expression that is the credential; 0: the first that is not empty, else
    /// the whole.
    pub(super) group: usize,
    /// The least entropy it has.
    pub(super) entropy: f64,
    /// Where it is looked for.
    pub(super) reach: Reach,
    /// Whether what stands for a credential is left out.
    pub(super) skips_stand_ins: bool,
    /// What else must be true of it, given the credential and all that the expression matched.
    pub(super) check: Option<Check>,
    /// What is not meant.
    pub(super) allowed: Vec<Allowlist>,
}

pub(super) type Check = fn(&str, &str) -> bool;

/// How far from its keyword a credential may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// On the same line.
    Line,
    /// On the same line or within so many bytes after it.
    Below(usize),
    /// Anywhere.
    Text,
}

/// Matches that are not meant.
#[derive(Debug, Default)]
pub(super) struct Allowlist {
    pub(super) regexes: Vec<Regex>,
    pub(super) stopwords: Vec<String>,
    pub(super) paths: Vec<Regex>,
    /// What the expressions are tried on.
    pub(super) target: Target,
    /// Whether each kind that is given must fit, or any.
    pub(super) needs_all: bool,
}

/// A match, as an allowlist looks at it.
pub(super) struct Seen<'t> {
    text: &'t str,
    path: &'t str,
    span: Range<usize>,
    secret: &'t str,
    whole: &'t str,
}

/// What the expressions of an allowlist are tried on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Target {
    /// The credential.
    #[default]
    Secret,
    /// All that the rule's expression matched.
    Match,
    /// The line.
    Line,
}

/// Why a rule cannot be used: its id and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// Which rule, by its id, or by its place if it has none.
    pub rule: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.reason)
    }
}

impl std::error::Error for RuleError {}

/// The most memory a compiled expression may take, and the most its search may keep.
const SIZE: usize = 4 * 1024 * 1024;

/// Compiles an expression, within bounds.
pub(super) fn expression(text: &str) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(text).size_limit(SIZE).dfa_size_limit(SIZE).build();
    compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the expression is too large".to_owned(),
        // The last line says what is wrong; those before repeat the expression.
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
    /// Its name, such as `github-personal-access-token`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it finds, for people.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The credentials in a window of a text, as spans of the text. What `everywhere` holds is left
    /// out as well.
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
        let allows = |seen: &Seen<'_>| {
            self.allowed.iter().chain(everywhere).any(|allowlist| allowlist.holds(seen))
        };
        let Some(expression) = &self.expression else {
            let seen = Seen { text, path, span: 0..0, secret: "", whole: "" };
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
            let seen = Seen { text, path, span, secret, whole };
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
    fn holds(&self, seen: &Seen<'_>) -> bool {
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

/// The line a span begins on, as far as 1,024 bytes around it.
fn line<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    let from = text.floor_char_boundary(span.start.saturating_sub(1_024));
    let to = text.ceil_char_boundary((span.end + 1_024).min(text.len()));
    let start = text[from..span.start].rfind('\n').map_or(from, |at| from + at + 1);
    let end = text[span.end..to].find('\n').map_or(to, |at| span.end + at);
    &text[start..end]
}
