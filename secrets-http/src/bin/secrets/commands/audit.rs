//! `audit`: prints the audit log, or verifies its chain.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use clap::{Args, ValueEnum};
use reqwest::Method;
use secrets_core::model::{Clock as _, SystemClock, Time};
use serde::Deserialize;
use serde_json::{Value, json};

use super::team::TeamOption;
use crate::arguments::OutputFormat;
use crate::comparison::unreadable;
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::service::{Request, Service};

/// Maximum number of audit entries in one response of the service.
const PAGE: usize = 200;

/// Time between two requests of `--follow` for new entries.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Overlap of the time ranges of two requests of `--follow`. Some entries are written some time
/// after the time that they contain, so the last seconds are requested again.
const OVERLAP: chrono::TimeDelta = chrono::TimeDelta::seconds(30);

/// Maximum number of entries whose IDs `--follow` remembers, in order not to print them twice.
const MAX_PRINTED: usize = 20_000;

const COLUMNS: [Column; 7] = [
    Column::time("TIME", "created_at"),
    Column::new("ACTION", "action"),
    Column::new("OUTCOME", "outcome"),
    Column::new("ACTOR", "actor_name"),
    Column::new("RESOURCE", "resource_name"),
    Column::new("PROJECT", "project_name"),
    Column::new("ENVIRONMENT", "environment_name"),
];

/// Options of the command `secrets audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Only the options limit the entries; the project and environment of the settings do not. With -o json, the entries are \
one document; with --format ndjson or --follow -o json, one JSON object per line.")]
pub(crate) struct Audit {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    team: TeamOption,
    /// Maximum number of entries.
    #[arg(short = 'n', long, default_value_t = 50)]
    limit: usize,
    /// Print the oldest entries first.
    #[arg(long)]
    reverse: bool,
    /// Format of the entries, instead of the format of -o.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print new entries as they are written, until Ctrl-C.
    #[arg(short, long, conflicts_with_all = ["to", "reverse"])]
    follow: bool,
    /// Verify the newest 5,000 entries of a team's log instead of printing entries; exit code 1 if
    /// they were changed.
    #[arg(long, conflicts_with_all = [
        "action", "actor_id", "actor_type", "project_id", "environment_id", "resource_type",
        "resource_id", "key", "outcome", "ip", "from", "to", "limit", "reverse", "format", "follow",
    ])]
    verify: bool,
}

/// Filters for audit entries, named like the query parameters of the REST API.
#[derive(Debug, Args)]
struct Filter {
    /// Action, such as `secret.read` or `secret.*`; may be repeated.
    #[arg(long)]
    action: Vec<String>,
    /// ID of the user or token that acted.
    #[arg(long, value_name = "ID")]
    actor_id: Option<String>,
    /// Type of the caller that acted.
    #[arg(long, value_parser = ["user", "service_token", "system", "anonymous"])]
    actor_type: Option<String>,
    /// Project ID.
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Environment ID.
    #[arg(long, value_name = "ID")]
    environment_id: Option<String>,
    /// Type of resource, such as `secret`.
    #[arg(long, value_name = "TYPE")]
    resource_type: Option<String>,
    /// ID of the resource.
    #[arg(long, value_name = "ID")]
    resource_id: Option<String>,
    /// Key of the secret.
    #[arg(long)]
    key: Option<String>,
    /// Outcome of the operation.
    #[arg(long, value_parser = ["success", "denied", "failure"])]
    outcome: Option<String>,
    /// IP address of the client.
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<String>,
    /// Start of the time range, such as 2027-01-31T00:00:00Z [default: 30 days ago].
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// End of the time range, exclusive.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

/// Format of the printed audit entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object per line.
    Ndjson,
}

#[derive(Deserialize)]
struct Page {
    logs: Vec<Value>,
    next_cursor: Option<String>,
}

/// Result of verifying the audit chain (the chain of hashes of all audit entries) of a team.
#[derive(Deserialize)]
struct Chain {
    status: Status,
    checked: u64,
    unchecked: u64,
    broken_position: Option<u64>,
    unsealed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Valid,
    Broken,
}

