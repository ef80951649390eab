//! Secrets as a dotenv document: assignments, with descriptions as comments directly above them.
//!
//! The assignments are parsed one by one with `secrets_core::formats::dotenv`. Marks are comments
//! that this program inserts above lines with a problem; they are skipped when the document is
//! read. The mark of a conflict stays until the user removes it, and contains the secret's key.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use secrets_core::crypto::Plaintext;
use secrets_core::formats::dotenv::{self, Reason};
use secrets_core::model::SecretKey;
use zeroize::Zeroizing;

use super::Environment;
use crate::output::printable;
use crate::secret_list::Secret;

/// First characters of a mark: a comment about a problem, above the line that has the problem.
const MARK: &str = "#! secrets: ";
/// First word of the mark of a conflict: others have changed a secret that the user has changed.
const CONFLICT: &str = "CONFLICT: ";
/// Maximum size of an assignment in bytes: the key, and a value in which every character is
/// escaped.
const MAX_ASSIGNMENT: usize = 3 * Plaintext::LIMIT;

/// Secret in the edited document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Key of the secret.
    pub(crate) key: SecretKey,
    /// Value of the secret.
    pub(crate) value: Plaintext,
    /// Description of the secret; empty if there is none.
    pub(crate) description: String,
    /// Comment about a problem that is inserted above the secret, if there is a problem.
    pub(crate) mark: Option<String>,
}

/// Invalid line of a document. Never contains the line's text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Line number, starting at 1.
    pub(crate) line: usize,
    /// Rule that the line violates.
    pub(crate) rule: String,
}

impl From<&Secret> for Entry {
    fn from(secret: &Secret) -> Self {
        let description = normalized(secret.description.as_deref().unwrap_or_default());
        Self { key: secret.key.clone(), value: secret.value.clone(), description, mark: None }
    }
}

/// Returns the text of a document with these entries.
pub(crate) fn write(environment: &Environment, entries: &[Entry]) -> Zeroizing<String> {
    let size = |entry: &Entry| 2 * entry.value.reveal().len() + entry.description.len() + 600;
    let room = entries.iter().map(size).sum::<usize>() + 100 * environment.others.len() + 600;
    let mut text = Zeroizing::new(String::with_capacity(room));
    let _ = writeln!(
        text,
        "# Secrets of {}. Save and quit to apply the changes; an unchanged file does nothing.\n\
         # A comment directly above a key is its description. Deleting a line deletes the secret.",
        printable(&environment.place.to_string())
    );
    for entry in entries {
        write_entry(&mut text, entry);
    }
    let is_other = |key: &SecretKey| entries.iter().all(|entry| entry.key != *key);
    let others: Vec<_> = environment.others.iter().filter(|(key, _)| is_other(key)).collect();
    if !others.is_empty() {
        text.push_str("\n# Not held here. Remove the # before a key to set a value here.\n\n");
    }
    for (key, note) in others {
        let _ = writeln!(text, "#{key}=  # {}", printable(note));
    }
    text
}

fn write_entry(text: &mut String, entry: &Entry) {
    text.push('\n');
    if let Some(mark) = &entry.mark {
        let _ = writeln!(text, "{MARK}{mark}");
    }
    for line in entry.description.lines() {
        text.push_str(format!("# {line}").trim_end());
        text.push('\n');
    }
    text.push_str(entry.key.as_str());
    text.push('=');
    push_quoted(text, entry.value.reveal());
    text.push('\n');
}

/// Appends a value in quotes, escaped so that it is read back unchanged, even after an editor has
/// removed spaces at the ends of lines.
fn push_quoted(text: &mut String, value: &str) {
    if !value.contains(['\'', '\n', '\r']) {
        text.push('\'');
        text.push_str(value);
        text.push('\'');
        return;
    }
    // A line must not look like a mark, which is removed before the document is read.
    let has_marks = value.contains(&format!("\n{MARK}"));
    let is_one_line = has_marks || value.contains(" \n") || value.contains("\t\n");
    text.push('"');
    for c in value.chars() {
        match c {
            '\r' => text.push_str("\\r"),
            '\n' if is_one_line => text.push_str("\\n"),
            '"' | '\\' | '$' => text.extend(['\\', c]),
            _ => text.push(c),
        }
    }
    text.push('"');
}

