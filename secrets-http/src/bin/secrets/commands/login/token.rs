//! Sign-in with a token from standard input.

use std::io::{self, IsTerminal as _};

use chrono::{DateTime, Utc};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use crate::credentials::{Credential, CredentialMetadata};
use crate::failure::{Exit, Failure};
use crate::input::read_text;
use crate::invocation::Invocation;
use crate::output::printable;
use crate::settings::Server;

/// Owner and expiry of a token, from the response to `users/me`.
#[derive(Deserialize)]
struct Me {
    email: Option<String>,
    name: Option<String>,
    expires_at: Option<DateTime<Utc>>,
}

/// Reads a token from standard input, or asks for it on a terminal, and checks that the service
/// accepts it.
pub(super) async fn sign_in(cx: &Invocation, server: &Server) -> Result<Credential, Failure> {
    let token = read(cx)?;
    let service = cx.connect(server.clone(), Some(&token))?;
    let me = match service.get::<Me>(&["users", "me"]).await {
        // The first sign-in of this person creates the account.
        Err(failure) if failure.exit == Exit::NotFound => {
            service.call(Method::POST, &["auth", "sync"], &json!({})).await?
        }
        found => found?,
    };
    let user = me.email.or(me.name).map(|name| printable(&name));
    let metadata =
        CredentialMetadata { user, expires_at: me.expires_at, ..CredentialMetadata::default() };
    Ok(Credential { token, metadata, private_key: None })
}

fn read(cx: &Invocation) -> Result<Zeroizing<String>, Failure> {
    let mut text = if cx.output.is_interactive {
        cx.output.ask_hidden("Token")?
    } else if io::stdin().is_terminal() {
        // The terminal would show the token.
        return Err(Failure::usage("--token-stdin: pipe the token to standard input"));
    } else {
        read_text(&"--token-stdin: standard input", io::stdin())?
    };
    let token = text.trim();
    if token.is_empty() || token.contains(|c: char| !c.is_ascii_graphic()) {
        let message = "--token-stdin: standard input must contain one token";
        return Err(Failure::new(Exit::Data, message));
    }
    if token.len() < text.len() {
        text = Zeroizing::new(token.to_owned());
    }
    Ok(text)
}