/// Client for requests to the audit log, with the filters of the command line.
struct Query<'a> {
    service: Service,
    filter: &'a Filter,
    team: Option<String>,
}

/// IDs of the audit entries that were already printed. Some entries are received twice, because the
/// requests of `--follow` overlap.
#[derive(Default)]
struct Printed {
    order: VecDeque<String>,
    ids: BTreeSet<String>,
}

impl Audit {
    /// Prints or verifies the audit log.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let service = cx.service()?;
        if self.verify {
            let team = self.team.id(cx, &service).await?;
            let chain = service.value(&["teams", &team, "audit", "verification"]).await?;
            return print_chain(cx, &chain);
        }
        let team = self.team.named(&service).await?;
        let query = Query { service, filter: &self.filter, team };
        if self.follow {
            return tokio::select! {
                result = self.follow(cx, &query) => result,
                _ = tokio::signal::ctrl_c() => Err(Failure::new(Exit::Interrupted, "interrupted")),
            };
        }
        let order = if self.reverse { "asc" } else { "desc" };
        let logs = query.read(order, self.filter.from.as_deref(), self.limit).await?;
        self.print(cx, &logs)?;
        Ok(Outcome::Done)
    }

    fn print(&self, cx: &Invocation, logs: &[Value]) -> Result<(), Failure> {
        if self.format == Some(Format::Ndjson) || (self.follow && cx.output.format.is_json()) {
            return logs
                .iter()
                .try_for_each(|entry| cx.output.raw(format!("{entry}\n").as_bytes()));
        }
        cx.output.list(&json!({ "logs": logs }), "logs", &COLUMNS)
    }

    /// Prints the newest entries, then new entries as they are written. Continues after a
    /// temporary failure.
    async fn follow(&self, cx: &Invocation, query: &Query<'_>) -> Result<Outcome, Failure> {
        let mut printed = Printed::default();
        let mut first = self.filter.from.as_deref().map(start).transpose()?;
        let mut last = query.time().await?;
        if self.limit == 0 {
            // Only new entries are printed, not the older ones in the overlap of the time ranges.
            first = first.max(Some(last));
        }
        let mut logs = query.read("desc", self.filter.from.as_deref(), self.limit).await?;
        logs.reverse();
        let mut is_interrupted = false;
        loop {
            logs.retain(|entry| printed.insert(entry));
            let newest = logs.last().and_then(|entry| entry["created_at"].as_str());
            last = newest.and_then(time).unwrap_or(last);
            self.print_new(cx, &logs)?;
            tokio::time::sleep(POLL_INTERVAL).await;
            let overlap = last - OVERLAP;
            let from = text(first.map_or(overlap, |first| first.max(overlap)));
            logs = match query.read("asc", Some(&from), MAX_PRINTED).await {
                Ok(logs) => {
                    is_interrupted = false;
                    logs
                }
                Err(failure) if failure.is_temporary() => {
                    if !std::mem::replace(&mut is_interrupted, true) {
                        let message = &failure.message;
                        cx.output.warn(&format!("entries cannot be read, trying again: {message}"));
                    }
                    Vec::new()
                }
                Err(failure) => return Err(failure),
            };
        }
    }

    /// Prints entries of `--follow`, each in one line unless another format is chosen.
    fn print_new(&self, cx: &Invocation, logs: &[Value]) -> Result<(), Failure> {
        if cx.output.format == OutputFormat::Table && self.format.is_none() {
            return logs.iter().try_for_each(|entry| cx.output.line(&line(entry)));
        }
        self.print(cx, logs)
    }
}

