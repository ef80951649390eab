//! Sets of detection rules.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::built_in;
use super::rule::{Allowlist, Reach, Rule, RuleError};
use super::rule_file::RuleFile;

/// Detection rules that are used together, with one automaton that finds the keywords of all rules.
pub struct Rules {
    /// All rules, most specific first. If matches overlap, the match of the rule that comes first
    /// is kept.
    all: Vec<Rule>,
    /// Allowlists that apply to the matches of all rules.
    allowed: Vec<Allowlist>,
    keywords: AhoCorasick,
    /// Indices in `all` of the rules with each keyword.
    by_keyword: Vec<Vec<usize>>,
}

/// Maximum number of bytes of a line that are searched before a keyword.
const WINDOW_BEFORE: usize = 1_024;

/// Maximum number of bytes of a line that are searched after a keyword.
const WINDOW_AFTER: usize = 4_096;

static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| {
    // The automaton of the built-in keywords can always be built. If it could not, no rule would
    // match and the tests would fail.
    Rules::new(built_in::rules(), Vec::new()).unwrap_or_else(|_| Rules::none())
});

impl Rules {
    /// Returns the built-in detection rules.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Combines the rules of an operator's file with the built-in rules, if the file extends them.
    /// A rule in the file replaces the built-in rule with the same ID; built-in rules that the file
    /// disables are left out.
    pub fn with(file: RuleFile) -> Result<Self, RuleError> {
        let own = file.compile()?;
        let is_kept = |rule: &Rule| {
            own.keeps_built_in
                && !own.disabled.contains(&rule.id)
                && !own.rules.iter().any(|other| other.id == rule.id)
        };
        let kept = built_in::rules().into_iter().filter(is_kept).collect::<Vec<_>>();
        Self::new(own.rules.into_iter().chain(kept).collect(), own.allowed)
    }

    fn new(rules: Vec<Rule>, allowed: Vec<Allowlist>) -> Result<Self, RuleError> {
        let mut by_keyword: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, rule) in rules.iter().enumerate() {
            for keyword in &rule.keywords {
                by_keyword.entry(keyword.to_ascii_lowercase()).or_default().push(index);
            }
        }
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(by_keyword.keys())
            .map_err(|_| RuleError {
                rule: "file".to_owned(),
                reason: "all keywords together are too large".to_owned(),
            })?;
        let by_keyword = by_keyword.into_values().collect();
        Ok(Self { all: rules, allowed, keywords, by_keyword })
    }

    fn none() -> Self {
        let nothing: [&str; 0] = [];
        #[expect(clippy::expect_used, reason = "an empty automaton is never too large")]
        let keywords = AhoCorasick::new(nothing).expect("an empty automaton");
        Self { all: Vec::new(), allowed: Vec::new(), keywords, by_keyword: Vec::new() }
    }

    /// Iterates over the detection rules, most specific first.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.all.iter()
    }

    pub(super) fn allowed(&self) -> &[Allowlist] {
        &self.allowed
    }

    /// Returns each rule with the parts of the text (windows) in which it may match: no window if
    /// the text contains none of its keywords, and the whole text if the rule has no keywords. The
    /// windows are in order and do not overlap.
    pub(super) fn windows(&self, text: &str) -> Vec<(&Rule, Vec<Range<usize>>)> {
        let everywhere = |rule: &Rule| rule.keywords.is_empty().then_some(0..text.len());
        let mut windows: Vec<(&Rule, Vec<Range<usize>>)> =
            self.all.iter().map(|rule| (rule, everywhere(rule).into_iter().collect())).collect();
        let mut line = 0..0;
        for hit in self.keywords.find_overlapping_iter(text) {
            let is_cut = !text[line.end..].starts_with('\n') && line.end < text.len();
            let is_near = is_cut && hit.end() + WINDOW_AFTER / 2 > line.end;
            if is_near || hit.start() < line.start || hit.end() > line.end || line.is_empty() {
                line = line_around(text, hit.start()..hit.end());
            }
            for index in &self.by_keyword[hit.pattern().as_usize()] {
                let Some((rule, windows)) = windows.get_mut(*index) else { continue };
                let window = match rule.reach {
                    Reach::Line => line.clone(),
                    Reach::Below(bytes) => {
                        let end = (hit.end() + bytes).min(text.len());
                        line.start..text.floor_char_boundary(end).max(line.end)
                    }
                    Reach::Text => 0..text.len(),
                };
                add(windows, window);
            }
        }
        windows
    }
}

/// Returns the byte range of the line around a keyword. A long line is shortened on both sides.
fn line_around(text: &str, hit: Range<usize>) -> Range<usize> {
    let from = text.floor_char_boundary(hit.start.saturating_sub(WINDOW_BEFORE));
    let to = text.ceil_char_boundary((hit.end + WINDOW_AFTER).min(text.len()));
    let start = text[from..hit.start].rfind('\n').map_or(from, |at| from + at + 1);
    let end = text[hit.end..to].find('\n').map_or(to, |at| hit.end + at);
    start..end
}

/// Maximum distance in bytes between two windows that are merged into one, to limit their number.
const MERGE_DISTANCE: usize = 64;

/// Adds a window to the list. Merges it with the last window if the two are close, so that no text
/// is searched twice.
fn add(windows: &mut Vec<Range<usize>>, window: Range<usize>) {
    match windows.last_mut() {
        Some(last) if window.start <= last.end + MERGE_DISTANCE => {
            last.start = last.start.min(window.start);
            last.end = last.end.max(window.end);
        }
        _ => windows.push(window),
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({})", self.all.len())
    }
}
