//! `unset`: deletes secrets, or hides inherited secrets.

use clap::Args;

use crate::changes::{Action, Change, ChangeSet};
use crate::comparison::{Cell, Comparison, State};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::{Invocation, Place};

/// Options of the command `secrets unset`.
#[derive(Debug, Args)]
pub(crate) struct Unset {
    /// Key of the secret.
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,
    /// Hide the keys, so that inherited values do not become effective.
    #[arg(long)]
    hide: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    yes: bool,
}

impl Unset {
    /// Deletes the secrets, or hides their keys.
    pub(crate) async fn run(mut self, cx: &Invocation) -> Result<Outcome, Failure> {
        self.keys.sort();
        self.keys.dedup();
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let environments = [place.environment.as_str()];
        let comparison = Comparison::load(&service, &place.project, &environments, false).await?;
        let position = comparison.position(&place.environment)?;
        let mut cells = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let row = comparison.keys.iter().find(|row| row.key == *key);
            let cell = row.and_then(|row| row.cell(position));
            self.check(key, &place, cell)?;
            cells.extend(cell.map(|cell| (key.as_str(), cell)));
        }
        let hides = self.hide || self.offers_hiding(cx, &cells)?;
        if !hides {
            let question = format!("Delete {} and its history from {place}?", self.keys.join(", "));
            cx.output.confirm(&question, self.yes)?;
        }
        let change = |(key, cell): &(&str, &Cell)| Change {
            environment: place.environment.clone(),
            key: (*key).to_owned(),
            action: if hides { Action::Hide } else { Action::Delete },
            expected_version: Some(cell.own_version()),
        };
        let changes: Vec<_> = cells.iter().map(change).collect();
        let set = ChangeSet { project: &place.project, changes: &changes };
        set.apply(cx, &service).await?.print(&cx.output)?;
        Ok(Outcome::Done)
    }

    /// Fails if the environment itself does not have the secret. With `--hide`, an inherited secret
    /// is accepted too.
    fn check(&self, key: &str, place: &Place, cell: Option<&Cell>) -> Result<(), Failure> {
        let reason = match cell {
            None => "secret not found".to_owned(),
            Some(_) if self.hide => return Ok(()),
            Some(cell) if cell.own_version() > 0 => return Ok(()),
            Some(cell) => {
                let from = cell.from.as_deref().unwrap_or("an ancestor");
                format!("inherited from {from}, and not held here; --hide hides the key")
            }
        };
        Err(Failure::new(Exit::NotFound, format!("{key}: {reason} ({place})")))
    }

    /// Prints the keys whose inherited values would become effective after the deletion, and asks
    /// whether to hide the keys instead. Returns true if the user agrees.
    fn offers_hiding(&self, cx: &Invocation, cells: &[(&str, &Cell)]) -> Result<bool, Failure> {
        let mut shows_again = false;
        for (key, cell) in cells {
            let Some(from) = &cell.from else { continue };
            shows_again |= cell.state == State::Override;
            cx.output.note(&format!("{key}: the value of {from} will show again; --hide hides it"));
        }
        if !shows_again || self.yes || !cx.output.is_interactive {
            return Ok(false);
        }
        cx.output.asks_yes("Hide instead of deleting?")
    }
}
