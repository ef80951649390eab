//! Changes between an environment and an edited document.

use std::collections::BTreeSet;

use super::Environment;
use super::document::{Entry, conflict};
use crate::changes::{Action, Change};
use crate::secret_list::Secret;

/// Advice for a conflict about a secret that the user has changed.
const CHANGED: &str = "To apply your value, delete this line. To discard it, keep this line and delete the secret below.";
/// Advice for a conflict about a secret that the user has deleted.
const DELETED: &str = "To keep the secret, delete this line. To delete the secret again, delete this line and the secret below.";

/// Returns the changes that turn the environment into the entries of the document. Each change,
/// except to a hidden key, expects the version that the secret had when it was loaded.
pub(crate) fn changes(environment: &Environment, entries: &[Entry]) -> Vec<Change> {
    let change = |key: &str, action: Action, version: u32| Change {
        environment: environment.place.environment.clone(),
        key: key.to_owned(),
        action,
        expected_version: Some(version),
    };
    let mut changes = Vec::new();
    for entry in entries {
        let own = environment.own(&entry.key);
        if let Some(action) = action(own.map(Entry::from).as_ref(), entry) {
            // The document does not show the version of a hidden key.
            let is_hidden = environment.is_hidden(&entry.key);
            let version = own.map_or(0, |secret| secret.version);
            let change = change(entry.key.as_str(), action, version);
            let expected_version = change.expected_version.filter(|_| !is_hidden);
            changes.push(Change { expected_version, ..change });
        }
    }
    let is_deleted = |secret: &&Secret| entries.iter().all(|entry| entry.key != secret.key);
    for secret in environment.own.iter().filter(is_deleted) {
        changes.push(change(secret.key.as_str(), Action::Delete, secret.version));
    }
    changes
}

fn action(own: Option<&Entry>, entry: &Entry) -> Option<Action> {
    let description = entry.description.clone();
    match own {
        Some(own) if own.value == entry.value && own.description == description => None,
        Some(own) if own.value == entry.value => Some(Action::Describe { description }),
        own => {
            let is_same = own.map_or("", |own| own.description.as_str()) == description;
            let description = (!is_same).then_some(description);
            Some(Action::Set { value: entry.value.clone(), description })
        }
    }
}

/// Applies the user's edits (the differences between `before` and `entries`) to the environment as
/// it is now, after a conflict. An entry gets a comment (`Entry::mark`) if others have changed the
/// same secret in the meantime.
pub(crate) fn merge(before: &Environment, now: &Environment, entries: &[Entry]) -> Vec<Entry> {
    let version = |environment: &Environment, entry: &Entry| {
        environment.own(&entry.key).map(|secret| secret.version)
    };
    let mut merged = Vec::new();
    for mut entry in entries.iter().cloned() {
        let is_untouched = before.own(&entry.key).map(Entry::from).as_ref() == Some(&entry);
        if is_untouched {
            merged.extend(now.own(&entry.key).map(Entry::from));
            continue;
        }
        let current = version(now, &entry);
        if current != version(before, &entry) {
            let found = current.map_or("deleted".to_owned(), |n| format!("changed to version {n}"));
            entry.mark = Some(conflict(&entry.key, &found, CHANGED));
        }
        merged.push(entry);
    }
    let is_missing = |secret: &&Secret| entries.iter().all(|entry| entry.key != secret.key);
    for secret in now.own.iter().filter(is_missing) {
        let mut entry = Entry::from(secret);
        match before.own(&secret.key) {
            Some(old) if old.version == secret.version => continue,
            Some(_) => {
                let found = format!("changed to version {}", secret.version);
                entry.mark = Some(conflict(&entry.key, &found, DELETED));
            }
            None => {}
        }
        merged.push(entry);
    }
    merged
}

/// Discards the user's changes of the secrets with these keys, which have no entries: adds the
/// secrets as the environment holds them.
pub(crate) fn discard(
    environment: &Environment,
    entries: &mut Vec<Entry>,
    keys: &BTreeSet<String>,
) {
    let discarded = environment.own.iter().filter(|secret| keys.contains(secret.key.as_str()));
    entries.extend(discarded.map(Entry::from));
}

/// Adds a comment with the violated rule to each entry whose change the service has refused.
/// `refusals` contains keys and rules.
pub(crate) fn with_marks(mut entries: Vec<Entry>, refusals: &[(String, String)]) -> Vec<Entry> {
    for entry in &mut entries {
        let refusal = refusals.iter().find(|(key, _)| key == entry.key.as_str());
        entry.mark = refusal.map(|(_, rule)| format!("refused: {rule}"));
    }
    entries
}

#[cfg(test)]
mod tests {
    use secrets_core::crypto::Plaintext;

    use super::*;
    use crate::invocation::Place;

    fn secret(key: &str, value: &str, version: u32) -> Secret {
        let value = Plaintext::new(value.to_owned()).unwrap();
        let (key, description) = (key.parse().unwrap(), None);
        Secret { key, value, version, description, inherited_from: None }
    }

    fn environment(own: &[(&str, &str, u32)]) -> Environment {
        let place = Place { project: "web".to_owned(), environment: "staging".to_owned() };
        let own = own.iter().map(|(key, value, version)| secret(key, value, *version)).collect();
        Environment { place, own, others: Vec::new() }
    }

    #[test]
    fn a_conflict_keeps_both_sides() {
        let before = environment(&[("A", "1", 1), ("B", "1", 1), ("C", "1", 1), ("D", "1", 1)]);
        let now = environment(&[("A", "2", 2), ("B", "2", 2), ("C", "2", 2), ("NEW", "1", 1)]);
        // A is changed, B is untouched, C is deleted, D is changed but was deleted meanwhile.
        let edited = environment(&[("A", "mine", 0), ("B", "1", 0), ("D", "mine", 0)]).entries();

        let merged = merge(&before, &now, &edited);

        let text = |entry: &Entry| {
            (entry.key.to_string(), entry.value.reveal().to_owned(), entry.mark.is_some())
        };
        let expected = [
            ("A", "mine", true),
            ("B", "2", false),
            ("D", "mine", true),
            ("C", "2", true),
            ("NEW", "1", false),
        ];
        let expected = expected.map(|(key, value, mark)| (key.to_owned(), value.to_owned(), mark));
        assert_eq!(merged.iter().map(text).collect::<Vec<_>>(), expected);
        assert_eq!(changes(&now, &merged).len(), 2);
    }

    #[test]
    fn a_discarded_change_leaves_the_secret_as_it_is() {
        let now = environment(&[("A", "theirs", 2), ("B", "theirs", 2)]);
        let mut entries = environment(&[("B", "mine", 0)]).entries();

        discard(&now, &mut entries, &BTreeSet::from(["A".to_owned(), "DELETED".to_owned()]));

        let changes = changes(&now, &entries);
        assert_eq!(changes.iter().map(|change| change.key.as_str()).collect::<Vec<_>>(), ["B"]);
    }
}
