//! Parsing of the command line, and help texts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::failure::{Exit, Failure};
use super::settings_table::{self, Part, Setting};

/// E-mail address of the default user of the development service.
pub const DEV_USER: &str = "dev@example.com";

/// Name of a command that has settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Dev,
    DevToken,
    DevLink,
    Serve,
    Check,
    Migrate,
    Backup,
    Restore,
    AcceptRestore,
    Doctor,
    Sizes,
    RotateRoot,
    RotateData,
    KeyStatus,
    OpenApi,
    TeamOwner,
}

/// Parsed command line of a command that has settings.
pub(super) struct Given {
    pub(super) name: Name,
    /// Values of the flags, by the name of the setting.
    pub(super) flags: BTreeMap<String, OsString>,
    pub(super) file: Option<PathBuf>,
    pub(super) data_dir: PathBuf,
    pub(super) email: String,
    /// Argument of `team owner`: the new owner.
    pub(super) member: String,
    /// Argument of `team owner`: the team.
    pub(super) team: String,
    /// Flag of `accept-restore`: true to keep the credentials valid.
    pub(super) keeps_credentials: bool,
    /// Flag of `doctor sizes`: true to print JSON.
    pub(super) is_json: bool,
    /// Argument of `backup` and `restore`: the file that `backup` creates or `restore` reads.
    pub(super) backup_file: PathBuf,
}

/// Result of parsing the command line: a command whose settings are still to be read, or a command
/// that is complete.
pub(super) enum Parsed {
    Given(Given),
    Complete(super::Command),
}

const ABOUT_TEXT: &str =
    "A secrets manager: encrypted secrets for teams, projects and environments";

const EXAMPLES_AND_EXIT_CODES: &str = "\
Examples:
  secrets-http dev
      Try the service: data in ./.secrets, a test user, and an access token to paste.
  secrets-http dev token --email bob@example.com
      Sign a token for another test user.
  secrets-http dev link
      Print a link that signs a browser in to the running `dev`.
  SECRETS_ROOT_KEY_FILE=/run/secrets/root-key \\
  secrets-http serve --database-url sqlite:///var/lib/secrets/secrets.db \\
      --jwt-issuer https://login.example.com --jwt-audience secrets
      Run the service. Create a root key with `openssl rand -base64 32` and keep a backup of it:
      without the root key, no stored secret can be decrypted.
  secrets-http check --config /etc/secrets.toml
      Check whether `serve` would start with the same settings.
  secrets-http doctor verify --config /etc/secrets.toml
      Decrypt every record, and verify the hash chain of the audit log.
  secrets-http doctor sizes --config /etc/secrets.toml
      Print the size of the database, its tables, and the teams near a limit of their plan.
  secrets-http backup --database-url sqlite:///var/lib/secrets/secrets.db /backup/secrets.db
      Copy the database of a running service. Keep the root key in another place.
  secrets-http restore --config /etc/secrets.toml /backup/secrets.db
      Verify a copy, and replace the database by it. Stop the service first.

`secrets-http serve --help` lists all settings.

Exit codes:
  64  invalid command line                 69  database unavailable or unusable
  65  data damaged or modified             73  cannot listen on the address
  66  data exists, but not its key         75  root key cannot be obtained now
  67  earlier or other database            77  wrong root key
                                           78  invalid configuration";

const SETTINGS_HELP: &str = "\
A setting with a variable in brackets can be given as a flag, as that variable, or in the file named
by --config. Its key in the file is the variable's name in lower case without SECRETS_, for example
listen = \"[::]:8080\". A flag overrides a variable, and a variable overrides the file.

Secrets are not accepted as flags, because other users of the machine can see them. Each secret has a
flag and a variable (..._FILE) with the path of a file that contains it.";

