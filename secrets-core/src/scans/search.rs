//! Search step of a scan. Needs neither a store, a clock nor an async runtime.

use super::begin::PlannedScan;
use super::input::{FINDINGS, Input, ScanSource, SubmittedFinding};
use super::stored_values::StoredValues;
use crate::crypto::{Fingerprint, FingerprintKey};
use crate::model::scans::Severity;
use crate::model::{ProjectId, ScanId, TeamId, Time};
use crate::scanner::{Place, Places, Rules, entropy, redacted, scan};
use crate::store::SecretLocation;

/// Rule ID, description and severity of a finding that is a stored secret value and that no
/// detection rule matches.
const STORED_VALUE_RULE: (&str, &str, Severity) =
    ("stored-secret-value", "Value of a secret stored in this service", Severity::High);

/// A scan whose search has ended, to be stored by [`ConcludeScan`](super::ConcludeScan).
#[derive(Debug)]
pub struct FinishedScan {
    pub(super) id: ScanId,
    pub(super) team: TeamId,
    pub(super) project: Option<ProjectId>,
    pub(super) source: ScanSource,
    pub(super) secrets_compared: u32,
    pub(super) is_truncated: bool,
    pub(super) found: Vec<Found>,
    pub(super) began_at: Time,
}

/// A finding to be stored. Does not contain the credential.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rule: String,
    pub(super) description: String,
    pub(super) severity: Severity,
    pub(super) path: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    pub(super) commit: Option<String>,
    pub(super) fingerprint: Fingerprint,
    pub(super) redacted: Option<String>,
    pub(super) entropy: Option<u32>,
    pub(super) secret: Option<SecretLocation>,
}

impl PlannedScan {
    /// Searches the content for credentials. The time is proportional to the length of the text, so
    /// run this function on a thread that may block.
    #[must_use]
    pub fn search(self) -> FinishedScan {
        let rules = self.rules.as_deref().unwrap_or_else(|| Rules::built_in());
        let search = Search { rules, stored: &self.stored, key: &self.key };
        let (mut found, mut is_truncated) = (Vec::new(), false);
        match self.input {
            Input::Texts(texts) => {
                let commit = self.source.commit.as_deref();
                for (path, content) in &texts {
                    found.extend(search.text(content.reveal(), path.as_deref(), commit));
                    is_truncated |= keep_worst(&mut found, FINDINGS, |found| found.severity);
                }
            }
            Input::Findings(findings) => {
                found.extend(findings.into_iter().map(|finding| search.submitted(finding)));
            }
        }
        FinishedScan {
            id: self.id,
            team: self.team,
            project: self.project,
            source: self.source,
            secrets_compared: u32::try_from(self.stored.compared()).unwrap_or(u32::MAX),
            is_truncated,
            found,
            began_at: self.began_at,
        }
    }
}

/// Keeps only the `most` most severe findings, without changing their order. Returns true if
/// findings were removed.
fn keep_worst<T>(found: &mut Vec<T>, most: usize, severity_of: fn(&T) -> Severity) -> bool {
    if found.len() <= most {
        return false;
    }
    let mut room = most;
    let mut kept = vec![false; found.len()];
    for severity in Severity::ALL.iter().copied() {
        for (kept, found) in kept.iter_mut().zip(&*found) {
            if severity_of(found) == severity && room > 0 {
                (*kept, room) = (true, room - 1);
            }
        }
    }
    let mut kept = kept.into_iter();
    found.retain(|_| kept.next().unwrap_or_default());
    true
}

/// Detection rules and stored secret values that a scan searches for.
struct Search<'a> {
    rules: &'a Rules,
    stored: &'a StoredValues,
    key: &'a FingerprintKey,
}

