//! `whoami`: prints the signed-in user or service token.

use clap::Args;
use serde_json::{Value, json};

use crate::arguments::OutputFormat;
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;

const FIELDS: [Column; 7] = [
    Column::new("EMAIL", "email"),
    Column::new("NAME", "name"),
    Column::new("SERVER", "server"),
    Column::new("TYPE", "auth_type"),
    Column::new("PERMISSIONS", "permissions"),
    Column::time("EXPIRES", "expires_at"),
    Column::new("ID", "id"),
];

/// Options of the command `secrets whoami`.
#[derive(Debug, Args)]
pub(crate) struct Whoami {}

impl Whoami {
    /// Prints the user or the service token to which the credential belongs.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let service = cx.service()?;
        let mut response: Value = service.value(&["users", "me"]).await?;
        let format = cx.output.format;
        if format == OutputFormat::Table {
            response["server"] = json!(service.server().to_string());
        }
        // A service token has no e-mail address.
        if format == OutputFormat::Name && response.get("email").is_none() {
            response["email"] = response["name"].clone();
        }
        cx.output.object(&response, &FIELDS)?;
        Ok(Outcome::Done)
    }
}