pub(super) fn parse(arguments: Vec<OsString>) -> Result<Parsed, Failure> {
    match program().try_get_matches_from(arguments) {
        Ok(matches) => Ok(Parsed::Given(given(&matches))),
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

fn program() -> Command {
    Command::new("secrets-http")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT_TEXT)
        .after_help(EXAMPLES_AND_EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(dev_command())
        .subcommand(with_settings(
            Command::new("serve").about("Run the service"),
            &[Part::Service, Part::Storage, Part::Key, Part::Trust, Part::Log],
        ))
        .subcommand(with_settings(
            Command::new("check")
                .about("Check whether `serve` would start, and if not, report why"),
            &[Part::Service, Part::Storage, Part::Key, Part::Trust, Part::Log],
        ))
        .subcommand(
            Command::new("doctor")
                .about("Verify and measure stored data")
                .subcommand_required(true)
                .subcommand(with_settings(
                    Command::new("verify")
                        .about("Decrypt every record and verify the hash chain of the audit log"),
                    &[Part::Storage, Part::Key, Part::Log],
                ))
                .subcommand(sizes_command()),
        )
        .subcommand(keys_command())
        .subcommand(team_command())
        .subcommand(Command::new("openapi").about("Print the OpenAPI document"))
        .subcommands(database_commands())
}

/// Returns the commands that migrate, copy and replace the database.
fn database_commands() -> [Command; 4] {
    let file = |help: &'static str| {
        Arg::new("backup-file")
            .value_name("PATH")
            .help(help)
            .required(true)
            .value_parser(value_parser!(PathBuf))
    };
    let migrate =
        Command::new("migrate").about("Migrate the database schema to the current version");
    let backup = Command::new("backup")
        .about("Copy an SQLite database, which may be in use, to a new file")
        .arg(file("File to create; it must not exist"));
    let restore = Command::new("restore")
        .about("Verify a backup of an SQLite database, and replace the database by it")
        .long_about(
            "Verify a backup of an SQLite database, and replace the database by it. Every \
             record is decrypted first. The service must be stopped. The earlier database is kept as \
             PATH.before-restore. If the backup is not usable, nothing is changed.",
        )
        .arg(file("Backup to restore"));
    let accept_restore = Command::new("accept-restore")
        .about("Return a database that was restored from a backup to service")
        .long_about(
            "Return a database that was restored from a backup to service. The copy of the epoch \
             (SECRETS_EPOCH_PATH) accepts the database. All rotations stop until a user sets them to \
             active, because credentials may have changed since the backup. All service tokens, \
             sessions, invitations and device logins become invalid, because the backup also contains \
             those that were revoked since; service tokens get a new value when they are rotated. Stop \
             all processes of the service first.",
        )
        .arg(
            Arg::new("keep-credentials")
                .long("keep-credentials")
                .help("Keep service tokens, sessions, invitations and device logins valid")
                .action(ArgAction::SetTrue),
        );
    [
        with_settings(migrate, &[Part::Storage, Part::Log]),
        with_settings(backup, &[Part::Storage, Part::Log]),
        with_settings(restore, &[Part::Storage, Part::Key, Part::Log]),
        with_settings(accept_restore, &[Part::Storage, Part::Key, Part::Log]),
    ]
}

fn sizes_command() -> Command {
    let sizes = Command::new("sizes")
        .about("Print the size of the database, its tables, and the teams near a limit")
        .long_about(
            "Print the size of the database, the number of rows of each table, and the resources of \
             which a team uses 80 % of the limit of its plan, or more. The service may be running. Give \
             the --config of the service if it has [plans].",
        )
        .arg(Arg::new("json").long("json").help("Print JSON").action(ArgAction::SetTrue));
    with_settings(sizes, &[Part::Storage, Part::Log])
}

fn keys_command() -> Command {
    let rotate_root = Command::new("rotate-root")
        .about("Replace the previous root key by the current one")
        .long_about(
            "Replace the previous root key by the current one. Create a root key, set it as \
             SECRETS_ROOT_KEY and the earlier one as SECRETS_PREVIOUS_ROOT_KEY for all processes, \
             restart them, and run this command. Then the earlier one is needed only for backups that \
             were made before. Records are not encrypted again. Stop the service first if the database \
             is an SQLite file.",
        );
    let rotate_data = Command::new("rotate-data")
        .about("Request new encryption keys for all projects")
        .long_about(
            "Request new encryption keys for all projects. The service does the rest while it runs: \
             within a minute it encrypts new values with new keys, then all values that exist. `keys \
             status` shows the progress.",
        );
    let status = Command::new("status").about("Print the state of the encryption keys");
    Command::new("keys")
        .about("Replace encryption keys")
        .subcommand_required(true)
        .subcommand(with_settings(rotate_root, &[Part::Storage, Part::Key, Part::Log]))
        .subcommand(with_settings(rotate_data, &[Part::Storage, Part::Log]))
        .subcommand(with_settings(status, &[Part::Storage, Part::Log]))
}

fn team_command() -> Command {
    let required = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help).required(true)
    };
    let owner = Command::new("owner")
        .about("Make a member of a team an owner, for a team whose owners have left")
        .long_about(
            "Make a member of a team an owner, for a team whose owners have left. The change is in the \
             audit log of the team. Stop the service first if the database is an SQLite file.",
        )
        .arg(required("team", "ID", "ID of the team"))
        .arg(required("member", "MEMBER", "User ID or verified e-mail address of the member"));
    Command::new("team")
        .about("Change teams as the operator")
        .subcommand_required(true)
        .subcommand(with_settings(owner, &[Part::Storage, Part::Log]))
}

