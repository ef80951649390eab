//! `diff`: compares two environments, or an environment and a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::Args;
use secrets_core::crypto::Plaintext;
use secrets_core::model::EnvironmentName;
use serde::Serialize;

use crate::comparison::{Cell, Comparison, Row};
use crate::failure::{Exit, Failure, Outcome};
use crate::import::{self, ReadOptions, Source};
use crate::invocation::{Invocation, Place};
use crate::output::printable;
use crate::secret_list;
use crate::service::Service;

/// Options of the command `secrets diff`.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Environment or file. An argument with a dot or a slash is a file, `-` is standard input.
    a: String,
    /// Environment or file to compare with [default: the environment of the settings is compared
    /// with A].
    b: Option<String>,
    /// Compare the keys only, not the values.
    #[arg(long, conflicts_with = "values")]
    keys_only: bool,
    /// Print the values that are different.
    #[arg(long)]
    values: bool,
    /// Print equal keys too.
    #[arg(long)]
    all: bool,
}

/// Argument of `diff`: an environment, or a file.
#[derive(Debug, Clone, Copy)]
enum Side<'a> {
    Environment(&'a str),
    File(&'a str),
}

/// Difference between the two sides for one key.
#[derive(Debug, Serialize)]
struct Difference {
    key: String,
    state: State,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "secrets_core::crypto::revealed"
    )]
    from_value: Option<Plaintext>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "secrets_core::crypto::revealed"
    )]
    to_value: Option<Plaintext>,
}

/// Kind of difference between the two sides for one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// Only the second side has the key.
    Added,
    /// Only the first side has the key.
    Removed,
    /// Both sides have the key, with different values.
    Changed,
    /// Both sides have the key, but the value of one side cannot be read.
    Unknown,
    /// Both sides have the key with the same value.
    Same,
}

/// Output of the command as JSON.
#[derive(Serialize)]
struct Document<'a> {
    from: &'a str,
    to: &'a str,
    differences: Vec<Difference>,
}

/// Values of one side of the comparison, by key.
type Values = BTreeMap<String, Plaintext>;

impl Diff {
    /// Compares the two sides and prints the differences.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let service = cx.service()?;
        let (project, a, b) = if let Some(b) = &self.b {
            (cx.project(&service).await?, self.a.clone(), b.clone())
        } else {
            let place = cx.place(&service).await?;
            (place.project, place.environment, self.a.clone())
        };
        if a == "-" && b == "-" {
            return Err(Failure::usage("only one side can be standard input"));
        }
        let sides = Sides { service: &service, project: &project };
        let mut differences = self.differences(&sides, Side::parse(&a), Side::parse(&b)).await?;
        let is_equal = differences.iter().all(|difference| difference.state == State::Same);
        if !self.all {
            differences.retain(|difference| difference.state != State::Same);
        }
        print(cx, &Document { from: &a, to: &b, differences })?;
        Ok(if is_equal { Outcome::Done } else { Outcome::Negative })
    }

    /// Compares the two sides. The values of a side are read at most once.
    async fn differences(
        &self,
        sides: &Sides<'_>,
        a: Side<'_>,
        b: Side<'_>,
    ) -> Result<Vec<Difference>, Failure> {
        let compared = match (a, b) {
            (Side::Environment(a), Side::Environment(b)) => {
                let compared = sides.compare(a, b, self.keys_only).await?;
                if !self.values {
                    return Ok(compared);
                }
                Some(compared)
            }
            _ => None,
        };
        let (from, to) = (sides.values(a).await?, sides.values(b).await?);
        let mut compared = compared.unwrap_or_else(|| differences(&from, &to, self.keys_only));
        if self.values {
            add_values(&mut compared, &from, &to);
        }
        Ok(compared)
    }
}

impl<'a> Side<'a> {
    /// Parses an argument. An environment name or ID stands for an environment; any other string is
    /// the path of a file, because names contain neither dots nor slashes.
    fn parse(text: &'a str) -> Self {
        let is_name = text.parse::<EnvironmentName>().is_ok() || text.parse::<uuid::Uuid>().is_ok();
        if is_name { Self::Environment(text) } else { Self::File(text) }
    }
}

/// Loads and compares the two sides of a comparison in one project.
struct Sides<'a> {
    service: &'a Service,
    project: &'a str,
}