/// Parses the edited document. Fails at the first invalid line.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut entries, mut keys) = (Vec::new(), BTreeSet::new());
    let mut description = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        let first = rest.split_inclusive('\n').next().unwrap_or_default();
        let content = first.trim();
        let mut length = first.len();
        if content == "#" || content.starts_with("# ") {
            description.push(content.get(2..).unwrap_or_default());
        } else if content.is_empty() || content.starts_with('#') {
            description.clear();
        } else {
            let (end, key, value) = assignment(rest, line)?;
            if !keys.insert(key.clone()) {
                return Err(Problem { line, rule: "the key appears twice".to_owned() });
            }
            let description = normalized(&std::mem::take(&mut description).join("\n"));
            entries.push(Entry { key, value, description, mark: None });
            length = end;
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    Ok(entries)
}

/// Parses the assignment at the start of `text`. Returns its length in bytes including line breaks,
/// the key and the value.
fn assignment(text: &str, line: usize) -> Result<(usize, SecretKey, Plaintext), Problem> {
    let mut end = 0;
    for part in text.split_inclusive('\n') {
        end += part.len();
        match dotenv::parse(&text[..end]) {
            Ok(secrets) => {
                let secret = secrets.into_iter().next();
                let rule = || "must be KEY=value".to_owned();
                let (key, value) = secret.ok_or_else(|| Problem { line, rule: rule() })?;
                return Ok((end, key, value));
            }
            // The value may continue on the next line.
            Err(bad)
                if bad.reason == Reason::OpenQuote && end < text.len() && end < MAX_ASSIGNMENT => {}
            Err(mut bad) => {
                let message = bad.to_string();
                let prefix = format!("line {}: ", bad.line);
                let rule = message.strip_prefix(&prefix).unwrap_or(&message).to_owned();
                bad.line += line - 1;
                return Err(Problem { line: bad.line, rule });
            }
        }
    }
    Err(Problem { line, rule: "must be KEY=value".to_owned() })
}

/// Inserts a comment with the violated rule above the invalid line.
pub(crate) fn with_mark(text: &str, problem: &Problem) -> Zeroizing<String> {
    let mut marked = Zeroizing::new(String::with_capacity(text.len() + 600));
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if number == problem.line {
            let _ = writeln!(marked, "{MARK}the next line is invalid: {}", problem.rule);
        }
        marked.push_str(line);
    }
    marked
}

/// Returns the mark of a conflict about the secret with this key. `found` is the change by others,
/// and `advice` explains how the user can resolve the conflict.
pub(super) fn conflict(key: &SecretKey, found: &str, advice: &str) -> String {
    format!("{CONFLICT}{key}: meanwhile {found}. {advice}")
}

/// Returns the keys of the conflicts whose marks are still in an edited text. `opened` is the text
/// that the editor was opened with.
pub(crate) fn conflicts(text: &str, opened: &str) -> BTreeSet<String> {
    let mut keys = conflict_keys(text);
    let marked = conflict_keys(opened);
    keys.retain(|key| marked.contains(key));
    keys
}

fn conflict_keys(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(conflict_key).map(str::to_owned).collect()
}

/// Returns the key in a line that is the mark of a conflict; `None` for any other line.
fn conflict_key(line: &str) -> Option<&str> {
    let mark = line.strip_prefix(MARK)?.strip_prefix(CONFLICT)?;
    mark.split_once(": ").map(|(key, _)| key)
}

