//! `status`: prints the settings with their sources, and the credential.

use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;
use secrets_core::model::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};
use serde_json::json;
use zeroize::Zeroizing;

use crate::credentials::{StoreKind, check_keychain};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::{date, printable};
use crate::settings::{Server, Setting, Source};

/// Time limit for the request that loads the owner and the expiry of a token.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);

/// Text that stands for a missing value.
const NOT_SET: &str = "-";

/// Options of the command `secrets status`.
#[derive(Debug, Args)]
pub(crate) struct Status {}

/// Row of the output: a setting, or information about the credential.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    value: Option<String>,
    source: Option<String>,
}

/// Owner and expiry of a token, from the response to `users/me`.
#[derive(Deserialize)]
struct Me {
    email: Option<String>,
    name: Option<String>,
    expires_at: Option<DateTime<Utc>>,
}

impl Status {
    /// Prints the settings and the state of the credential.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let server = cx.server().ok();
        let mut rows = settings(cx, server.as_ref());
        rows.extend(session(cx, server.as_ref()).await?);
        rows.extend(stores(cx)?);
        if cx.output.format.is_json() {
            cx.output.json(&json!({ "status": rows }))?;
        } else {
            let cells = rows.into_iter().map(|row| {
                let value = row.value.unwrap_or_else(|| NOT_SET.to_owned());
                vec![row.name.to_owned(), value, row.source.unwrap_or_default()]
            });
            cx.output.table(&["SETTING", "VALUE", "SOURCE"], cells)?;
        }
        Ok(Outcome::Done)
    }
}

fn settings(cx: &Invocation, server: Option<&Setting<Server>>) -> Vec<Row> {
    let settings = &cx.settings;
    let folder = settings.project_folder.as_ref();
    let ca_file = settings.ca_file.as_ref().map(|setting| Setting {
        value: setting.value.display().to_string(),
        source: setting.source.clone(),
    });
    vec![
        row("server", server),
        row("project", settings.project.as_ref()),
        row("environment", settings.environment.as_ref()),
        row("ca_file", ca_file.as_ref()),
        fact("offline", &settings.offline, &settings.offline_source),
        optional("project_folder", folder.map(|folder| folder.display().to_string()), ""),
    ]
}

/// Returns rows with the owner, the storage and the expiry of the credential that requests to the
/// server use.
async fn session(cx: &Invocation, server: Option<&Setting<Server>>) -> Result<Vec<Row>, Failure> {
    let Some(server) = server else { return Ok(vec![Row::empty("user"), Row::empty("session")]) };
    if let Some(token) = cx.variable_token(server)? {
        let variable = cx.settings.variables.token_source()?.map(Source::Variable);
        return Ok(asked(cx, server, token, variable.as_ref()).await);
    }
    let file = cx.credentials();
    let Some((store, metadata)) = file.metadata(&server.value.origin())? else {
        return Ok(vec![Row::empty("user"), fact("session", "not signed in", "")]);
    };
    let place = match store {
        StoreKind::Keychain => "keychain".to_owned(),
        StoreKind::File => file.path().display().to_string(),
    };
    if metadata.expires_at.is_some() {
        let session = ending(metadata.expires_at);
        return Ok(vec![
            optional("user", metadata.user, &place),
            fact("session", &session, &place),
        ]);
    }
    Ok(match file.get(&server.value.origin()) {
        Ok(Some(credential)) => asked(cx, server, credential.token, Some(&place)).await,
        Ok(None) => vec![Row::empty("user"), fact("session", "not signed in", "")],
        Err(failure) => vec![
            optional("user", metadata.user, &place),
            fact("session", &format!("unknown: {}", failure.message), &place),
        ],
    })
}

/// Loads the owner and the expiry of a token from the service, and returns them as rows.
async fn asked(
    cx: &Invocation,
    server: &Setting<Server>,
    token: Zeroizing<String>,
    source: Option<&impl ToString>,
) -> Vec<Row> {
    let source = source.map(ToString::to_string).unwrap_or_default();
    let question = async {
        let service = cx.connect(server.value.clone(), Some(&token))?;
        service.get::<Me>(&["users", "me"]).await
    };
    let answer = tokio::time::timeout(SERVICE_TIMEOUT, question).await;
    let answer = answer.unwrap_or_else(|_| Err(Failure::new(Exit::Unavailable, "no response")));
    let (user, session) = match answer {
        Ok(me) => (me.email.or(me.name), ending(me.expires_at)),
        Err(failure) if failure.exit == Exit::Unavailable => {
            (None, format!("offline: {}", failure.message))
        }
        Err(failure) => (None, failure.message),
    };
    let user = user.map(|user| printable(&user));
    vec![optional("user", user, &source), fact("session", &session, &source)]
}

fn ending(expires_at: Option<DateTime<Utc>>) -> String {
    match expires_at {
        Some(end) if end <= SystemClock.now() => format!("ended on {}", date(end)),
        Some(end) => format!("until {}", date(end)),
        None => "valid".to_owned(),
    }
}

/// Returns two rows: the state of the keychain, and the list of servers with a stored credential.
fn stores(cx: &Invocation) -> Result<Vec<Row>, Failure> {
    let file = cx.credentials();
    let keychain =
        check_keychain().map_or_else(|error| error.to_string(), |()| "usable".to_owned());
    let signed_in = file.origins()?.join(", ");
    Ok(vec![
        fact("keychain", &keychain, ""),
        fact("signed_in_to", &signed_in, &file.path().display().to_string()),
    ])
}

fn row(name: &'static str, setting: Option<&Setting<impl ToString>>) -> Row {
    match setting {
        Some(Setting { value, source }) => fact(name, value, source),
        None => Row::empty(name),
    }
}

fn fact(
    name: &'static str,
    value: &(impl ToString + ?Sized),
    source: &(impl ToString + ?Sized),
) -> Row {
    let filled = |text: String| Some(text).filter(|text| !text.is_empty());
    Row { name, value: filled(value.to_string()), source: filled(source.to_string()) }
}

fn optional(name: &'static str, value: Option<String>, source: &str) -> Row {
    value.map_or_else(|| Row::empty(name), |value| fact(name, &value, source))
}

impl Row {
    fn empty(name: &'static str) -> Self {
        Self { name, value: None, source: None }
    }
}
