//! `set`: creates or changes secrets.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use secrets_core::crypto::Plaintext;
use secrets_core::model::SecretKey;
use secrets_http::secret_text::{TextError, read_secret_file, read_secret_text};
use zeroize::Zeroizing;

use crate::arguments::HiddenArgument;
use crate::changes::{Action, Change, ChangeSet};
use crate::failure::{Exit, Failure, Outcome};
use crate::input::unreadable;
use crate::invocation::Invocation;

/// Maximum length of an input, in bytes: a value may be followed by a line break.
const MAX_INPUT: usize = Plaintext::LIMIT + "\r\n".len();
/// Default length of a generated value, in characters.
const GENERATED_LENGTH: &str = "32";
/// Maximum length of a generated value, in characters.
const MAX_GENERATED_LENGTH: i64 = 4_096;
/// Characters of which a generated value consists. None of them needs quoting in a shell.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Options of the command `secrets set`.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Key, or key and value. Without a value, the value is asked for, or read from standard input
    /// without the line break at its end.
    #[arg(required = true, value_name = "KEY[=VALUE]")]
    secrets: Vec<HiddenArgument>,
    /// Read the value from a file, exactly as it is; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["generate", "hide"])]
    from_file: Option<PathBuf>,
    /// Generate a value of LEN random letters and digits.
    #[arg(
        long, value_name = "LEN", num_args = 0..=1, require_equals = true, conflicts_with = "hide",
        default_missing_value = GENERATED_LENGTH,
        value_parser = clap::value_parser!(u16).range(8..=MAX_GENERATED_LENGTH),
    )]
    generate: Option<u16>,
    /// Description of the secret, at most 500 characters.
    #[arg(long, value_name = "TEXT", conflicts_with = "hide")]
    description: Option<String>,
    /// Change the secret only if it has this version; 0 if the secret must not exist.
    #[arg(long, value_name = "N")]
    if_version: Option<u32>,
    /// Hide the key: neither the environment nor its children have an inherited value.
    #[arg(long)]
    hide: bool,
}

/// Key with an optional value. `Debug` does not show the value.
#[derive(Debug)]
struct Assignment {
    key: SecretKey,
    value: Option<Plaintext>,
}

impl Set {
    /// Creates or changes the secrets.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let assignments = self.assignments()?;
        self.check_combination(&assignments)?;
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let mut changes = Vec::with_capacity(assignments.len());
        for assignment in &assignments {
            let action = if self.hide { Action::Hide } else { self.setting(cx, assignment)? };
            changes.push(Change {
                environment: place.environment.clone(),
                key: assignment.key.to_string(),
                action,
                expected_version: self.if_version,
            });
        }
        if assignments.iter().any(|assignment| assignment.value.is_some()) {
            cx.output.hint("the shell may remember this value: `secrets set KEY` asks for it");
        }
        let set = ChangeSet { project: &place.project, changes: &changes };
        set.apply(cx, &service).await?.print(&cx.output)?;
        Ok(Outcome::Done)
    }

    /// Parses the arguments. An error contains the position of the argument, not its text.
    fn assignments(&self) -> Result<Vec<Assignment>, Failure> {
        let parse = |(number, argument): (usize, &HiddenArgument)| {
            assignment(argument.reveal())
                .map_err(|rule| Failure::usage(format!("argument {number}: {rule}")))
        };
        (1..).zip(&self.secrets).map(parse).collect()
    }

    fn check_combination(&self, assignments: &[Assignment]) -> Result<(), Failure> {
        let without_value = assignments.iter().filter(|secret| secret.value.is_none()).count();
        let has_source = self.from_file.is_some() || self.generate.is_some() || self.hide;
        if has_source && without_value < assignments.len() {
            let message = "--from-file, --generate and --hide need a KEY without a value";
            return Err(Failure::usage(message));
        }
        if self.from_file.is_some() && without_value > 1 {
            return Err(Failure::usage("--from-file needs exactly one KEY"));
        }
        Ok(())
    }

    fn setting(&self, cx: &Invocation, assignment: &Assignment) -> Result<Action, Failure> {
        let value = match (&assignment.value, &self.from_file, self.generate) {
            (Some(value), ..) => value.clone(),
            (None, Some(path), _) if path == Path::new("-") => plaintext(piped()?)?,
            (None, Some(path), _) => plaintext(read_file(path)?)?,
            (None, None, Some(length)) => generated(length)?,
            (None, None, None) => self.asked(cx, &assignment.key)?,
        };
        Ok(Action::Set { value, description: self.description.clone() })
    }

    /// Asks the user for the value of a key, or reads the value from standard input.
    fn asked(&self, cx: &Invocation, key: &SecretKey) -> Result<Plaintext, Failure> {
        if cx.output.is_interactive {
            return plaintext(cx.output.ask_hidden(&format!("Value of {key}"))?);
        }
        if std::io::stdin().is_terminal() || self.secrets.len() > 1 {
            let message = format!("{key}: no value; pipe one value to standard input");
            return Err(Failure::usage(message));
        }
        let text = piped()?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        plaintext(Zeroizing::new(line.to_owned()))
    }
}

fn assignment(text: &str) -> Result<Assignment, String> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (text, None),
    };
    let key = key.parse().map_err(|rule| format!("the key {rule}"))?;
    let value = value.map(|value| Plaintext::new(value.to_owned())).transpose();
    Ok(Assignment { key, value: value.map_err(|rule| format!("the value {rule}"))? })
}

fn plaintext(mut text: Zeroizing<String>) -> Result<Plaintext, Failure> {
    Plaintext::new(std::mem::take(&mut *text))
        .map_err(|rule| Failure::new(Exit::Data, format!("the value {rule}")))
}

/// Reads a value that another program writes to standard input. It must not be empty, because a
/// program that fails writes nothing.
fn piped() -> Result<Zeroizing<String>, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "standard input is a terminal; without a file, KEY is asked for",
        ));
    }
    let text = read_secret_text(std::io::stdin(), MAX_INPUT)
        .map_err(|error| unreadable_value(&"standard input", error))?;
    if text.is_empty() {
        return Err(Failure::usage("standard input is empty; `KEY=` sets an empty value"));
    }
    Ok(text)
}

fn read_file(path: &Path) -> Result<Zeroizing<String>, Failure> {
    read_secret_file(path, MAX_INPUT).map_err(|error| unreadable_value(&path.display(), error))
}

/// Returns the failure for an input whose value cannot be read. `name` is the name of the input.
fn unreadable_value(name: &dyn Display, error: TextError) -> Failure {
    let error = match error {
        TextError::TooLong(_) => TextError::TooLong(Plaintext::LIMIT),
        error => error,
    };
    unreadable(name, &error)
}

/// Generates a value of random letters and digits, each equally likely.
fn generated(length: u16) -> Result<Plaintext, Failure> {
    // Larger bytes are skipped: with them, the first characters would be more likely.
    let limit = u8::MAX - u8::MAX % 62 - 1;
    let mut text = Zeroizing::new(String::with_capacity(length.into()));
    let mut bytes = Zeroizing::new([0_u8; 64]);
    while text.len() < length.into() {
        getrandom::fill(&mut *bytes)
            .map_err(|error| Failure::new(Exit::Defect, format!("no random numbers: {error}")))?;
        for byte in bytes.iter().filter(|byte| **byte <= limit) {
            if text.len() < length.into() {
                text.push(char::from(ALPHABET[usize::from(byte % 62)]));
            }
        }
    }
    plaintext(text)
}