/// Removes the comments about problems from an edited text, except the marks of conflicts. `opened`
/// is the text that the editor was opened with, in which this program has inserted the comments.
pub(crate) fn without_marks(text: &str, opened: &str) -> Zeroizing<String> {
    let is_removed = |line: &&str| line.starts_with(MARK) && conflict_key(line).is_none();
    let marks = opened.lines().filter(is_removed);
    let marks: BTreeSet<_> = marks.map(str::trim_end).collect();
    let mut clean = Zeroizing::new(String::with_capacity(text.len()));
    for line in text.split_inclusive('\n') {
        if !marks.contains(line.trim_end()) {
            clean.push_str(line);
        }
    }
    clean
}

/// Returns a description as it would be read from the document: without white space at its start,
/// at its end and at the ends of lines.
fn normalized(description: &str) -> String {
    let lines: Vec<_> = description.trim().lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::Place;

    fn entry(key: &str, value: &str, description: &str) -> Entry {
        let value = Plaintext::new(value.to_owned()).unwrap();
        let (key, description) = (key.parse().unwrap(), description.to_owned());
        Entry { key, value, description, mark: None }
    }

    fn environment(others: &[&str]) -> Environment {
        let place = Place { project: "web".to_owned(), environment: "staging".to_owned() };
        let other = |key: &&str| (key.parse().unwrap(), "from production".to_owned());
        Environment { place, own: Vec::new(), others: others.iter().map(other).collect() }
    }

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let tricky = [
            "",
            "kvc_1",
            "it's",
            "\"",
            "\\",
            "\\\\n",
            "$HOME ${A}",
            "a\nb\n",
            "\r\n",
            "a \nb",
            "# no",
            "#! secrets: no",
            "a\n#! secrets: no",
            "\t",
            "`",
            "x'\\\"$`\n\r\t ",
            "é日本😀",
            "=",
            "\n# comment\nA=1\n",
        ];
        let entries: Vec<_> = (0..)
            .zip(tricky)
            .map(|(n, value)| {
                entry(&format!("K{n}"), value, if n % 2 == 0 { "two\n\nlines" } else { "" })
            })
            .collect();

        let text = write(&environment(&["OTHER", "a.b-c"]), &entries);

        assert_eq!(parse(&text).unwrap(), entries);
        assert_eq!(*without_marks(&text, &text), *text);
        let stripped: Vec<_> = text.lines().map(str::trim_end).collect();
        assert_eq!(parse(&stripped.join("\n")).unwrap().len(), entries.len());
    }

    #[test]
    fn an_uncommented_key_has_no_description() {
        let text = write(&environment(&["A", "B"]), &[]).replace("#B=", "B=kvc_1");

        assert_eq!(parse(&text).unwrap(), [entry("B", "kvc_1", "")]);
    }

    #[test]
    fn the_mark_of_a_conflict_stays_until_the_user_removes_it() {
        let mark = |key: &str| Some(conflict(&key.parse().unwrap(), "deleted", "Decide."));
        let entries = ["A", "B.C"].map(|key| Entry { mark: mark(key), ..entry(key, "1", "note") });
        let opened = write(&environment(&[]), &entries);
        let edited = opened.replace("#! secrets: CONFLICT: A: meanwhile deleted. Decide.\n", "");

        assert_eq!(*without_marks(&edited, &opened), edited);
        assert_eq!(conflicts(&edited, &opened), BTreeSet::from(["B.C".to_owned()]));
        assert_eq!(conflicts(&opened, &edited), BTreeSet::from(["B.C".to_owned()]));
        assert_eq!(parse(&edited).unwrap(), [entry("A", "1", "note"), entry("B.C", "1", "note")]);
    }

    #[test]
    fn an_invalid_line_is_named_and_marked() {
        let text = "# note\n\nA='x\ny'\nnonsense\nB=1\n";

        let problem = parse(text).unwrap_err();

        assert_eq!(problem.line, 5);
        let marked = with_mark(text, &problem);
        assert!(
            marked.contains("y'\n#! secrets: the next line is invalid: must be KEY=value\nnons")
        );
        assert_eq!(*without_marks(&marked, &marked), text);
        assert_eq!(parse("A=1\nA=2\n").unwrap_err().line, 2);
        assert_eq!(parse("A=1\nB=\"open\nC=1").unwrap_err().line, 2);
    }
}