fn dev_command() -> Command {
    let data_dir = Arg::new("data-dir")
        .long("data-dir")
        .value_name("PATH")
        .help("Directory for the database and the keys")
        .default_value("./.secrets")
        .value_parser(value_parser!(PathBuf))
        .global(true);
    let email =
        Arg::new("email").long("email").value_name("E-MAIL").help("Email address of the user");
    let link = Command::new("link")
        .about("Print a link that signs a browser in to the running service, once and within 5 minutes")
        .arg(email.clone().default_value(DEV_USER));
    let token = Command::new("token").about("Sign a token for a user, valid for 24 hours");
    with_settings(
        Command::new("dev")
            .about("Run the service for development, on a loopback address only")
            .subcommand(token.arg(email.required(true)))
            .subcommand(link)
            .arg(data_dir),
        &[Part::Service, Part::Log],
    )
}

fn with_settings(command: Command, parts: &[Part]) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("PATH")
        .help("TOML file with settings")
        .value_parser(value_parser!(PathBuf));
    let accepted = settings_table::GROUPS.iter().filter(|group| parts.contains(&group.part));
    let settings = accepted.flat_map(|group| {
        let flags =
            group.settings.iter().flat_map(|setting| [plain_flag(setting), file_flag(setting)]);
        flags.flatten().map(|flag| flag.help_heading(group.heading))
    });
    command.after_help(SETTINGS_HELP).arg(config).args(settings)
}

fn plain_flag(setting: &Setting) -> Option<Arg> {
    let help = format!("{} [{}]", setting.help, setting.variable());
    setting.has_flag().then(|| flag(setting.name.to_owned(), setting.value, help))
}

fn file_flag(setting: &Setting) -> Option<Arg> {
    let name = setting.file_name();
    let what = if setting.has_flag() {
        "File with the value of the previous setting"
    } else {
        setting.help
    };
    let help = format!("{what} [{}; {}]", setting.variable(), settings_table::variable(&name));
    setting.has_file().then(|| flag(name, "PATH", help))
}

fn flag(name: String, value: &'static str, help: String) -> Arg {
    let long = settings_table::flag(&name);
    Arg::new(name).long(long).value_name(value).help(help).value_parser(value_parser!(OsString))
}

fn given(matches: &ArgMatches) -> Given {
    let (command, matches) = matches.subcommand().unwrap_or(("serve", matches));
    let (name, matches) = match (command, matches.subcommand()) {
        ("dev", Some(("link", matches))) => (Name::DevLink, matches),
        ("dev", Some((_, matches))) => (Name::DevToken, matches),
        ("dev", None) => (Name::Dev, matches),
        ("check", _) => (Name::Check, matches),
        ("migrate", _) => (Name::Migrate, matches),
        ("backup", _) => (Name::Backup, matches),
        ("restore", _) => (Name::Restore, matches),
        ("accept-restore", _) => (Name::AcceptRestore, matches),
        ("openapi", _) => (Name::OpenApi, matches),
        ("team", Some((_, matches))) => (Name::TeamOwner, matches),
        ("doctor", Some(("sizes", matches))) => (Name::Sizes, matches),
        ("doctor", Some((_, matches))) => (Name::Doctor, matches),
        ("keys", Some(("rotate-data", matches))) => (Name::RotateData, matches),
        ("keys", Some(("status", matches))) => (Name::KeyStatus, matches),
        ("keys", Some((_, matches))) => (Name::RotateRoot, matches),
        // clap requires a subcommand, and `serve` is the only one left.
        _ => (Name::Serve, matches),
    };
    let is_for_user = matches!(name, Name::DevToken | Name::DevLink);
    let has_config = !is_for_user && name != Name::OpenApi;
    let is_dev = is_for_user || name == Name::Dev;
    let (is_team, has_file) =
        (name == Name::TeamOwner, matches!(name, Name::Backup | Name::Restore));
    Given {
        name,
        flags: flags(matches),
        file: value_if(has_config, matches, "config"),
        data_dir: value_if(is_dev, matches, "data-dir").unwrap_or_default(),
        email: value_if(is_for_user, matches, "email").unwrap_or_default(),
        member: value_if(is_team, matches, "member").unwrap_or_default(),
        team: value_if(is_team, matches, "team").unwrap_or_default(),
        keeps_credentials: name == Name::AcceptRestore && matches.get_flag("keep-credentials"),
        is_json: name == Name::Sizes && matches.get_flag("json"),
        backup_file: value_if(has_file, matches, "backup-file").unwrap_or_default(),
    }
}

fn flags(matches: &ArgMatches) -> BTreeMap<String, OsString> {
    settings_table::all()
        .flat_map(|setting| [setting.name.to_owned(), setting.file_name()])
        .filter_map(|name| {
            // A command does not have all settings.
            let value = matches.try_get_one::<OsString>(&name).ok().flatten().cloned();
            value.map(|value| (name, value))
        })
        .collect()
}

/// Returns the value of an argument; `None` if the argument is not given or `has_argument` is
/// false. Panics if `has_argument` is true and the command defines no argument with this ID.
fn value_if<T: Clone + Send + Sync + 'static>(
    has_argument: bool,
    matches: &ArgMatches,
    id: &str,
) -> Option<T> {
    if has_argument { matches.get_one::<T>(id).cloned() } else { None }
}