impl Search<'_> {
    /// Finds credentials and stored secret values in a text, in the order of the text. If a rule
    /// match overlaps a stored value, reports both as one finding. Returns at most [`FINDINGS`] + 1
    /// rule matches and as many stored values: one more than allowed, so that the caller can detect
    /// that findings are left out.
    fn text(&self, text: &str, path: Option<&str>, commit: Option<&str>) -> Vec<Found> {
        let stored = self.stored.find_all(text);
        let mut is_reported = vec![false; stored.len()];
        let (mut next, mut found) = (0, Vec::new());
        let mut matches = scan(text, path.unwrap_or_default(), self.rules);
        keep_worst(&mut matches, FINDINGS + 1, |matched| matched.rule.severity());
        for matched in matches {
            let span = &matched.span;
            while stored.get(next).is_some_and(|(other, _)| other.end <= span.start) {
                next += 1;
            }
            let secret = stored.get(next).filter(|(other, _)| other.start < span.end);
            if let (Some(_), Some(is_reported)) = (secret, is_reported.get_mut(next)) {
                *is_reported = true;
            }
            let place = Place { line: matched.line, column: matched.column };
            let rule = (matched.rule.id(), matched.rule.description(), matched.rule.severity());
            let secret = secret.map(|(_, secret)| *secret);
            let one = self.found(rule, &text[span.clone()], path, secret);
            found.push((span.start, place, one));
        }
        let mut places = Places::new(text);
        let unreported = stored.iter().zip(is_reported).filter(|(_, is_reported)| !is_reported);
        let located = unreported
            .filter_map(|((span, secret), _)| Some((span, secret, places.at(span.start)?)));
        for (span, secret, place) in located.take(FINDINGS + 1) {
            let one = self.found(STORED_VALUE_RULE, &text[span.clone()], path, Some(secret));
            found.push((span.start, place, one));
        }
        found.sort_by_key(|(start, ..)| *start);
        let located = found.into_iter().map(|(_, place, found)| Found {
            line: Some(place.line),
            column: Some(place.column),
            commit: commit.map(str::to_owned),
            ..found
        });
        located.collect()
    }

    /// Converts a finding of another scanner. A credential in it is treated as if this scan had
    /// found it.
    fn submitted(&self, finding: SubmittedFinding) -> Found {
        let own_rule = self.rules.iter().find(|rule| rule.id() == finding.rule_id);
        let own = own_rule.map_or((finding.rule_id.as_str(), Severity::default()), |rule| {
            (rule.description(), rule.severity())
        });
        let description = finding.description.as_deref().unwrap_or(own.0);
        let rule = (finding.rule_id.as_str(), description, finding.severity.unwrap_or(own.1));
        let path = finding.path.as_deref();
        let found = match &finding.secret {
            Some(secret) => {
                let value = secret.reveal();
                self.found(rule, value, path, self.stored.find_whole(value))
            }
            None => Found {
                fingerprint: self.fingerprint_of(&finding),
                redacted: None,
                entropy: None,
                ..self.found(rule, "", path, None)
            },
        };
        Found { line: finding.line, column: finding.column, commit: finding.commit, ..found }
    }

    /// Builds a finding. If the credential is a stored secret value, the finding contains neither
    /// characters of the value nor its entropy, because a user who may read the finding may not be
    /// allowed to read the secret.
    fn found(
        &self,
        (rule, description, severity): (&str, &str, Severity),
        value: &str,
        path: Option<&str>,
        secret: Option<&SecretLocation>,
    ) -> Found {
        let is_stored = secret.is_some();
        // The fingerprint of a stored value is computed from its location. Computed from the value,
        // it would confirm a guess to users who may not read the secret.
        let place = secret.map(|secret| format!("{} {}", secret.environment, secret.key));
        let parts = match &place {
            Some(place) => [b"stored".as_slice(), rule.as_bytes(), bytes(path), place.as_bytes()],
            None => [b"match".as_slice(), rule.as_bytes(), bytes(path), value.as_bytes()],
        };
        Found {
            rule: rule.to_owned(),
            description: description.to_owned(),
            severity,
            path: path.map(str::to_owned),
            line: None,
            column: None,
            commit: None,
            fingerprint: self.key.fingerprint(&parts),
            redacted: Some(if is_stored { "…".to_owned() } else { redacted(value) }),
            entropy: (!is_stored).then(|| hundredths(entropy(value))),
            secret: secret.cloned(),
        }
    }

    /// Computes the fingerprint of a submitted finding that contains no credential: from the
    /// fingerprint that its submitter reported or, without one, from the finding's position.
    fn fingerprint_of(&self, finding: &SubmittedFinding) -> Fingerprint {
        let (rule, path) = (finding.rule_id.as_bytes(), bytes(finding.path.as_deref()));
        if let Some(fingerprint) = &finding.fingerprint {
            return self.key.fingerprint(&[b"given", rule, path, fingerprint.as_bytes()]);
        }
        let [line, column] =
            [finding.line, finding.column].map(|number| number.unwrap_or_default().to_be_bytes());
        self.key.fingerprint(&[b"place", rule, path, &line, &column])
    }
}

fn bytes(text: Option<&str>) -> &[u8] {
    text.unwrap_or_default().as_bytes()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 21 bits for each character"
)]
fn hundredths(bits: f64) -> u32 {
    (bits * 100.0).round() as u32
}
