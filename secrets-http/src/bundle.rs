//! Commands of the program `secrets` for bundles that need no service.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use secrets_core::bundle::{
    BundleError, BundledSecret, Opened, Opener, RecipientKey, Signer, Unlock,
};
use secrets_core::crypto::{Passphrase, Plaintext};
use secrets_core::formats::{Format, ObjectName, Unfit};
use secrets_core::model::{SecretKey, Time};
use zeroize::Zeroizing;

use crate::secret_text::{TextError, read_secret_file};

/// Maximum number of bytes read from a file with an encryption key or a passphrase.
const MAX_KEY_FILE_BYTES: usize = 8_192;

/// Open an exported bundle, or generate keys for bundles.
#[derive(Debug, Subcommand)]
pub enum BundleCommand {
    /// Verify a bundle completely, then print its secrets.
    Open(Opening),
    /// Print a new private key, with its public key on the first line.
    Keygen,
}

/// Options for opening a bundle.
#[derive(Debug, Args)]
pub struct Opening {
    /// Path of the bundle.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    unlock: UnlockFile,
    /// Public key that must verify the signature of the bundle (scbs_…).
    #[arg(long)]
    signer: Option<Signer>,
    /// Refuse bundles whose sequence number (`seq`) is lower than this number.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    at_least: u64,
    /// Output format: dotenv, docker, shell, json, yaml, csv or k8s.
    #[arg(long, default_value = "dotenv", value_parser = |text: &str| text.parse::<Format>())]
    format: Format,
    /// Name of the Kubernetes Secret, for format k8s.
    #[arg(long, default_value = "secrets", value_parser = |text: &str| text.parse::<ObjectName>())]
    name: ObjectName,
}

/// File with the key or passphrase of a bundle. `-` is standard input.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
#[expect(clippy::struct_field_names, reason = "the names of the options")]
struct UnlockFile {
    /// File with the bundle key (scbk_…); `-` is standard input.
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,
    /// File with the passphrase, on one line.
    #[arg(long, value_name = "PATH")]
    passphrase_file: Option<PathBuf>,
    /// File with your private key (scbx_…); requires --signer.
    #[arg(long, value_name = "PATH")]
    private_key_file: Option<PathBuf>,
}

/// Failure of a bundle command.
#[derive(Debug)]
pub enum BundleFailure {
    /// The bundle cannot be opened.
    Refused(BundleError),
    /// A file cannot be read.
    File(String),
    /// A file contains no key or passphrase.
    Content(String),
    /// The output format cannot represent the secrets.
    Format(String),
    /// The result cannot be written.
    Output(io::Error),
}

impl Display for BundleFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "{error} ({})", error.kind()),
            Self::File(message) | Self::Content(message) | Self::Format(message) => {
                f.write_str(message)
            }
            Self::Output(error) => write!(f, "standard output: {error}"),
        }
    }
}

impl From<BundleError> for BundleFailure {
    fn from(error: BundleError) -> Self {
        Self::Refused(error)
    }
}

impl BundleCommand {
    /// Runs the command and writes its result.
    pub fn run(&self, now: Time, out: &mut impl Write) -> Result<(), BundleFailure> {
        match self {
            Self::Open(opening) => opening.open(now, out),
            Self::Keygen => {
                let key = RecipientKey::generate();
                let text = Zeroizing::new(format!("# {}\n{}\n", key.public(), *key.reveal()));
                write(out, &text)
            }
        }
    }
}

impl Opening {
    fn open(&self, now: Time, out: &mut impl Write) -> Result<(), BundleFailure> {
        let unlock = self.unlock.read()?;
        let opener = Opener { unlock, signer: self.signer, at_least: self.at_least, now };
        let file = File::open(&self.file).map_err(|error| unreadable(&self.file, &error))?;
        let mut bundle = opener.open(BufReader::new(file))?;
        match self.format {
            // These formats write each secret independently, so the secrets are streamed and not
            // kept in memory. The first pass checks that all of them can be written, before any is
            // printed.
            Format::Dotenv | Format::Docker | Format::Shell | Format::Yaml => {
                self.for_each_text(&mut bundle, |_| Ok(()))?;
                bundle.rewind()?;
                let count = self.for_each_text(&mut bundle, |text| write(out, text))?;
                if count == 0 { write(out, &self.text(&[])?) } else { Ok(()) }
            }
            Format::Json | Format::Csv | Format::Kubernetes => {
                let secrets = bundle.map(|secret| secret.map(pair)).collect::<Result<Vec<_>, _>>();
                write(out, &self.text(&secrets?)?)
            }
        }
    }

    /// Formats the secrets of a bundle one after the other, calls `done` with the text of each
    /// secret, and returns the number of secrets.
    fn for_each_text(
        &self,
        bundle: &mut Opened<BufReader<File>>,
        mut done: impl FnMut(&str) -> Result<(), BundleFailure>,
    ) -> Result<usize, BundleFailure> {
        let mut count = 0;
        for secret in bundle {
            done(&self.text(&[pair(secret?)])?)?;
            count += 1;
        }
        Ok(count)
    }

    fn text(&self, secrets: &[(SecretKey, Plaintext)]) -> Result<Zeroizing<String>, BundleFailure> {
        self.format.write(secrets, &self.name).map_err(|keys| format_error(&keys))
    }
}

impl UnlockFile {
    fn read(&self) -> Result<Unlock, BundleFailure> {
        let (path, unlock) = match self {
            Self { key_file: Some(path), .. } => {
                (path, read_line(path, true)?.parse().map(Unlock::Key))
            }
            Self { private_key_file: Some(path), .. } => {
                (path, read_line(path, true)?.parse().map(Unlock::Private))
            }
            Self { passphrase_file: Some(path), .. } => (path, passphrase(path)?),
            _ => return Err(BundleFailure::File("no key or passphrase is given".to_owned())),
        };
        unlock.map_err(|broken| BundleFailure::Content(format!("{}: {broken}", path.display())))
    }
}

fn passphrase(
    path: &Path,
) -> Result<Result<Unlock, secrets_core::model::Violation>, BundleFailure> {
    let text = read_line(path, false)?.as_str().to_owned();
    Ok(Passphrase::new(text).map(Unlock::Passphrase))
}

fn pair(secret: BundledSecret) -> (SecretKey, Plaintext) {
    (secret.key, secret.value)
}

fn write(out: &mut impl Write, text: &str) -> Result<(), BundleFailure> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(BundleFailure::Output)
}

/// Reads a file, or standard input for `-`, that must contain exactly one line. Lines that begin
/// with `#` are skipped if `may_have_comments` is true.
fn read_line(path: &Path, may_have_comments: bool) -> Result<Zeroizing<String>, BundleFailure> {
    let refuse =
        |reason: &dyn Display| BundleFailure::Content(format!("{}: {reason}", path.display()));
    let text = read_secret_file(path, MAX_KEY_FILE_BYTES).map_err(|error| match error {
        TextError::Read(error) => unreadable(path, &error),
        error => refuse(&error),
    })?;
    let mut lines = text.lines().filter(|line| !(may_have_comments && line.starts_with('#')));
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(Zeroizing::new(line.to_owned())),
        _ => Err(refuse(&"must contain exactly one line")),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> BundleFailure {
    BundleFailure::File(format!("{}: {error}", path.display()))
}

fn format_error(keys: &[Unfit]) -> BundleFailure {
    let messages = keys.iter().map(|Unfit { key, rule }| match key {
        Some(key) => format!("{key} {rule}"),
        None => (*rule).to_owned(),
    });
    BundleFailure::Format(messages.collect::<Vec<_>>().join("; "))
}
