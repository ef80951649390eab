//! `rollback`: restores an earlier version of a secret as its new version.

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;

/// Options of the command `secrets rollback`.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// Key of the secret.
    key: String,
    /// Version to restore.
    #[arg(long, value_name = "N")]
    to: u32,
    /// Restore the version only if the current version has this number.
    #[arg(long, value_name = "N")]
    if_version: Option<u32>,
}

impl Rollback {
    /// Restores an earlier version of the secret.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let mut body = json!({ "version": self.to });
        if let Some(version) = self.if_version {
            body["expected_version"] = json!(version);
        }
        let path = place.path(&["secrets", &self.key, "rollback"]);
        let response: Value = service.call(Method::POST, &path, &body).await?;
        if cx.output.format.is_json() {
            cx.output.json(&response)?;
        }
        let version = &response["secret"]["version"];
        cx.output
            .note(&format!("{}: version {version} has the value of version {}", self.key, self.to));
        Ok(Outcome::Done)
    }
}
