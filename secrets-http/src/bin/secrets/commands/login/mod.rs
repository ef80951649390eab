//! `login`: signs in to a service, and stores the credential.

mod device;
mod token;

use clap::Args;
use secrets_core::bundle::{RecipientKey, Signer};
use serde::Deserialize;
use serde_json::json;

use crate::credentials::{Credential, CredentialMetadata, StoreChoice, Stored};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::date;
use crate::service::Service;
use crate::settings::{Server, Setting, Source};

/// Options of the command `secrets login`.
#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Address of the service [default: the setting `server`].
    url: Option<String>,
    /// Print the address of the sign-in page, and open no browser.
    #[arg(long)]
    no_browser: bool,
    /// Read a service token, or a token of the identity provider, from standard input.
    #[arg(long)]
    token_stdin: bool,
    /// Place in which the credential is stored.
    #[arg(long, value_enum, default_value_t, value_name = "PLACE")]
    store: StoreChoice,
}

/// Response of the service to a request for `/api/v1` itself, which needs no credential.
#[derive(Default, Deserialize)]
struct Greeting {
    /// Public key of the service's bundle signer. Absent in older versions of the service.
    bundle_signer: Option<String>,
}

impl Login {
    /// Signs in and stores the credential.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let server = self.server(cx)?;
        let service = cx.connect(server.value.clone(), None)?;
        let mut credential = if self.token_stdin {
            if matches!(server.source, Source::ProjectFile(..)) {
                return Err(Failure::usage(
                    "--token-stdin: name the server as argument: a token is not sent to a server \
                     that only a project file names",
                ));
            }
            token::sign_in(cx, &server.value).await?
        } else {
            device::sign_in(cx, &service, !self.no_browser).await?
        };
        credential.metadata.signer = signer(&service).await?;
        self.store(cx, &server.value, credential)
    }

    fn server(&self, cx: &Invocation) -> Result<Setting<Server>, Failure> {
        let Some(url) = &self.url else { return cx.server() };
        let value = Server::parse(url, cx.settings.allows_http)?;
        Ok(Setting { value, source: Source::Option("URL") })
    }

    /// Stores the credential, and prints the place where it is stored.
    fn store(
        &self,
        cx: &Invocation,
        server: &Server,
        mut credential: Credential,
    ) -> Result<Outcome, Failure> {
        let (file, origin) = (cx.credentials(), server.origin());
        let earlier = file.metadata(&origin)?.and_then(|(_, metadata)| metadata.signer);
        credential.metadata.address = Some(server.to_string());
        credential.private_key = Some(RecipientKey::generate().reveal());
        let stored = file.put(&origin, &credential, self.store)?;
        let CredentialMetadata { user, expires_at, signer, .. } = &credential.metadata;
        if earlier.is_some() && earlier != *signer {
            cx.output.warn(&format!("the service at {origin} signs bundles with a new key"));
        }
        if cx.output.format.is_json() {
            cx.output.json(&json!({
                "server": server.to_string(), "user": user, "expires_at": expires_at,
                "store": stored.kind(),
            }))?;
        }
        let user = user.as_deref().unwrap_or("unknown");
        let end = expires_at.map_or_else(String::new, |end| format!(", until {}", date(end)));
        cx.output.note(&format!("Signed in to {server} as {user}{end}."));
        cx.output.note(&place(stored, &file.path().display().to_string()));
        if let Some(variable) = cx.settings.variables.token_source()? {
            cx.output.note(&format!("{variable} is set, and is used before this credential."));
        }
        Ok(Outcome::Done)
    }
}

fn place(stored: Stored, file: &str) -> String {
    match stored {
        Stored::Keychain => "The credential is in the keychain.".to_owned(),
        Stored::File => format!("The credential is in the file {file}."),
        Stored::FileBecause(error) => {
            format!("The credential is in the file {file}, because {error}.")
        }
    }
}

/// Returns the public key with which the service signs bundles. The signature of an offline copy is
/// checked with it later.
async fn signer(service: &Service) -> Result<Option<String>, Failure> {
    let Some(text) = service.get::<Greeting>(&[]).await?.bundle_signer else { return Ok(None) };
    let signer: Signer = text.parse().map_err(|_| {
        Failure::new(Exit::Protocol, "the service names a bundle signer that is no public key")
    })?;
    Ok(Some(signer.to_string()))
}
