//! `copy`: copies secrets from one environment to another, inside the service.

use clap::Args;

use crate::changes::{Action, Answer, Change, ChangeResult, ChangeSet};
use crate::comparison::{Cell, Comparison};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::patterns::Patterns;

/// Options of the command `secrets copy`.
#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// Environment to copy from [default: the environment of the settings].
    #[arg(long, value_name = "ENVIRONMENT")]
    from: Option<String>,
    /// Environment to copy to.
    #[arg(long, value_name = "ENVIRONMENT")]
    to: String,
    /// Keys or patterns of keys [default: all keys].
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Copy only keys for which the target environment has no value.
    #[arg(long, conflicts_with = "overwrite")]
    missing: bool,
    /// Replace values of the target environment that are different.
    #[arg(long)]
    overwrite: bool,
    /// Print what would change, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Copy {
    /// Copies the selected secrets to the target environment.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let service = cx.service()?;
        let (project, from) = if let Some(from) = &self.from {
            (cx.project(&service).await?, from.clone())
        } else {
            let place = cx.place(&service).await?;
            (place.project, place.environment)
        };
        let environments = [from.as_str(), &self.to];
        let comparison = Comparison::load(&service, &project, &environments, false).await?;
        let changes = self.changes(&comparison, &from)?;
        if changes.is_empty() {
            let nothing = Answer { dry_run: self.dry_run, ..Answer::default() };
            cx.output.result("nothing to copy", &nothing)?;
            return Ok(Outcome::Done);
        }
        let set = ChangeSet { project: &project, changes: &changes };
        let plan = set.check(&service).await?;
        if self.dry_run {
            plan.print(&cx.output)?;
            return Ok(Outcome::Done);
        }
        self.check_overwriting(&plan)?;
        set.apply(cx, &service).await?.print(&cx.output)?;
        Ok(Outcome::Done)
    }

    /// Returns the changes that copy the selected keys. Each change expects the version that the
    /// comparison contains.
    fn changes(&self, comparison: &Comparison, from: &str) -> Result<Vec<Change>, Failure> {
        let (source, target) = (comparison.position(from)?, comparison.position(&self.to)?);
        if source == target {
            return Err(Failure::usage("--from and --to are the same environment"));
        }
        self.check_keys(comparison, source)?;
        let patterns = Patterns::new(&self.keys)?;
        let rows = comparison.keys.iter().filter(|row| {
            let is_selected = self.keys.is_empty() || patterns.matches(&row.key);
            let has_target = row.cell(target).is_some_and(Cell::has_value);
            let has_source = row.cell(source).is_some_and(Cell::has_value);
            is_selected && has_source && !(self.missing && has_target)
        });
        let change = |row: &crate::comparison::Row| Change {
            environment: self.to.clone(),
            key: row.key.clone(),
            action: Action::Copy { from: from.to_owned() },
            expected_version: Some(row.cell(target).map_or(0, Cell::own_version)),
        };
        Ok(rows.map(change).collect())
    }

    /// Fails if a key or pattern on the command line matches no key in the source environment.
    fn check_keys(&self, comparison: &Comparison, source: usize) -> Result<(), Failure> {
        for key in &self.keys {
            let pattern = Patterns::new(std::slice::from_ref(key))?;
            let is_there = comparison.keys.iter().any(|row| {
                pattern.matches(&row.key) && row.cell(source).is_some_and(Cell::has_value)
            });
            if !is_there {
                let environment = &comparison.environments[source].name;
                let message = format!("{key}: {environment} has no such secret");
                return Err(Failure::new(Exit::NotFound, message));
            }
        }
        Ok(())
    }

    fn check_overwriting(&self, plan: &Answer) -> Result<(), Failure> {
        let updated = plan.changes.iter().filter(|change| change.result == ChangeResult::Updated);
        let keys: Vec<_> = updated.map(|change| change.key.as_str()).collect();
        if self.overwrite || keys.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{} holds other values of {}; --overwrite replaces them, --missing leaves them; nothing \
             was written",
            self.to,
            keys.join(", ")
        );
        Err(Failure::new(Exit::Conflict, message))
    }
}
