//! Patterns of secret keys, such as `DB_*`.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::failure::Failure;

/// Set of key patterns: `*` stands for any characters, `?` for one character, `[A-C]` for one
/// character of a range, and `{A,B}` for alternatives.
#[derive(Debug, Clone)]
pub(crate) struct Patterns(GlobSet);

impl Patterns {
    /// Compiles the patterns. Fails if a pattern is invalid.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, Failure> {
        let invalid = |error: globset::Error| Failure::usage(format!("pattern: {error}"));
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(Glob::new(pattern).map_err(invalid)?);
        }
        set.build().map(Self).map_err(invalid)
    }

    /// True if at least one pattern matches the whole key.
    pub(crate) fn matches(&self, key: &str) -> bool {
        self.0.is_match(key)
    }
}
