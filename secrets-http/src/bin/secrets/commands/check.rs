//! `check`: checks that required keys exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use secrets_core::formats::dotenv;
use serde_json::json;

use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::secret_list;

/// Options of the command `secrets check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Key that must exist [default without --require: the keys that the project file requires].
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Dotenv file whose keys must exist, such as `.env.example`; may be repeated.
    #[arg(long, value_name = "FILE")]
    require: Vec<PathBuf>,
}

impl Check {
    /// Checks the keys, and prints those that are missing.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let required = self.required(cx)?;
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let listed = secret_list::list(&service, &place).await?;
        let present: BTreeSet<_> =
            listed.into_iter().filter(|secret| !secret.hidden).map(|secret| secret.key).collect();
        let missing: Vec<_> = required.difference(&present).collect();
        if cx.output.format.is_json() {
            cx.output.json(&json!({ "missing": missing }))?;
        } else {
            missing.iter().try_for_each(|key| cx.output.line(key))?;
        }
        if missing.is_empty() {
            cx.output.note(&format!("{place}: all {} keys exist", required.len()));
            return Ok(Outcome::Done);
        }
        cx.output.note(&format!(
            "{place}: {} of {} keys are missing",
            missing.len(),
            required.len()
        ));
        Ok(Outcome::Negative)
    }

    fn required(&self, cx: &Invocation) -> Result<BTreeSet<String>, Failure> {
        let mut required: BTreeSet<_> = self.keys.iter().cloned().collect();
        for path in &self.require {
            required.extend(keys_of(path)?);
        }
        if required.is_empty() && self.require.is_empty() {
            required = from_project_file(cx)?;
        }
        if required.is_empty() {
            return Err(Failure::usage(
                "no keys: name keys, a file with --require, or `require` in the project file",
            ));
        }
        Ok(required)
    }
}

fn from_project_file(cx: &Invocation) -> Result<BTreeSet<String>, Failure> {
    let Some(file) = &cx.settings.project_file else { return Ok(BTreeSet::new()) };
    let mut required: BTreeSet<_> = file.run.require.iter().cloned().collect();
    if let (Some(path), Some(folder)) = (&file.run.require_file, &cx.settings.project_folder) {
        required.extend(keys_of(&folder.join(path))?);
    }
    Ok(required)
}

/// Returns the keys of a dotenv file. The values are ignored.
fn keys_of(path: &Path) -> Result<BTreeSet<String>, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::NoInput, format!("{name}: {error}")))?;
    let secrets = dotenv::parse(&text)
        .map_err(|error| Failure::new(Exit::Data, format!("{name}: {error}")))?;
    Ok(secrets.into_iter().map(|(key, _)| key.to_string()).collect())
}
