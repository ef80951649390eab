//! Response of the service to a set of changes.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::Output;

/// Results of all changes in a change set, with the number of changes for each kind of result.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// True if the changes were only checked, and nothing was written.
    pub(crate) dry_run: bool,
    /// Number of created secrets.
    pub(crate) created: usize,
    /// Number of secrets with a new value.
    pub(crate) updated: usize,
    /// Number of changes that had no effect, because the secret already was in the requested state.
    pub(crate) same: usize,
    /// Number of keys that were hidden.
    pub(crate) hidden: usize,
    /// Number of deleted secrets.
    pub(crate) deleted: usize,
    /// Number of secrets of which only the description changed.
    pub(crate) described: usize,
    /// Results of the changes, in the order in which the changes were sent.
    pub(crate) changes: Vec<AnsweredChange>,
}

/// Result of one change.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AnsweredChange {
    /// Environment name.
    pub(crate) environment: String,
    /// Key of the secret.
    pub(crate) key: String,
    /// Effect of the change on the secret.
    pub(crate) result: ChangeResult,
    /// Version of the environment's own secret before the change; 0 if there was none.
    pub(crate) previous_version: u32,
    /// Version of the secret after the change; absent for a deleted secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
}

/// Effect of a change on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChangeResult {
    /// The secret was created.
    Created,
    /// The secret got a new value.
    Updated,
    /// The change had no effect.
    Same,
    /// The key was hidden.
    Hidden,
    /// The secret was deleted.
    Deleted,
    /// Only the description changed.
    Described,
}

/// Conflict that the service reports for one secret when it refuses a set of changes: the secret no
/// longer has the expected version.
#[derive(Debug, Deserialize)]
struct Conflict {
    environment: String,
    key: String,
    expected_version: Option<u32>,
    /// Current version of the secret; 0 if the environment has no secret of its own with this key.
    version: u32,
}

impl Answer {
    /// Removes the results for which `matches` returns true, and returns them. The counters are
    /// reduced accordingly.
    pub(crate) fn extract(
        &mut self,
        matches: impl Fn(&AnsweredChange) -> bool,
    ) -> Vec<AnsweredChange> {
        let extracted: Vec<_> = self.changes.extract_if(.., |change| matches(change)).collect();
        for change in &extracted {
            *self.number(change.result) -= 1;
        }
        extracted
    }

    /// Returns the field that counts the changes with this result.
    fn number(&mut self, result: ChangeResult) -> &mut usize {
        match result {
            ChangeResult::Created => &mut self.created,
            ChangeResult::Updated => &mut self.updated,
            ChangeResult::Same => &mut self.same,
            ChangeResult::Hidden => &mut self.hidden,
            ChangeResult::Deleted => &mut self.deleted,
            ChangeResult::Described => &mut self.described,
        }
    }

    /// Adds the results and the counters of a set of changes that was applied later.
    pub(super) fn add(&mut self, other: Self) {
        self.created += other.created;
        self.updated += other.updated;
        self.same += other.same;
        self.hidden += other.hidden;
        self.deleted += other.deleted;
        self.described += other.described;
        self.changes.extend(other.changes);
    }

    /// Adds a line to the message of `failure`, the error of a later set: how many of all `total`
    /// changes were applied before it. Adds nothing if none were applied.
    pub(super) fn explain(&self, mut failure: Failure, total: usize) -> Failure {
        if !self.changes.is_empty() {
            let applied = self.changes.len();
            // Writing to a `String` cannot fail.
            let _ = write!(
                failure.message,
                "
{applied} of {total} changes were applied before"
            );
        }
        failure
    }

    /// Writes the results: as JSON on standard output, or as one line on standard error for each
    /// change that had an effect.
    pub(crate) fn print(&self, output: &Output) -> Result<(), Failure> {
        if output.format.is_json() {
            return output.json(self);
        }
        for change in self.changes.iter().filter(|change| change.result != ChangeResult::Same) {
            output.note(&change.line());
        }
        output.note(&self.summary());
        Ok(())
    }

    /// Returns the number of changes for each kind of result, as one line of text.
    pub(crate) fn summary(&self) -> String {
        let numbers = [
            (self.created, "created"),
            (self.updated, "updated"),
            (self.hidden, "hidden"),
            (self.deleted, "deleted"),
            (self.described, "described"),
            (self.same, "unchanged"),
        ];
        let parts: Vec<_> = numbers
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, name)| format!("{number} {name}"))
            .collect();
        let text = if parts.is_empty() { "no changes".to_owned() } else { parts.join(", ") };
        if self.dry_run { format!("{text} (dry run: nothing was written)") } else { text }
    }
}

impl AnsweredChange {
    fn line(&self) -> String {
        let (sign, result) = match self.result {
            ChangeResult::Created => ('+', "created"),
            ChangeResult::Updated => ('~', "updated"),
            ChangeResult::Same => ('=', "unchanged"),
            ChangeResult::Hidden => ('-', "hidden"),
            ChangeResult::Deleted => ('-', "deleted"),
            ChangeResult::Described => ('~', "described"),
        };
        let version = self.version.map(|version| format!(", version {version}"));
        let version = version.unwrap_or_default();
        format!("{sign} {} in {}: {result}{version}", self.key, self.environment)
    }
}

impl Conflict {
    fn line(&self) -> String {
        let Self { environment, key, expected_version, version } = self;
        let found = match version {
            0 => "does not exist".to_owned(),
            version => format!("has version {version}"),
        };
        match expected_version {
            None => format!("{key} in {environment}: {found}"),
            Some(0) => format!("{key} in {environment}: expected no secret, but {found}"),
            Some(expected) => {
                format!("{key} in {environment}: expected version {expected}, but {found}")
            }
        }
    }
}

/// Returns the version conflicts that the service lists in a failure. Empty for other failures.
fn conflicts(failure: &Failure) -> Vec<Conflict> {
    if failure.code.as_deref() != Some("version_conflict") {
        return Vec::new();
    }
    let list = failure.details.as_ref().and_then(|details| details.get("conflicts"));
    list.cloned().and_then(|list: Value| serde_json::from_value(list).ok()).unwrap_or_default()
}

/// Adds a line for each version conflict to the message of a failure.
pub(super) fn with_conflicts(mut failure: Failure) -> Failure {
    for conflict in conflicts(&failure) {
        failure.message.push_str("\n  ");
        failure.message.push_str(&conflict.line());
    }
    failure
}

/// Returns the keys whose changes the service has refused, each with the rule that the change
/// violates.
pub(crate) fn refusals(failure: &Failure) -> Vec<(String, String)> {
    let fields = failure.details.as_ref().and_then(|details| details.get("fields"));
    let text = |field: &Value, name: &str| Some(field.get(name)?.as_str()?.to_owned());
    let refusal = |field: &Value| Some((text(field, "key")?, text(field, "message")?));
    fields.and_then(Value::as_array).into_iter().flatten().filter_map(refusal).collect()
}
