//! The values stored here that a scan is compared with.
//!
//! They are opened once, in memory, hashed under a key that exists for this scan alone, and wiped.
//! While text is searched there are only hashes, by which nothing can be read back.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::mem;
use std::ops::Range;

use crate::secrets::sealing::open_value;
use crate::access::View;
use crate::crypto::{Fingerprint, FingerprintKey};
use crate::engine::{Context, Read};
use crate::model::{
    EnvironmentId, EnvironmentPath, Error, ProjectId, ProjectRef, Result, SecretId, TeamId,
};
use crate::store::{SecretPlace, Wanted};

/// The most values a scan is compared with.
const MOST: usize = 10_000;

/// The fewest characters of a value that is compared: shorter ones are found everywhere.
const SHORTEST: usize = 8;

/// Values, hashed.
pub(super) struct KnownValues {
    key: FingerprintKey,
    /// Keys the hints; of this process alone.
    hints_key: RandomState,
    /// Length and ends of the values, hashed: most of a text is told from them at little cost.
    hints: HashSet<u64>,
    /// Where each value is, and how far from the environment through which it is seen.
    places: HashMap<Fingerprint, (usize, SecretPlace)>,
    /// The hash of each secret that was opened, if it is compared.
    opened: HashMap<SecretId, Option<Fingerprint>>,
}

impl KnownValues {
    fn new() -> Self {
        Self {
            key: FingerprintKey::draw(),
            hints_key: RandomState::new(),
            hints: HashSet::new(),
            places: HashMap::new(),
            opened: HashMap::new(),
        }
    }

    /// How many secrets take part.
    pub(super) fn compared(&self) -> usize {
        self.opened.values().filter(|hash| hash.is_some()).count()
    }

    /// The values of a project, or of all projects of a team, as far as the caller may read them.
    pub(super) async fn gather(
        cx: &mut Context<'_, Read>,
        team: TeamId,
        project: Option<ProjectId>,
    ) -> Result<Self> {
        // What the scan is about was said before; these are looked at on the way.
        let note = mem::take(&mut cx.note);
        let principal = cx.caller.principal()?;
        let mut projects = cx.reads().projects(principal).await?;
        projects.retain(|known| known.team == team && project.is_none_or(|id| known.id == id));
        let mut known = Self::new();
        for project in projects {
            for environment in cx.reads().environments(project.id, principal).await? {
                let path = EnvironmentPath::new(ProjectRef::Id(project.id), environment.id);
                match cx.view(&path, Wanted::All).await {
                    Ok(view) => known.add(cx, view).await?,
                    // Not theirs to read, gone meanwhile, or in a circle: it does not take part.
                    Err(Error::Forbidden(_) | Error::NotFound(_) | Error::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        cx.note = note;
        Ok(known)
    }

    async fn add(&mut self, cx: &mut Context<'_, Read>, view: View) -> Result<()> {
        let View { scope, chain } = view;
        for (distance, link) in chain.iter().enumerate() {
            for secret in link.secrets.iter().filter(|secret| !secret.hidden) {
                let hash = match self.opened.get(&secret.id) {
                    Some(hash) => *hash,
                    None if self.opened.len() >= MOST => continue,
                    None => {
                        let value = open_value(cx, &scope, secret).await?;
                        compared(value.reveal()).map(|value| self.hash(value))
                    }
                };
                self.opened.insert(secret.id, hash);
                let Some(hash) = hash else { continue };
                self.place(
                    hash,
                    distance,
                    (scope.project.id, scope.environment.id),
                    secret.key.as_str(),
                );
            }
        }
        Ok(())
    }

    fn hash(&mut self, value: &str) -> Fingerprint {
        self.hints.insert(self.hint(value));
        self.key.fingerprint(&[value.as_bytes()])
    }

    /// The environment that holds a secret is told before one that inherits it.
    fn place(
        &mut self,
        hash: Fingerprint,
        distance: usize,
        (project, environment): (ProjectId, EnvironmentId),
        key: &str,
    ) {
        let is_nearer = self.places.get(&hash).is_none_or(|(known, _)| distance < *known);
        if is_nearer {
            let place = SecretPlace { project, environment, key: key.to_owned() };
            self.places.insert(hash, (distance, place));
        }
    }

    fn hint(&self, value: &str) -> u64 {
        let bytes = value.as_bytes();
        let (head, tail) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>());
        self.hints_key.hash_one((bytes.len(), head, tail))
    }

    /// The secret whose value this is.
    pub(super) fn find(&self, value: &str) -> Option<&SecretPlace> {
        if value.len() < SHORTEST || !self.hints.contains(&self.hint(value)) {
            return None;
        }
        self.places.get(&self.key.fingerprint(&[value.as_bytes()])).map(|(_, place)| place)
    }

    /// The secret whose value this is, be it of many lines.
    pub(super) fn find_whole(&self, value: &str) -> Option<&SecretPlace> {
        self.find(compared(value)?)
    }

    /// The stored values in a text, in its order, none within another.
    pub(super) fn find_all(&self, text: &str) -> Vec<(Range<usize>, &SecretPlace)> {
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

/// What of a value is compared: the value, or its longest line, if that tells it from others. Of
/// lines that are equally long the last: the first ones of a key are often those of others too.
fn compared(value: &str) -> Option<&str> {
    let line = value.lines().map(str::trim).max_by_key(|line| line.len())?;
    let is_part = line.len() < value.trim().len();
    let is_telling = line.len() >= if is_part { 2 * SHORTEST } else { SHORTEST }
        && (line.len() >= 2 * SHORTEST || line.bytes().any(|byte| byte.is_ascii_digit()))
        && !is_plain_address(line);
    is_telling.then_some(line)
}

/// Whether a value is the address of something, without a password: found everywhere.
fn is_plain_address(value: &str) -> bool {
    let web = value.strip_prefix("http://").or_else(|| value.strip_prefix("https://"));
    web.is_some_and(|rest| !rest.contains(['@', '?', '#']) && rest.len() < 64)
}

/// How many suffixes of a part are tried.
const SUFFIXES: usize = 4;

/// The parts of a line that may be a value: the line; what is behind its first `=` or `:`, without
/// quotes; what is between spaces and quotes, between brackets and commas, between any signs; and
/// of each of these what is behind one of its first `=` and `:`. Each byte is in a bounded number
/// of them.
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
            if part.len() >= SHORTEST {
                parts(line, span.clone(), visit);
            }
            // The sign between two parts is one character.
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
    let signs = line[span.clone()].match_indices(['=', ':']).take(SUFFIXES);
    for (at, _) in signs {
        visit_both(span.start + at + 1..span.end);
    }
}

/// A part without the spaces and these characters around it.
fn trimmed(line: &str, span: Range<usize>, around: &[char]) -> Range<usize> {
    let is_around = |c: char| c.is_whitespace() || around.contains(&c);
    let part = line[span.clone()].trim_end_matches(is_around);
    let bare = part.trim_start_matches(is_around);
    let start = span.start + part.len() - bare.len();
    start..start + bare.len()
}

#[cfg(test)]
mod tests;
