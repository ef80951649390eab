//! `history`: lists the versions of a secret.

use clap::Args;
use futures_util::future::join3;
use reqwest::Method;
use serde_json::{Value, json};

use super::member::Emails;
use crate::failure::{Failure, Outcome};
use crate::invocation::{Invocation, Place};
use crate::output::Column;
use crate::service::{Request, Service};

const COLUMNS: [Column; 4] = [
    Column::new("VERSION", "version"),
    Column::new("CHANGE", "change_type"),
    Column::time("CHANGED", "changed_at"),
    Column::new("BY", "changed_by"),
];
/// Column of the table that is added by `--reveal`.
const VALUE: Column = Column::new("VALUE", "value");
/// Maximum number of versions in one response of the service.
const PAGE_SIZE: usize = 100;

/// Options of the command `secrets history`.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// Key of the secret.
    key: String,
    /// Print the values too.
    #[arg(long)]
    reveal: bool,
    /// Maximum number of previous versions.
    #[arg(short = 'n', long, value_name = "N", default_value_t = PAGE_SIZE)]
    limit: usize,
}

impl History {
    /// Lists the versions of the secret.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let (previous, current, emails) = join3(
            self.previous(&service, &place),
            self.current(&service, &place),
            Emails::load(cx, &service, &place.project),
        )
        .await;
        let (mut versions, current) = (previous?, current?);
        if let Some(current) = current.filter(|_| !cx.output.format.is_json()) {
            versions.insert(0, current);
        }
        emails.replace(&mut versions, "changed_by");
        let mut columns = COLUMNS.to_vec();
        if self.reveal {
            columns.push(VALUE);
        }
        cx.output.list(&json!({ "history": versions }), "history", &columns)?;
        Ok(Outcome::Done)
    }

    /// Loads the previous versions of the secret, newest first.
    async fn previous(&self, service: &Service, place: &Place) -> Result<Vec<Value>, Failure> {
        let path = place.path(&["secrets", &self.key, "history"]);
        let mut versions: Vec<Value> = Vec::new();
        while versions.len() < self.limit {
            let size = PAGE_SIZE.min(self.limit - versions.len());
            let mut request = Request::new(Method::GET, &path)
                .query("values", self.reveal.to_string())
                .query("limit", size.to_string());
            if let Some(last) = versions.last() {
                request = request.query("before", last["version"].to_string());
            }
            let mut response: Value = service.send(request).await?.json()?;
            let page = response["history"].as_array_mut().map(std::mem::take).unwrap_or_default();
            let is_last = page.len() < size;
            versions.extend(page);
            if is_last {
                break;
            }
        }
        Ok(versions)
    }

    /// Returns the current version in the same form as previous versions. `None` if the environment
    /// holds no such secret.
    async fn current(&self, service: &Service, place: &Place) -> Result<Option<Value>, Failure> {
        let mut listed = service.value(&place.path(&["secrets"])).await?;
        let secrets = listed["secrets"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let found = secrets.into_iter().find(|secret| {
            secret["key"] == self.key.as_str() && secret["inherited_from"].is_null()
        });
        let Some(secret) = found else { return Ok(None) };
        let is_hidden = secret["hidden"] == true;
        let mut current = json!({
            "version": secret["version"],
            "change_type": if is_hidden { "current, hidden" } else { "current" },
            "changed_at": secret["updated_at"],
            "changed_by": secret["updated_by"],
        });
        if self.reveal && !is_hidden {
            let response = service.value(&place.path(&["secrets", &self.key])).await?;
            current["value"] = response["secret"]["value"].clone();
        }
        Ok(Some(current))
    }
}
