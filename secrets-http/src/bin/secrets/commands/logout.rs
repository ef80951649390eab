//! `logout`: ends a session, at the service and on this machine.

use clap::Args;
use reqwest::Method;
use serde_json::json;

use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::names;
use crate::offline;
use crate::service::Request;
use crate::settings::Server;

/// Prefix of the credential of a command-line session.
const SESSION_PREFIX: &str = "cli_";

/// Options of the command `secrets logout`.
#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// Sign out of all servers.
    #[arg(long)]
    all: bool,
}

impl Logout {
    /// Signs out of one server or of all servers.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let signed_in = cx.credentials().origins()?;
        let origins = if self.all {
            signed_in
        } else {
            let origin = cx.server()?.value.origin();
            if !signed_in.contains(&origin) {
                let message = format!("not signed in to {origin}");
                return Err(Failure::new(Exit::NotSignedIn, message));
            }
            vec![origin]
        };
        if origins.is_empty() {
            cx.output.note("Not signed in to any server.");
        }
        for origin in &origins {
            if let Err(failure) = revoke(cx, origin).await {
                let reason = failure.message;
                cx.output.warn(&format!("the session at {origin} was not revoked: {reason}"));
            }
            forget(cx, origin)?;
        }
        delete_copies(cx)?;
        names::forget(&cx.settings.folders);
        if cx.settings.variables.token()?.is_some() {
            cx.output.note("SECRETS_TOKEN or SECRETS_TOKEN_FILE is still set.");
        }
        if cx.output.format.is_json() {
            cx.output.json(&json!({ "servers": origins }))?;
        }
        Ok(Outcome::Done)
    }
}

/// Revokes the session at the service with this origin. A service token is not revoked, because
/// others may use it.
async fn revoke(cx: &Invocation, origin: &str) -> Result<(), Failure> {
    let Some(credential) = cx.credentials().get(origin)? else { return Ok(()) };
    if !credential.token.starts_with(SESSION_PREFIX) {
        cx.output.note(&format!("The token of {origin} remains valid at the service."));
        return Ok(());
    }
    let address = credential.metadata.address.as_deref().unwrap_or(origin);
    let service = cx.connect(Server::parse(address, true)?, Some(&credential.token))?;
    let revoked = service.send(Request::new(Method::POST, &["auth", "cli", "revoke"])).await;
    match revoked {
        // The session has ended or was revoked before.
        Err(failure) if failure.exit != Exit::NotSignedIn => Err(failure),
        _ => Ok(()),
    }
}

fn forget(cx: &Invocation, origin: &str) -> Result<(), Failure> {
    if let Err(error) = cx.credentials().forget(origin)? {
        cx.output.warn(&format!("the credential of {origin} is still in the keychain: {error}"));
    }
    cx.output.note(&format!("Signed out of {origin}."));
    Ok(())
}

/// Deletes the offline copies of the servers that the user is not signed in to. Copies are created
/// again when they are needed.
fn delete_copies(cx: &Invocation) -> Result<(), Failure> {
    let folder = cx.settings.folders.copies();
    offline::delete_copies(&folder, &cx.credentials().origins()?)
        .map_err(|error| Failure::configuration(format!("{}: {error}", folder.display())))
}
