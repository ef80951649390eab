//! `export`: writes the secrets of the environment in a file format.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use secrets_core::crypto::Plaintext;
use secrets_core::formats::{Format, ObjectName};
use secrets_core::model::{EnvironmentName, Error, SecretKey};
use zeroize::Zeroizing;

use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::{Invocation, Place};
use crate::output::NewFile;
use crate::patterns::Patterns;
use crate::secret_list;

/// Options of the command `secrets export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// File format; `shell` is for bash, dash, zsh, ksh and fish [default: dotenv].
    #[arg(short, long, value_parser = format_parser())]
    format: Option<Format>,
    /// Write to a new file with mode 0600 instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file of --out if the file exists.
    #[arg(long, requires = "out")]
    force: bool,
    /// Name of the Kubernetes Secret [default: made from the name of the environment].
    #[arg(long)]
    name: Option<String>,
    /// Export only keys that a pattern matches, such as `DB_*`; may be repeated.
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    /// Leave out keys that a pattern matches; may be repeated.
    #[arg(long, value_name = "GLOB")]
    except: Vec<String>,
    /// Print commands to standard error that mask the values in the log of GitHub Actions.
    #[arg(long)]
    mask_ci: bool,
}

impl Export {
    /// Writes the secrets of the environment to standard output or to a file.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        if self.mask_ci && cx.settings.variables.get("GITHUB_ACTIONS")?.as_deref() != Some("true") {
            return Err(Failure::usage(
                "--mask-ci works in GitHub Actions only: elsewhere, its commands show the values",
            ));
        }
        let (only, except) = (Patterns::new(&self.only)?, Patterns::new(&self.except)?);
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let secrets: Vec<_> = secret_list::export(&service, &place)
            .await?
            .into_iter()
            .filter(|secret| self.only.is_empty() || only.matches(secret.key.as_str()))
            .filter(|secret| !except.matches(secret.key.as_str()))
            .map(|secret| (secret.key, secret.value))
            .collect();
        if self.mask_ci {
            mask(&secrets);
        }
        let default = if cx.output.format.is_json() { Format::Json } else { Format::Dotenv };
        let name = self.name.clone().unwrap_or_else(|| object_name(&place));
        let text = render(self.format.unwrap_or(default), &secrets, &name)?;
        self.write(cx, &text, secrets.len())?;
        Ok(Outcome::Done)
    }

    fn write(&self, cx: &Invocation, text: &str, number: usize) -> Result<(), Failure> {
        let Some(path) = &self.out else { return cx.output.raw(text.as_bytes()) };
        NewFile::create(path, self.force)?.write(text.as_bytes())?;
        cx.output.note(&format!("{}: {number} secrets", path.display()));
        Ok(())
    }
}

/// Returns the parser of the option `--format`.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::as_str))
        .try_map(|name| name.parse::<Format>())
}

/// Returns the secrets as text in a file format. A failure names the keys that the format cannot
/// represent.
pub(crate) fn render(
    format: Format,
    secrets: &[(SecretKey, Plaintext)],
    name: &str,
) -> Result<Zeroizing<String>, Failure> {
    let name: ObjectName =
        name.parse().map_err(|rule| Failure::usage(format!("--name: {rule}")))?;
    format.render(secrets, &name).map_err(|error| {
        let mut message = format!("format {format} cannot represent these secrets");
        if let Error::Invalid(fields) = &error {
            for field in fields {
                // Writing to a `String` cannot fail.
                let _ = write!(message, "\n  {}: {}", field.field, field.message);
            }
        }
        Failure::new(Exit::Data, message)
    })
}

/// Returns the name of the Kubernetes Secret for an environment: the environment name, converted to
/// a valid name.
fn object_name(place: &Place) -> String {
    match place.environment.parse::<EnvironmentName>() {
        Ok(name) => ObjectName::from(&name).to_string(),
        Err(_) => place.environment.clone(),
    }
}

/// Prints workflow commands that make GitHub Actions mask each line of each value in its log. The
/// commands go to standard error, which GitHub Actions also reads, so that standard output contains
/// only the secrets.
fn mask(secrets: &[(SecretKey, Plaintext)]) {
    let lines = secrets.iter().flat_map(|(_, value)| value.reveal().lines());
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let escaped = Zeroizing::new(line.replace('%', "%25").replace('\r', "%0D"));
        // If standard error is closed, there is no log that could show the value.
        let _ = writeln!(std::io::stderr(), "::add-mask::{}", *escaped);
    }
}
