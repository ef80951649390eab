//! Stored secret values that a scan is compared with.
//!
//! The values are decrypted in memory, hashed with a MAC key that exists only during this scan, and
//! wiped. The search uses only the hashes, from which no value can be recovered.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::Arc;

use crate::access::{EnvironmentScope, chain_size};
use crate::crypto::{Fingerprint, FingerprintKey};
use crate::engine::{Context, Read};
use crate::model::{EnvironmentId, EnvironmentPath, Error, ProjectId, ProjectRef, Result, TeamId};
use crate::secrets::sealing::open_value;
use crate::store::{SecretLocation, SecretRecord, Selection};

/// Maximum number of secret values that are decrypted for a scan.
const MAX_VALUES: usize = 10_000;

/// Minimum length of a secret value that is compared, in bytes. Shorter values occur in any text by
/// chance.
const MIN_LENGTH: usize = 8;

/// Hashes of the stored secret values that a scan is compared with.
pub(super) struct StoredValues {
    key: FingerprintKey,
    /// Hash key for `hints`, private to this process.
    hints_key: RandomState,
    /// Hashes of the values, each computed from the length and the first and last four bytes of a
    /// value. Most parts of a text match none of these hashes, so the slower MAC is not computed
    /// for them.
    hints: HashSet<u64>,
    /// Locations of the stored secrets, by the MAC of the compared part of their values.
    places: HashMap<Fingerprint, SecretLocation>,
    /// Number of secrets whose values were decrypted.
    opened: usize,
    /// Number of secrets whose values are compared with the content.
    compared: usize,
}

impl StoredValues {
    fn new() -> Self {
        Self {
            key: FingerprintKey::draw(),
            hints_key: RandomState::new(),
            hints: HashSet::new(),
            places: HashMap::new(),
            opened: 0,
            compared: 0,
        }
    }

    /// Returns the number of secrets whose values are compared with the content.
    pub(super) fn compared(&self) -> usize {
        self.compared
    }

    /// Loads the secret values of a project, or of all projects of a team, up to 10,000. Skips
    /// values that the caller may not read. Holds the encrypted secrets of only one environment in
    /// memory at a time.
    pub(super) async fn gather(
        cx: &mut Context<'_, Read>,
        team: TeamId,
        project: Option<ProjectId>,
    ) -> Result<Self> {
        let principal = cx.caller.principal()?;
        let mut projects = cx.reads().projects(principal).await?;
        projects.retain(|record| record.team == team && project.is_none_or(|id| record.id == id));
        let mut stored = Self::new();
        for project in projects {
            for environment in cx.reads().environments(project.id, principal).await? {
                if stored.is_full() {
                    return Ok(stored);
                }
                let path = EnvironmentPath::new(ProjectRef::Id(project.id), environment.id);
                stored.add_environment(cx, &path).await?;
            }
        }
        Ok(stored)
    }

    /// True if the maximum number of values was decrypted.
    fn is_full(&self) -> bool {
        self.opened >= MAX_VALUES
    }

