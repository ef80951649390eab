//! `bundle`: creates and opens encrypted files for offline use.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{ArgGroup, Args, Subcommand};
use reqwest::Method;
use secrets_core::model::{Clock as _, SystemClock};
use secrets_http::bundle::{BundleCommand, BundleFailure};
use serde::Serialize;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::arguments::duration;
use crate::failure::{Exit, Failure, Outcome};
use crate::input::read_secret;
use crate::invocation::Invocation;
use crate::output::{Column, NewFile, written};

const COLUMNS: [Column; 5] = [
    Column::new("SIGNER", "signer"),
    Column::new("SEQUENCE", "seq"),
    Column::new("SECRETS", "secrets"),
    Column::time("CREATED", "created_at"),
    Column::time("EXPIRES", "expires_at"),
];

/// Options of the command `secrets bundle`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Bundle {
    #[command(subcommand)]
    action: Action,
}

const NOTES: &str = "\
Keys and passphrases are not accepted as arguments, because other users of the machine can see them. They are read from \
a file, or from standard input if the path is `-`.";

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a bundle with the secrets of the environment.
    Make(Make),
    #[command(flatten)]
    Offline(BundleCommand),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("recipients").required(true).multiple(true).args([
    "public_key", "passphrase_file", "new_key_file",
]))]
struct Make {
    /// New file for the bundle.
    file: PathBuf,
    /// Public key of a recipient (scbp_…); may be repeated.
    #[arg(long, value_name = "KEY")]
    public_key: Vec<String>,
    /// File with a passphrase that opens the bundle, on one line.
    #[arg(long, value_name = "PATH")]
    passphrase_file: Option<PathBuf>,
    /// New file for a new key that opens the bundle.
    #[arg(long, value_name = "PATH")]
    new_key_file: Option<PathBuf>,
    /// Time after which the bundle cannot be opened, such as `12h` [default: unlimited].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires_in: Option<Duration>,
}

#[derive(Serialize)]
struct Request {
    recipients: Vec<Recipient>,
    expires_in_seconds: Option<u64>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Recipient {
    Raw,
    Passphrase { passphrase: Zeroizing<String> },
    X25519 { public_key: String },
}

impl Bundle {
    /// Runs the chosen subcommand of `bundle`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        match self.action {
            Action::Make(make) => make.run(cx).await,
            Action::Offline(command) => {
                let now = SystemClock.now();
                if let Some(mut stdout) = cx.output.stream() {
                    checked(command.run(now, &mut stdout))?;
                } else {
                    let mut text = Zeroizing::new(Vec::new());
                    checked(command.run(now, &mut *text))?;
                    cx.output.raw(&text)?;
                }
                Ok(Outcome::Done)
            }
        }
    }
}

impl Make {
    async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        // Fail before the request if a file cannot be created: the bundle or key would be lost.
        let file = NewFile::create(&self.file, false)?;
        let key_file =
            self.new_key_file.as_deref().map(|path| NewFile::create(path, false)).transpose()?;
        let request = self.request()?;
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let path = place.path(&["secrets", "bundle"]);
        // Deriving a key from a passphrase takes about a second.
        let progress = cx.output.waiting("creating the bundle");
        let mut response: Value = service.call(Method::POST, &path, &request).await?;
        progress.finish_and_clear();
        let mut take = |field| response.as_object_mut().and_then(|object| object.remove(field));
        let (bundle, key) = (take("bundle"), take("key"));
        if let (Some(file), Some(Value::String(key))) = (key_file, key) {
            file.write(Zeroizing::new(key + "\n").as_bytes())?;
        }
        let bundle = bundle.as_ref().and_then(Value::as_str).unwrap_or_default();
        let bundle = STANDARD
            .decode(bundle)
            .map_err(|_| Failure::new(Exit::Protocol, "the response has no bundle"))?;
        file.write(&bundle)?;
        cx.output.object(&response, &COLUMNS)?;
        Ok(Outcome::Done)
    }

    fn request(&self) -> Result<Request, Failure> {
        let mut recipients = Vec::new();
        for public_key in &self.public_key {
            recipients.push(Recipient::X25519 { public_key: public_key.clone() });
        }
        if let Some(path) = &self.passphrase_file {
            recipients.push(Recipient::Passphrase { passphrase: read_secret(path)? });
        }
        if self.new_key_file.is_some() {
            recipients.push(Recipient::Raw);
        }
        let expires_in_seconds = self.expires_in.map(|time| time.as_secs());
        Ok(Request { recipients, expires_in_seconds })
    }
}

/// Converts a failure of a command that reads a bundle without the service to a [`Failure`].
fn checked(result: Result<(), BundleFailure>) -> Result<(), Failure> {
    result.or_else(|failure| match failure {
        BundleFailure::Output(error) => written(Err(error)),
        BundleFailure::File(_) => Err(Failure::new(Exit::NoInput, failure.to_string())),
        BundleFailure::Refused(_) | BundleFailure::Content(_) | BundleFailure::Format(_) => {
            Err(Failure::new(Exit::Data, failure.to_string()))
        }
    })
}
