//! Command line of the program `secrets`: global options and commands.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use secrets_core::model::Violation;
use zeroize::Zeroizing;

use crate::commands;
use crate::failure::Exit;

/// Reads, changes, compares and injects the secrets of a team.
#[derive(Debug, Parser)]
#[command(name = "secrets", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of all commands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::doc_markdown, reason = "help texts have no markup")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Global {
    /// Address of the service [variable: SECRETS_URL].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Project: its slug or ID [variable: SECRETS_PROJECT].
    #[arg(short, long, global = true)]
    pub(crate) project: Option<String>,
    /// Environment: its name or ID [variable: SECRETS_ENVIRONMENT].
    #[arg(short, long, global = true)]
    pub(crate) environment: Option<String>,
    /// Output format: `json` has the field names of the REST API, `name` has one name per line.
    #[arg(short, long, global = true, value_enum, default_value_t)]
    pub(crate) output: OutputFormat,
    /// Use only the offline copy of the secrets, and do not contact the service.
    #[arg(long, global = true, conflicts_with = "no_offline")]
    pub(crate) offline: bool,
    /// Never use an offline copy of the secrets.
    #[arg(long, global = true)]
    pub(crate) no_offline: bool,
    /// Print only data and errors.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print each request to standard error, without values.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Use of colors in the output [variables: NO_COLOR, CLICOLOR_FORCE].
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) color: Color,
    /// Never ask a question: fail instead.
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Time limit for a request to the service, such as `10s` or `2m`.
    #[arg(long, global = true, value_parser = duration, default_value = "30s", value_name = "TIME")]
    pub(crate) timeout: Duration,
    /// PEM file with the certificate authority of the service [variable: SECRETS_CA_FILE].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_file: Option<std::path::PathBuf>,
    /// Allow plain HTTP to a server that is not on this machine.
    #[arg(long, global = true)]
    pub(crate) insecure_http: bool,
}

/// Argument that may contain a secret value. The command parses it, because clap would repeat it in
/// the message about an invalid argument. `Debug` does not show it.
#[derive(Clone)]
pub(crate) struct HiddenArgument(Zeroizing<String>);

impl HiddenArgument {
    /// Returns the text of the argument.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for HiddenArgument {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl std::fmt::Debug for HiddenArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HiddenArgument(..)")
    }
}

/// Format of the data on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Human-readable table with aligned columns.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// Names only, one per line.
    Name,
}

/// Use of colors in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Color {
    /// Colors on a terminal.
    #[default]
    Auto,
    /// Colors always.
    Always,
    /// No colors.
    Never,
}

impl Color {
    /// Applies this setting for colors to all output of this program.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => {}
            Self::Always => anstream::ColorChoice::Always.write_global(),
            Self::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

impl OutputFormat {
    /// True if the format is JSON.
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
    }
}

/// Subcommand of `secrets`, with its options.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sign in to a service.
    Login(commands::login::Login),
    /// Sign out: revoke the session, and delete the credential from this machine.
    Logout(commands::logout::Logout),
    /// Show who is signed in.
    Whoami(commands::whoami::Whoami),
    /// Show every setting with its source, and the owner and expiry of the session.
    Status(commands::status::Status),
    /// Create the project file of this folder.
    Init(commands::init::Init),
    /// Run a command with the secrets as environment variables.
    Run(commands::run::Run),
    /// List the secrets of the environment, without values.
    #[command(visible_alias = "ls")]
    List(commands::list::List),
    /// Print the value of one secret, or of several secrets as KEY=VALUE lines.
    Get(commands::get::Get),
    /// Create or change secrets.
    Set(commands::set::Set),
    /// Delete secrets.
    Unset(commands::unset::Unset),
    /// Change the secrets of the environment in an editor.
    Edit(commands::edit::Edit),
    /// Print the secrets of the environment in a file format.
    Export(commands::export::Export),
    /// Create or change secrets from a file.
    Import(commands::import::Import),
    /// Compare two environments, or an environment and a file.
    Diff(commands::diff::Diff),
    /// Copy secrets from one environment to another; their values stay in the service.
    #[command(visible_alias = "promote")]
    Copy(commands::copy::Copy),
    /// Check that keys exist: exit code 1 if any is missing.
    Check(commands::check::Check),
    /// List the versions of a secret.
    History(commands::history::History),
    /// Restore an earlier version of a secret.
    Rollback(commands::rollback::Rollback),
    /// Search files or the Git history for credentials.
    Scan(commands::scan::Scan),
    /// Manage environments.
    Env(commands::env::Env),
    /// Manage projects.
    Project(commands::project::Project),
    /// Manage teams.
    Team(commands::team::Team),
    /// Manage the members of a team.
    Member(commands::member::Member),
    /// Manage invitations to a team.
    Invite(commands::invite::Invite),
    /// Manage service tokens.
    Token(commands::token::Token),
    /// Manage rotations of database credentials.
    Rotation(commands::rotation::Rotation),
    /// Manage webhooks of a rotation.
    Webhook(commands::webhook::Webhook),
    /// Read the audit log.
    Audit(commands::audit::Audit),
    /// Create and open encrypted files with secrets, for offline use.
    Bundle(commands::bundle::Bundle),
    /// Open the project in a browser.
    Open(commands::open::Open),
    /// Send a request to any endpoint of the REST API.
    Api(commands::api::Api),
    /// Print the completion script of a shell.
    Completion(commands::completion::Completion),
    /// Print the manual page.
    Man(commands::man::Man),
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 the answer is no (diff, check, scan); 64 invalid command line; 65 invalid input; \
66 missing input file; 67 not signed in; 68 not found; 69 service unreachable; 70 bug in this program; \
71 conflict; 73 output file cannot be created; 75 rate limited; 76 unreadable response; 77 forbidden; \
78 invalid settings; 130 interrupted. `run` exits with the status of its command, with 128 plus the number of \
the signal that ended it, or with 125 if this program failed, 126 and 127 if the command cannot be started.";