    /// Adds the values that an environment itself defines. Inherited values are added with the
    /// environments that define them.
    async fn add_environment(
        &mut self,
        cx: &mut Context<'_, Read>,
        path: &EnvironmentPath,
    ) -> Result<()> {
        let view = match cx.view_if_readable(path, Selection::Own).await {
            Ok(Some(view)) => view,
            // An environment whose inheritance chain is a cycle or is too long is skipped.
            Ok(None) | Err(Error::Refused { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let bytes = chain_size(&view.chain);
        // One account can never reserve so much memory, so skip the environment.
        if bytes > cx.options().max_answer_bytes {
            return Ok(());
        }
        // Before anything is decrypted.
        cx.reserve_memory(bytes).await?;
        for link in view.chain {
            self.add(cx, &view.scope, &link.secrets).await?;
        }
        cx.memory.release();
        Ok(())
    }

    /// Adds the values of the loaded secrets of an environment, until the maximum number of values
    /// is reached.
    async fn add(
        &mut self,
        cx: &mut Context<'_, Read>,
        scope: &EnvironmentScope,
        secrets: &[Arc<SecretRecord>],
    ) -> Result<()> {
        for secret in secrets.iter().filter(|secret| !secret.hidden) {
            if self.is_full() {
                break;
            }
            let value = open_value(cx, scope, secret).await?;
            self.opened += 1;
            if let Some(value) = comparable_part(value.reveal()) {
                self.compared += 1;
                let hash = self.hash(value);
                self.place(hash, (scope.project.id, secret.environment), secret.key.as_str());
            }
        }
        Ok(())
    }

    fn hash(&mut self, value: &str) -> Fingerprint {
        self.hints.insert(self.hint(value));
        self.key.fingerprint(&[value.as_bytes()])
    }

    /// Stores the location of a secret whose value has the MAC `hash`. If several secrets have the
    /// value, keeps the location of the first.
    fn place(
        &mut self,
        hash: Fingerprint,
        (project, environment): (ProjectId, EnvironmentId),
        key: &str,
    ) {
        let first = self.places.entry(hash);
        first.or_insert_with(|| SecretLocation { project, environment, key: key.to_owned() });
    }

    fn hint(&self, value: &str) -> u64 {
        let bytes = value.as_bytes();
        let (head, tail) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>());
        self.hints_key.hash_one((bytes.len(), head, tail))
    }

    /// Returns the stored secret whose compared part (see [`comparable_part`]) equals `value`;
    /// `None` if there is none.
    pub(super) fn find(&self, value: &str) -> Option<&SecretLocation> {
        if value.len() < MIN_LENGTH || !self.hints.contains(&self.hint(value)) {
            return None;
        }
        self.places.get(&self.key.fingerprint(&[value.as_bytes()]))
    }

    /// Returns the stored secret that matches this value, which may have several lines; `None` if
    /// there is none. Compares only one part of each value, such as the longest line (see
    /// [`comparable_part`]).
    pub(super) fn find_whole(&self, value: &str) -> Option<&SecretLocation> {
        self.find(comparable_part(value)?)
    }

    /// Finds all stored secret values in a text, in the order of the text and without overlaps.
    pub(super) fn find_all(&self, text: &str) -> Vec<(Range<usize>, &SecretLocation)> {
        let mut found = Vec::new();
        if self.places.is_empty() {
            return found;
        }
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            candidates(line, &mut |part| {
                if let Some(place) = self.find(&line[part.clone()]) {
                    found.push((start + part.start..start + part.end, place));
                }
            });
            start += line.len();
        }
        found.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        let mut end = 0;
        found.retain(|(span, _)| {
            let is_apart = span.start >= end;
            end = end.max(span.end);
            is_apart
        });
        found
    }
}

/// Returns the part of a secret value that is compared: the value itself or, for several lines, its
/// longest line. `None` if that part is too short to be distinctive or is a plain URL. If several
/// lines are equally long, the last of them is used, because the first lines of encoded keys are
/// often the same in different keys.
fn comparable_part(value: &str) -> Option<&str> {
    let line = value.lines().map(str::trim).max_by_key(|line| line.len())?;
    let is_part = line.len() < value.trim().len();
    let is_distinctive = line.len() >= if is_part { 2 * MIN_LENGTH } else { MIN_LENGTH }
        && (line.len() >= 2 * MIN_LENGTH || line.bytes().any(|byte| byte.is_ascii_digit()))
        && !is_plain_url(line);
    is_distinctive.then_some(line)
}

/// True if a value is a short HTTP URL without a user name, password, query or fragment. Such
/// values occur in many texts, so they are not compared.
fn is_plain_url(value: &str) -> bool {
    let web = value.strip_prefix("http://").or_else(|| value.strip_prefix("https://"));
    web.is_some_and(|rest| !rest.contains(['@', '?', '#']) && rest.len() < 64)
}

/// Maximum number of suffixes (texts after a `=` or `:`) that are tried for a part of a line.
const MAX_SUFFIXES: usize = 4;

/// Calls `visit` with the parts of a line that may be a secret value: the whole line; the text
/// after its first `=` or `:`, with and without quotes; the parts between spaces and quotes,
/// between brackets and commas, and between any punctuation; and for each of these parts, the text
/// after each of its first four signs `=` and `:`. Each byte is in a limited number of parts, so
/// the time is proportional to the length of the line.
fn candidates(line: &str, visit: &mut impl FnMut(Range<usize>)) {
    const QUOTES: &[char] = &['"', '\'', '`'];
    const BRACKETS: &[char] =
        &['"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', '|', ',', ';', '&', '\\'];
    const SIGNS: &[char] = &[
        '"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', '|', ',', ';', '&', '\\', '=', ':',
        '@', '/', '?', '#',
    ];
    visit(trimmed(line, 0..line.len(), &[]));
    if let Some(at) = line.find(['=', ':']) {
        visit(trimmed(line, at + 1..line.len(), &[]));
        visit(trimmed(line, at + 1..line.len(), &['"', '\'', '`', ',', ';']));
    }
    for signs in [QUOTES, BRACKETS, SIGNS] {
        let mut start = 0;
        for part in line.split(|c: char| c.is_whitespace() || signs.contains(&c)) {
            let span = start..start + part.len();
            if part.len() >= MIN_LENGTH {
                parts(line, span.clone(), visit);
            }
            // The separator between two parts is one character.
            let sign = line[span.end..].chars().next().map_or(0, char::len_utf8);
            start = span.end + sign;
        }
    }
}

fn parts(line: &str, span: Range<usize>, visit: &mut impl FnMut(Range<usize>)) {
    const TRAILING: &[char] = &['.', ',', ';', ':', '!', '?'];
    let mut visit_both = |span: Range<usize>| {
        let bare = trimmed(line, span.clone(), TRAILING);
        if bare != span {
            visit(bare);
        }
        visit(span);
    };
    visit_both(span.clone());
    let signs = line[span.clone()].match_indices(['=', ':']).take(MAX_SUFFIXES);
    for (at, _) in signs {
        visit_both(span.start + at + 1..span.end);
    }
}

/// Removes whitespace and the given characters from both ends of a part of a line.
fn trimmed(line: &str, span: Range<usize>, around: &[char]) -> Range<usize> {
    let is_around = |c: char| c.is_whitespace() || around.contains(&c);
    let part = line[span.clone()].trim_end_matches(is_around);
    let bare = part.trim_start_matches(is_around);
    let start = span.start + part.len() - bare.len();
    start..start + bare.len()
}

#[cfg(test)]
mod tests;
