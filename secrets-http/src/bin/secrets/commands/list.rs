//! `list`: lists the secrets of the environment, or a grid of all environments, without values.

use clap::Args;
use futures_util::future::join;
use serde_json::Value;

use super::member::Emails;
use crate::comparison::{Comparison, unreadable};
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::{Column, cell};
use crate::patterns::Patterns;
use crate::service::Service;

const COLUMNS: [Column; 6] = [
    Column::new("KEY", "key"),
    Column::new("VERSION", "version"),
    Column::new("FROM", "inherited_from"),
    Column::time("CHANGED", "updated_at"),
    Column::new("BY", "updated_by"),
    Column::new("DESCRIPTION", "description"),
];

/// Options of the command `secrets list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Pattern of keys, such as `DB_*` [default: all keys].
    #[arg(value_name = "GLOB")]
    patterns: Vec<String>,
    /// Print a grid of all environments of the project.
    #[arg(short, long)]
    all_environments: bool,
}

impl List {
    /// Prints the list of secrets.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let service = cx.service()?;
        if self.all_environments {
            return self.print_grid(cx, &service).await;
        }
        let place = cx.place(&service).await?;
        let path = place.path(&["secrets"]);
        let (response, emails) =
            join(service.value(&path), Emails::load(cx, &service, &place.project)).await;
        let mut response: Value = response?;
        self.filter(&mut response, "secrets")?;
        mark_hidden(&mut response, cx.output.format.is_json());
        if let Some(secrets) = response["secrets"].as_array_mut() {
            emails.replace(secrets, "updated_by");
        }
        cx.output.list(&response, "secrets", &COLUMNS)?;
        Ok(Outcome::Done)
    }

    async fn print_grid(&self, cx: &Invocation, service: &Service) -> Result<Outcome, Failure> {
        let project = cx.project(service).await?;
        let mut document = Comparison::document(service, &project, &[], false).await?;
        self.filter(&mut document, "keys")?;
        if cx.output.format != crate::arguments::OutputFormat::Table {
            cx.output.list(&document, "keys", &COLUMNS[..1])?;
            return Ok(Outcome::Done);
        }
        let comparison: Comparison = serde_json::from_value(document).map_err(|_| unreadable())?;
        let mut titles = vec!["KEY"];
        titles.extend(comparison.environments.iter().map(|environment| environment.name.as_str()));
        let rows = comparison.keys.iter().map(|row| {
            let states = comparison.environments.iter().zip(&row.cells).map(
                |(environment, cell)| match cell {
                    Some(cell) => cell.text(),
                    None if environment.role == "none" => "no access".to_owned(),
                    None => "-".to_owned(),
                },
            );
            std::iter::once(row.key.clone()).chain(states).collect()
        });
        cx.output.table(&titles, rows)?;
        Ok(Outcome::Done)
    }

    /// Removes from the list `field` of the response all entries whose keys match no pattern.
    fn filter(&self, response: &mut Value, field: &str) -> Result<(), Failure> {
        if self.patterns.is_empty() {
            return Ok(());
        }
        let patterns = Patterns::new(&self.patterns)?;
        if let Some(rows) = response.get_mut(field).and_then(Value::as_array_mut) {
            rows.retain(|row| patterns.matches(&cell(row, "key")));
        }
        Ok(())
    }
}

/// Writes `(hidden)` into the field `inherited_from` of hidden keys, for tables. With JSON output,
/// the response is unchanged.
fn mark_hidden(response: &mut Value, in_json: bool) {
    let rows = response.get_mut("secrets").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten().filter(|_| !in_json) {
        if row.get("hidden") == Some(&Value::Bool(true)) {
            row["inherited_from"] = Value::from("(hidden)");
        }
    }
}