/// True if the only argument of the command line is `--version` or `-V`.
pub(crate) fn version_is_asked() -> bool {
    let mut words = std::env::args_os().skip(1);
    let is_version = words.next().is_some_and(|word| word == "--version" || word == "-V");
    is_version && words.next().is_none()
}

/// Prints the version in the same form as clap, but without building the definition of the command
/// line, which would take most of the time. Package managers and scripts read the version often.
pub(crate) fn print_version() -> ExitCode {
    printed(writeln!(io::stdout(), "secrets {}", env!("CARGO_PKG_VERSION")))
}

/// Returns the exit code for the result of a write to standard output. A closed pipe counts as
/// success, because its reader, such as `head`, needs no more data.
fn printed(result: io::Result<()>) -> ExitCode {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            ExitCode::from(Exit::CannotCreate as u8)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Prints a command line error, the help text or the version. Returns the exit code.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    color_asked().apply();
    // If standard error is closed, the exit code still reports the error.
    let result = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => printed(result),
        _ if is_of_run(error) => ExitCode::from(Exit::Run as u8),
        _ => ExitCode::from(Exit::Usage as u8),
    }
}

/// Returns the value of the option `--color` of a command line that was not parsed.
fn color_asked() -> Color {
    let mut words = std::env::args_os().skip(1).map_while(|word| word.into_string().ok());
    while let Some(word) = words.next().filter(|word| word != "--") {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(value) => value.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(color) = value.and_then(|value| Color::from_str(&value, false).ok()) {
            return color;
        }
    }
    Color::Auto
}

/// True if the error is in the command line of `run`, whose failures have exit codes of their own.
/// If the error does not name the command, the command line is parsed again, ignoring errors.
fn is_of_run(error: &clap::Error) -> bool {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let matches = || Arguments::command().ignore_errors(true).try_get_matches().ok();
    usage.contains("secrets run ")
        || matches().is_some_and(|matches| matches.subcommand_name() == Some("run"))
}

/// Parses a duration: a whole number with the unit `ms`, `s`, `m`, `h` or `d`. A number without a
/// unit is in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let milliseconds_per_unit = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("must be a whole number with the unit ms, s, m, h or d".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "must begin with a whole number".to_owned())?;
    let milliseconds = number.checked_mul(milliseconds_per_unit).ok_or("is too long")?;
    Ok(Duration::from_millis(milliseconds))
}

/// Returns a parser that accepts the names of the variants of an enumeration. `variants` must
/// contain all variants.
pub(crate) fn named<T>(variants: &'static [T]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Into<&'static str> + TryFrom<String, Error = Violation> + Send + Sync,
{
    let names = variants.iter().map(|variant| -> &'static str { (*variant).into() });
    PossibleValuesParser::new(names).try_map(T::try_from)
}

/// True if the program can ask the user: standard input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}
