//! The command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, value_parser};

use super::bundle;
use super::failure::{Exit, Failure};
use super::known::{self, Known, Part};

/// Which command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Dev,
    DevToken,
    Serve,
    Check,
    Migrate,
    Doctor,
    OpenApi,
}

/// What the command line says.
pub(super) struct Given {
    pub(super) name: Name,
    /// By the names of the settings.
    pub(super) flags: BTreeMap<String, OsString>,
    pub(super) file: Option<PathBuf>,
    pub(super) data_dir: PathBuf,
    pub(super) email: String,
}

/// A command that has settings, or one that is complete without.
pub(super) enum Parsed {
    Given(Given),
    Complete(super::Command),
}

const ABOUT: &str = "A secrets manager: encrypted secrets for teams, projects and environments";

const AFTER: &str = "\
Examples:
  secrets-http dev
      Try it: everything in ./.secrets, a person who is signed in, a token to paste.
  secrets-http dev token --email bob@example.com
      A token for a second person.
  SECRETS_ROOT_KEY_FILE=/run/secrets/root-key \\
  secrets-http serve --database-url sqlite:///var/lib/secrets/secrets.db \\
      --jwt-issuer https://login.example.com --jwt-audience secrets
      Serve. `openssl rand -base64 32` makes a root key; keep a copy, nothing is readable without.
  secrets-http check --config /etc/secrets.toml
      Say whether the same `serve` would start.
  secrets-http doctor verify --config /etc/secrets.toml
      Open every record, and prove that nobody changed the audit log.
  secrets-http bundle open web.scb --key-file key.txt
      Print the secrets of a bundle; no service is needed.

`secrets-http serve --help` lists what can be configured.

Exit codes:
  64  the command line is wrong          69  the database cannot be used
  65  data or a bundle was changed       73  the address is taken
  66  there is data but no key for it    77  the key is not the one of this data
                                         78  the configuration is wrong";

const SETTINGS: &str = "\
What has a variable in brackets can be given as a flag, as that variable, or in the file that
--config names, under the variable's name in lower case without SECRETS_: listen = \"[::]:8080\"
A flag goes before a variable, a variable before the file.

Secrets are not taken as flags, which other users of the machine can see. Each has a flag and a
variable (..._FILE) that name a file to read it from.";

pub(super) fn parse(arguments: Vec<OsString>) -> Result<Parsed, Failure> {
    match program().try_get_matches_from(arguments) {
        Ok(matches) => Ok(match matches.subcommand() {
            Some(("bundle", matches)) => bundle_of(matches)?,
            _ => Parsed::Given(given(&matches)),
        }),
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            Ok(Parsed::Complete(super::Command::Print(error.render().to_string())))
        }
        Err(error) => {
            let text = error.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            Err(Failure::new(Exit::Usage, text))
        }
    }
}

fn bundle_of(matches: &ArgMatches) -> Result<Parsed, Failure> {
    let bundle = bundle::given(matches);
    let bundle = bundle.ok_or_else(|| Failure::new(Exit::Usage, "an argument is missing"))?;
    Ok(Parsed::Complete(super::Command::Bundle(Box::new(bundle))))
}

fn program() -> Command {
    Command::new("secrets-http")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(AFTER)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(dev())
        .subcommand(with_settings(
            Command::new("serve").about("Run the service"),
            &[Part::Service, Part::Storage, Part::Key, Part::Trust, Part::Log],
        ))
        .subcommand(with_settings(
            Command::new("check").about("Say whether `serve` would start, and if not, why"),
            &[Part::Service, Part::Storage, Part::Key, Part::Trust, Part::Log],
        ))
        .subcommand(
            Command::new("doctor")
                .about("Look at what is stored")
                .subcommand_required(true)
                .subcommand(with_settings(
                    Command::new("verify")
                        .about("Open every record and check the chain of the audit log"),
                    &[Part::Storage, Part::Key, Part::Log],
                )),
        )
        .subcommand(bundle::command())
        .subcommand(Command::new("openapi").about("Print the document of the interface"))
        .subcommand(with_settings(
            Command::new("migrate").about("Bring the database up to date"),
            &[Part::Storage, Part::Log],
        ))
}

fn dev() -> Command {
    let data_dir = Arg::new("data-dir")
        .long("data-dir")
        .value_name("PATH")
        .help("Where everything is kept")
        .default_value("./.secrets")
        .value_parser(value_parser!(PathBuf))
        .global(true);
    let email = Arg::new("email")
        .long("email")
        .value_name("E-MAIL")
        .help("Whose token it is")
        .required(true);
    let token = Command::new("token").about("Sign a token for a person; it is valid for 24 hours");
    with_settings(
        Command::new("dev")
            .about("Run the service for development, reachable from this machine only")
            .subcommand(token.arg(email))
            .arg(data_dir),
        &[Part::Service, Part::Log],
    )
}

fn with_settings(command: Command, parts: &[Part]) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("PATH")
        .help("A TOML file with settings")
        .value_parser(value_parser!(PathBuf));
    let settings = known::ALL.iter().filter(|known| parts.contains(&known.part));
    command
        .after_help(SETTINGS)
        .arg(config)
        .args(settings.flat_map(|known| [plain_flag(known), file_flag(known)]).flatten())
}

fn plain_flag(known: &Known) -> Option<Arg> {
    let help = format!("{} [{}]", known.help, known.variable());
    known.has_flag().then(|| flag(known.name.to_owned(), known.value, help))
}

fn file_flag(known: &Known) -> Option<Arg> {
    let name = known.file_name();
    let what = if known.has_flag() { "The same, from a file" } else { known.help };
    let help = format!("{what} [{}; {}]", known.variable(), known::variable(&name));
    known.has_file().then(|| flag(name, "PATH", help))
}

fn flag(name: String, value: &'static str, help: String) -> Arg {
    let long = known::flag(&name);
    Arg::new(name).long(long).value_name(value).help(help).value_parser(value_parser!(OsString))
}

fn given(matches: &ArgMatches) -> Given {
    let (command, matches) = matches.subcommand().unwrap_or(("serve", matches));
    let (name, matches) = match (command, matches.subcommand()) {
        ("dev", Some((_, matches))) => (Name::DevToken, matches),
        ("dev", None) => (Name::Dev, matches),
        ("check", _) => (Name::Check, matches),
        ("migrate", _) => (Name::Migrate, matches),
        ("openapi", _) => (Name::OpenApi, matches),
        ("doctor", Some((_, matches))) => (Name::Doctor, matches),
        // One is required, and there is no other.
        _ => (Name::Serve, matches),
    };
    Given {
        name,
        flags: flags(matches),
        file: one(matches, "config"),
        data_dir: one(matches, "data-dir").unwrap_or_default(),
        email: one(matches, "email").unwrap_or_default(),
    }
}

fn flags(matches: &ArgMatches) -> BTreeMap<String, OsString> {
    known::ALL
        .iter()
        .flat_map(|known| [known.name.to_owned(), known.file_name()])
        .filter_map(|name| one(matches, &name).map(|value| (name, value)))
        .collect()
}

/// The value of an argument, where the command has such an argument.
fn one<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Option<T> {
    matches.try_get_one::<T>(name).ok().flatten().cloned()
}
