//! `import`: creates or changes secrets from a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use secrets_core::model::SecretKey;

use crate::changes::{Action, Answer, AnsweredChange, Change, ChangeResult, ChangeSet};
use crate::failure::{Exit, Failure, Outcome};
use crate::import::{self, Entry, Found, ReadOptions, Source};
use crate::invocation::{Invocation, Place};
use crate::patterns::Patterns;

/// Options of the command `secrets import`.
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// File to read; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Format of the file, or program that has written the file.
    #[arg(long, value_enum, default_value_t)]
    from: Source,
    /// Print what would change, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace the values of existing secrets; by default, they are kept.
    #[arg(long)]
    overwrite: bool,
    /// Text to add before each key.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// Import only secrets whose name in the file matches a pattern; may be repeated.
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    /// TOML file with new keys: lines such as `"user name" = "DB_USER"`.
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Write nothing, and exit with 1 if the import would change anything.
    #[arg(long)]
    expect_same: bool,
    /// Convert numbers and booleans in the output of Vault to text.
    #[arg(long)]
    stringify: bool,
    /// Also import inherited secrets, if the file is an export with metadata.
    #[arg(long)]
    flatten: bool,
}

impl Import {
    /// Imports the secrets of the file.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let options = ReadOptions { stringify: self.stringify, flatten: self.flatten };
        let found = import::read_file(&self.file, self.from, options)?;
        for note in &found.notes {
            cx.output.note(note);
        }
        let entries = self.selected(found)?;
        check(&entries)?;
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let changes: Vec<_> =
            entries.into_iter().filter_map(|entry| change(&place, entry)).collect();
        if changes.is_empty() {
            return Err(Failure::new(Exit::Data, "there is nothing to import"));
        }
        let set = ChangeSet { project: &place.project, changes: &changes };
        let mut plan = set.check(&service).await?;
        if self.expect_same || self.dry_run {
            let is_same = plan.same == plan.changes.len();
            self.leave_out_kept(cx, &mut plan);
            plan.print(&cx.output)?;
            return Ok(if self.expect_same && !is_same {
                Outcome::Negative
            } else {
                Outcome::Done
            });
        }
        let effective = self.effective(changes, &plan);
        self.leave_out_kept(cx, &mut plan);
        let set = ChangeSet { project: &place.project, changes: &effective };
        let mut answer = set.apply(cx, &service).await?;
        answer.same = plan.same;
        answer.print(&cx.output)?;
        Ok(Outcome::Done)
    }

    /// Selects the entries that match `--only`, and renames them according to `--map` and
    /// `--prefix`.
    fn selected(&self, found: Found) -> Result<Vec<Entry>, Failure> {
        let only = Patterns::new(&self.only)?;
        let map = self.map.as_deref().map(read_map).transpose()?.unwrap_or_default();
        let mut entries = found.entries;
        entries.retain(|entry| self.only.is_empty() || only.matches(&entry.name));
        for entry in &mut entries {
            let name = map.get(&entry.name).unwrap_or(&entry.name);
            entry.name = format!("{}{name}", self.prefix);
        }
        Ok(entries)
    }

    /// Returns the changes that would have an effect according to `plan`, the results of a dry run.
    /// Each change expects the version that the secret had in the dry run.
    fn effective(&self, changes: Vec<Change>, plan: &Answer) -> Vec<Change> {
        let planned = changes.into_iter().zip(&plan.changes);
        planned
            .filter(|(_, planned)| self.is_effective(planned))
            .map(|(change, planned)| Change {
                expected_version: Some(planned.previous_version),
                ..change
            })
            .collect()
    }

    fn is_effective(&self, planned: &AnsweredChange) -> bool {
        match planned.result {
            ChangeResult::Created => true,
            ChangeResult::Same => false,
            _ => self.overwrite,
        }
    }

    /// Removes from `plan`, the results of a dry run, the existing secrets whose values are kept
    /// because `--overwrite` is missing, and prints their keys.
    fn leave_out_kept(&self, cx: &Invocation, plan: &mut Answer) {
        let kept = plan
            .extract(|planned| planned.result != ChangeResult::Same && !self.is_effective(planned));
        if !kept.is_empty() {
            let keys: Vec<_> = kept.iter().map(|planned| planned.key.as_str()).collect();
            cx.output.note(&format!(
                "these secrets have other values and are kept; --overwrite replaces them: {}",
                keys.join(", ")
            ));
        }
    }
}

/// Fails if an entry has an invalid key or value, or the same key as an earlier entry. The message
/// lists all violations.
fn check(entries: &[Entry]) -> Result<(), Failure> {
    let mut lines = Vec::new();
    let mut keys = std::collections::BTreeSet::new();
    for entry in entries {
        let name = crate::output::printable(&entry.name);
        if let Err(rule) = entry.name.parse::<SecretKey>() {
            lines.push(format!("{name}: the key {rule}"));
        } else if let Err(rule) = &entry.value {
            lines.push(format!("{name}: {rule}"));
        } else if !keys.insert(&entry.name) {
            lines.push(format!("{name}: two entries have this key after renaming"));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} of {} entries are refused, and nothing was written; --only leaves entries out, --map \
         renames them\n  {}",
        lines.len(),
        entries.len(),
        lines.join("\n  ")
    );
    Err(Failure::new(Exit::Data, message))
}

fn change(place: &Place, entry: Entry) -> Option<Change> {
    let action = Action::Set { value: entry.value.ok()?, description: entry.description };
    let environment = place.environment.clone();
    Some(Change { environment, key: entry.name, action, expected_version: None })
}

fn read_map(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::NoInput, format!("{name}: {error}")))?;
    toml::from_str(&text).map_err(|_| {
        let message =
            format!("{name}: must be TOML of texts by name, such as \"user name\" = \"USER\"");
        Failure::new(Exit::Data, message)
    })
}
