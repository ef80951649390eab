//! The work of a scan: searching, without a store, a clock or a runtime.

use super::begin::BegunScan;
use super::input::{FINDINGS, Input, ScanSource, SubmittedFinding};
use super::known::KnownValues;
use crate::crypto::{Fingerprint, FingerprintKey};
use crate::model::scans::Severity;
use crate::model::{ProjectId, ScanId, TeamId, Time};
use crate::scanner::{Place, Places, Rules, entropy, redacted, scan};
use crate::store::SecretPlace;

/// What is told of a stored value that no rule knows.
const STORED: (&str, &str, Severity) =
    ("stored-secret-value", "Value of a secret that is stored here", Severity::High);

/// A scan that is done, to be kept by [`KeepScan`](super::KeepScan).
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

/// Something that was found; the credential itself is gone.
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
    pub(super) secret: Option<SecretPlace>,
}

impl BegunScan {
    /// Searches. Takes as long as the text is long, so a host runs it where
    /// nothing else waits for it.
    #[must_use]
    pub fn work(self) -> FinishedScan {
        let rules = self.rules.as_deref().unwrap_or_else(|| Rules::built_in());
        let search = Search { rules, known: &self.known, key: &self.key };
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
            secrets_compared: u32::try_from(self.known.compared()).unwrap_or(u32::MAX),
            is_truncated,
            found,
            began_at: self.began_at,
        }
    }
}

/// Keeps the worst of what was found, in its order. Says whether there were others.
fn keep_worst<T>(found: &mut Vec<T>, most: usize, severity_of: fn(&T) -> Severity) -> bool {
    if found.len() <= most {
        return false;
    }
    let mut room = most;
    let mut kept = vec![false; found.len()];
    for severity in Severity::ALL {
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

/// What is looked for.
struct Search<'a> {
    rules: &'a Rules,
    known: &'a KnownValues,
    key: &'a FingerprintKey,
}

impl Search<'_> {
    /// What rules find and what is stored, in the order of the text. What both know is one finding.
    /// Of either no more than one beyond what a scan keeps.
    fn text(&self, text: &str, path: Option<&str>, commit: Option<&str>) -> Vec<Found> {
        let stored = self.known.find_all(text);
        let mut is_told = vec![false; stored.len()];
        let (mut next, mut found) = (0, Vec::new());
        let mut matches = scan(text, path.unwrap_or_default(), self.rules);
        keep_worst(&mut matches, FINDINGS + 1, |known| known.rule.severity());
        for known in matches {
            let span = &known.span;
            while stored.get(next).is_some_and(|(other, _)| other.end <= span.start) {
                next += 1;
            }
            let secret = stored.get(next).filter(|(other, _)| other.start < span.end);
            if let (Some(_), Some(is_told)) = (secret, is_told.get_mut(next)) {
                *is_told = true;
            }
            let place = Place { line: known.line, column: known.column };
            let rule = (known.rule.id(), known.rule.description(), known.rule.severity());
            let secret = secret.map(|(_, secret)| *secret);
            let one = self.found(rule, &text[span.clone()], path, secret);
            found.push((span.start, place, one));
        }
        let mut places = Places::new(text);
        let untold = stored.iter().zip(is_told).filter(|(_, is_told)| !is_told);
        for ((span, secret), _) in untold.take(FINDINGS + 1) {
            let Some(place) = places.at(span.start) else { continue };
            let one = self.found(STORED, &text[span.clone()], path, Some(secret));
            found.push((span.start, place, one));
        }
        found.sort_by_key(|(start, ..)| *start);
        let told = found.into_iter().map(|(_, place, found)| Found {
            line: Some(place.line),
            column: Some(place.column),
            commit: commit.map(str::to_owned),
            ..found
        });
        told.collect()
    }

    /// What another scanner found. The credential, where it is given, is treated like one that was
    /// found here.
    fn submitted(&self, finding: SubmittedFinding) -> Found {
        let known = self.rules.iter().find(|rule| rule.id() == finding.rule_id);
        let own = known.map_or((finding.rule_id.as_str(), Severity::default()), |rule| {
            (rule.description(), rule.severity())
        });
        let description = finding.description.as_deref().unwrap_or(own.0);
        let rule = (finding.rule_id.as_str(), description, finding.severity.unwrap_or(own.1));
        let path = finding.path.as_deref();
        let found = match &finding.secret {
            Some(secret) => {
                let value = secret.reveal();
                self.found(rule, value, path, self.known.find_whole(value))
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

    /// A finding. Of a value that is stored here nothing is shown, not even its entropy: who reads
    /// the finding may not be who may read the secret.
    fn found(
        &self,
        (rule, description, severity): (&str, &str, Severity),
        value: &str,
        path: Option<&str>,
        secret: Option<&SecretPlace>,
    ) -> Found {
        let is_stored = secret.is_some();
        // Of a stored value it is made of where that is kept: one made of the value would tell
        // whoever may not read it that a guess is right.
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

    /// The fingerprint of a finding whose credential is not given: by what its scanner knows it
    /// by, else by its place.
    fn fingerprint_of(&self, finding: &SubmittedFinding) -> Fingerprint {
        let (rule, path) = (finding.rule_id.as_bytes(), bytes(finding.path.as_deref()));
        if let Some(known) = &finding.fingerprint {
            return self.key.fingerprint(&[b"given", rule, path, known.as_bytes()]);
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
