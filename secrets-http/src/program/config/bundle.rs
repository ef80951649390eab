//! Command line of `bundle`. The command needs neither a database nor a service, so it reads no
//! variables and no configuration file.

use std::path::PathBuf;

use clap::{Arg, ArgGroup, ArgMatches, Command, value_parser};
use secrets_core::bundle::Signer;
use secrets_core::formats::{Format, ObjectName};

/// Subcommand of `bundle`.
#[derive(Debug)]
pub enum Bundle {
    /// Print the secrets of a bundle.
    Open(BundleOpening),
    /// Print a new key pair.
    KeyGen,
}

/// Options of `bundle open`.
#[derive(Debug)]
pub struct BundleOpening {
    /// Path of the bundle.
    pub file: PathBuf,
    /// Key or passphrase that opens the bundle.
    pub unlock: UnlockFile,
    /// Signer that must have signed the bundle.
    pub signer: Option<Signer>,
    /// Minimum sequence number (`seq`) of the bundle.
    pub at_least: u64,
    /// Output format.
    pub format: Format,
    /// Name of the Kubernetes Secret.
    pub name: ObjectName,
}

/// File with the key or passphrase of a bundle. `-` is standard input.
#[derive(Debug)]
pub enum UnlockFile {
    /// File with a symmetric key.
    Key(PathBuf),
    /// File with a passphrase.
    Passphrase(PathBuf),
    /// File with the private key of a recipient.
    Private(PathBuf),
}

const EXAMPLES: &str = "\
Keys and passphrases are not accepted as arguments, because other users of the machine can see them.
They are read from a file, or from standard input if the path is `-`.

Examples:
  secrets-http bundle open web.scb --key-file key.txt > .env
  secrets-http bundle keygen > me.key
      Generate a key pair. The first line has the public key, to request bundles for.
  secrets-http bundle open web.scb --private-key-file me.key --signer scbs_... --format json";

pub(super) fn command() -> Command {
    Command::new("bundle")
        .about("Open an exported bundle, or generate keys for bundles")
        .subcommand_required(true)
        .subcommand(open())
        .subcommand(
            Command::new("keygen")
                .about("Print a new private key, with its public key on the first line"),
        )
        .after_help(EXAMPLES)
}

fn open() -> Command {
    let path = || value_parser!(PathBuf);
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("PATH").help(help).value_parser(path())
    };
    Command::new("open")
        .about("Verify a bundle completely, then print its secrets")
        .arg(Arg::new("FILE").help("Path of the bundle").required(true).value_parser(path()))
        .arg(file("key-file", "File with the bundle key (scbk_…)"))
        .arg(file("passphrase-file", "File with the passphrase, on one line"))
        .arg(file("private-key-file", "File with your private key (scbx_…); requires --signer"))
        .group(
            ArgGroup::new("unlock")
                .args(["key-file", "passphrase-file", "private-key-file"])
                .required(true),
        )
        .arg(
            Arg::new("signer")
                .long("signer")
                .value_name("SIGNER")
                .help("Signing key that the bundle must be signed with (scbs_…)")
                .value_parser(|text: &str| text.parse::<Signer>()),
        )
        .arg(
            Arg::new("at-least")
                .long("at-least")
                .value_name("NUMBER")
                .help("Refuse bundles whose `seq` is lower than this number")
                .value_parser(value_parser!(u64)),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .help("Output format: dotenv, docker, shell, json, yaml, csv or k8s")
                .default_value("dotenv")
                .value_parser(|text: &str| text.parse::<Format>()),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help("Name of the Kubernetes Secret, for format k8s")
                .default_value("secrets")
                .value_parser(|text: &str| text.parse::<ObjectName>()),
        )
        .after_help(EXAMPLES)
}

/// Returns the parsed subcommand, or `None` if a required argument is missing.
pub(super) fn given(matches: &ArgMatches) -> Option<Bundle> {
    let ("open", matches) = matches.subcommand()? else { return Some(Bundle::KeyGen) };
    let path = |name| matches.get_one::<PathBuf>(name).cloned();
    let unlock = path("key-file")
        .map(UnlockFile::Key)
        .or_else(|| path("passphrase-file").map(UnlockFile::Passphrase))
        .or_else(|| path("private-key-file").map(UnlockFile::Private))?;
    Some(Bundle::Open(BundleOpening {
        file: path("FILE")?,
        unlock,
        signer: matches.get_one("signer").copied(),
        at_least: matches.get_one("at-least").copied().unwrap_or_default(),
        format: matches.get_one("format").copied()?,
        name: matches.get_one::<ObjectName>("name").cloned()?,
    }))
}