impl Sides<'_> {
    /// Compares two environments. The service compares the values, so they are not sent to this
    /// program.
    async fn compare(&self, a: &str, b: &str, keys_only: bool) -> Result<Vec<Difference>, Failure> {
        let comparison = Comparison::load(self.service, self.project, &[a, b], !keys_only).await?;
        let (a, b) = (comparison.position(a)?, comparison.position(b)?);
        let difference = |row: &Row| Difference::of(row, (a, b), keys_only);
        Ok(comparison.keys.iter().filter_map(difference).collect())
    }

    async fn values(&self, side: Side<'_>) -> Result<Values, Failure> {
        match side {
            Side::Environment(environment) => {
                let (project, environment) = (self.project.to_owned(), environment.to_owned());
                let place = Place { project, environment };
                let secrets = secret_list::export(self.service, &place).await?;
                Ok(secrets
                    .into_iter()
                    .map(|secret| (secret.key.to_string(), secret.value))
                    .collect())
            }
            Side::File(path) => from_file(path),
        }
    }
}

/// Reads the values of a file, in any format that `import` recognizes.
fn from_file(path: &str) -> Result<Values, Failure> {
    let found = import::read_file(Path::new(path), Source::Auto, ReadOptions::default())?;
    let mut values = Values::new();
    for entry in found.entries {
        let refuse =
            |rule: String| Failure::new(Exit::Data, format!("{path}: {}: {rule}", entry.name));
        let value = entry.value.map_err(refuse)?;
        values.insert(entry.name, value);
    }
    Ok(values)
}

impl Difference {
    fn new(key: &str, state: State) -> Self {
        let (from_value, to_value) = (None, None);
        Self { key: key.to_owned(), state, note: String::new(), from_value, to_value }
    }

    /// Returns the difference of a key between the environments at the positions `a` and `b` of the
    /// comparison. Returns `None` if neither environment has a value for the key.
    fn of(row: &Row, (a, b): (usize, usize), keys_only: bool) -> Option<Self> {
        let (a, b) = (row.cell(a), row.cell(b));
        let has = |cell: Option<&Cell>| cell.is_some_and(Cell::has_value);
        let group = |cell: Option<&Cell>| cell.and_then(|cell| cell.group);
        let state = match (has(a), has(b)) {
            (false, false) => return None,
            (false, true) => State::Added,
            (true, false) => State::Removed,
            (true, true) if keys_only => State::Same,
            (true, true) => match (group(a), group(b)) {
                (Some(a), Some(b)) if a == b => State::Same,
                (Some(_), Some(_)) => State::Changed,
                _ => State::Unknown,
            },
        };
        let text = |cell: Option<&Cell>| cell.map_or_else(|| "none".to_owned(), Cell::text);
        let note = format!("{} -> {}", text(a), text(b));
        Some(Self { note, ..Self::new(&row.key, state) })
    }

    fn sign(&self) -> char {
        match self.state {
            State::Added => '+',
            State::Removed => '-',
            State::Changed => '~',
            State::Unknown => '?',
            State::Same => '=',
        }
    }
}

fn differences(from: &Values, to: &Values, keys_only: bool) -> Vec<Difference> {
    let keys: BTreeSet<_> = from.keys().chain(to.keys()).collect();
    let state = |key: &String| match (from.get(key), to.get(key)) {
        (None, _) => State::Added,
        (_, None) => State::Removed,
        (a, b) if keys_only || a == b => State::Same,
        _ => State::Changed,
    };
    keys.into_iter().map(|key| Difference::new(key, state(key))).collect()
}

fn add_values(differences: &mut [Difference], from: &Values, to: &Values) {
    let differing = differences.iter_mut().filter(|difference| difference.state != State::Same);
    for difference in differing {
        difference.from_value = from.get(&difference.key).cloned();
        difference.to_value = to.get(&difference.key).cloned();
    }
}

fn print(cx: &Invocation, document: &Document<'_>) -> Result<(), Failure> {
    if cx.output.format.is_json() {
        return cx.output.json(document);
    }
    let is_name = cx.output.format == crate::arguments::OutputFormat::Name;
    for difference in &document.differences {
        if is_name {
            cx.output.line(&difference.key)?;
            continue;
        }
        let note = match difference.note.as_str() {
            "" => String::new(),
            note => format!("  ({note})"),
        };
        cx.output.line(&format!("{} {}{note}", difference.sign(), difference.key))?;
        for (sign, value) in [('-', &difference.from_value), ('+', &difference.to_value)] {
            for line in value.iter().flat_map(|value| value.reveal().split('\n')) {
                cx.output.line(&format!("    {sign} {}", printable(line)))?;
            }
        }
    }
    let (number, from, to) = (document.differences.len(), document.from, document.to);
    if number == 0 {
        cx.output.note(&format!("{from} and {to} have the same secrets"));
    }
    Ok(())
}