impl Query<'_> {
    /// Returns the current time: the date of a response of the service, or else the time of this
    /// machine.
    async fn time(&self) -> Result<Time, Failure> {
        let response = self.service.send(self.request(None).query("limit", "1")).await?;
        let date = response.header("date").map(chrono::DateTime::parse_from_rfc2822);
        Ok(date.and_then(Result::ok).map_or_else(|| SystemClock.now(), |time| time.to_utc()))
    }

    /// Loads at most `limit` audit entries, page by page. A page without entries is the last page
    /// only if it has no cursor.
    async fn read(
        &self,
        order: &str,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Value>, Failure> {
        let (mut logs, mut cursor) = (Vec::new(), None::<String>);
        while logs.len() < limit {
            let count = PAGE.min(limit - logs.len());
            let mut request = self.request(from).query("order", order);
            request = request.query("limit", count.to_string());
            if let Some(cursor) = &cursor {
                request = request.query("cursor", cursor);
            }
            let page: Page = self.service.send(request).await?.json()?;
            logs.extend(page.logs);
            if page.next_cursor.is_none() {
                break;
            }
            // A service that repeats a cursor would cause an endless loop.
            if page.next_cursor == cursor {
                return Err(unreadable());
            }
            cursor = page.next_cursor;
        }
        Ok(logs)
    }

    fn request(&self, from: Option<&str>) -> Request<'static> {
        let filter = self.filter;
        let mut request = Request::new(Method::GET, &["audit"]);
        for action in &filter.action {
            request = request.query("action", action);
        }
        let others = [
            ("team_id", &self.team),
            ("actor_id", &filter.actor_id),
            ("actor_type", &filter.actor_type),
            ("project_id", &filter.project_id),
            ("environment_id", &filter.environment_id),
            ("resource_type", &filter.resource_type),
            ("resource_id", &filter.resource_id),
            ("key", &filter.key),
            ("outcome", &filter.outcome),
            ("ip", &filter.ip),
            ("to", &filter.to),
        ];
        for (name, value) in others {
            if let Some(value) = value {
                request = request.query(name, value);
            }
        }
        match from {
            Some(from) => request.query("from", from),
            None => request,
        }
    }
}

impl Printed {
    /// Remembers an entry as printed. Returns false if the entry was printed before.
    fn insert(&mut self, entry: &Value) -> bool {
        let id = entry["id"].as_str().unwrap_or_default().to_owned();
        if !self.ids.insert(id.clone()) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > MAX_PRINTED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

/// Prints the state of an audit chain. With JSON output, prints the response unchanged. The outcome
/// is negative if the chain is broken.
fn print_chain(cx: &Invocation, response: &Value) -> Result<Outcome, Failure> {
    let chain = Chain::deserialize(response).map_err(|_| unreadable())?;
    if cx.output.format.is_json() {
        cx.output.json(response)?;
    } else {
        cx.output.line(&chain.line())?;
    }
    Ok(if chain.status == Status::Valid { Outcome::Done } else { Outcome::Negative })
}

impl Chain {
    /// Returns the state of the chain as one line of text.
    fn line(&self) -> String {
        let Self { checked, unchecked, unsealed, .. } = self;
        match (self.status, self.broken_position) {
            (Status::Valid, _) => format!(
                "chain valid: {checked} entries checked, {unchecked} older entries not checked, \
                 {unsealed} not yet sealed"
            ),
            (Status::Broken, Some(position)) => format!("chain broken at entry {position}"),
            (Status::Broken, None) => {
                "chain broken: its stored start or end was changed or deleted".to_owned()
            }
        }
    }
}

/// Returns an audit entry as one line of text, without the alignment of a table.
fn line(entry: &Value) -> String {
    let cells = COLUMNS.iter().map(|column| column.text(entry));
    cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("  ")
}

/// Parses the option `--from` for `--follow`, which compares this time with the times of entries.
/// Without `--follow`, only the service parses the option.
fn start(text: &str) -> Result<Time, Failure> {
    let rule = "--from: must be a time such as 2026-11-21T12:00:00Z";
    time(text).ok_or_else(|| Failure::new(Exit::Data, rule))
}

/// Parses a time in the format of RFC 3339. Returns `None` if the text is invalid.
fn time(text: &str) -> Option<Time> {
    chrono::DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc())
}

/// Formats a time as the service does: RFC 3339 in UTC, with microseconds.
fn text(time: Time) -> String {
    time.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
}
