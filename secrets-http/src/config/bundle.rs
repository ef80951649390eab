//! The command line of `bundle`. It takes nothing from variables or files of settings: it needs
//! neither a database nor a service.

use std::path::PathBuf;

use clap::{Arg, ArgGroup, ArgMatches, Command, value_parser};
use secrets_core::bundle::Signer;
use secrets_core::formats::{Format, ObjectName};

/// What to do with bundles.
#[derive(Debug)]
pub enum Bundle {
    /// Print what one holds.
    Open(BundleOpening),
    /// Print a pair of keys.
    KeyGen,
}

/// Which bundle to open, and how.
#[derive(Debug)]
pub struct BundleOpening {
    /// The bundle.
    pub file: PathBuf,
    /// What opens it.
    pub unlock: UnlockFile,
    /// Who must have signed it.
    pub signer: Option<Signer>,
    /// The least number it may have.
    pub at_least: u64,
    /// As what it is printed.
    pub format: Format,
    /// What a Kubernetes Secret is called.
    pub name: ObjectName,
}

/// The file that holds what opens a bundle; `-` is standard input.
#[derive(Debug)]
pub enum UnlockFile {
    /// A key.
    Key(PathBuf),
    /// A passphrase.
    Passphrase(PathBuf),
    /// A private key.
    Private(PathBuf),
}

const AFTER: &str = "\
Keys and passphrases are not taken as arguments, which other users of the machine can see: each is
read from a file, or from standard input where that is `-`.

Examples:
  secrets-http bundle open web.scb --key-file key.txt > .env
  secrets-http bundle keygen > me.key
      The public key is in its first line: have bundles made for it.
  secrets-http bundle open web.scb --private-key-file me.key --signer scbs_... --format json";

pub(super) fn command() -> Command {
    Command::new("bundle")
        .about("Open what was taken along from a service")
        .subcommand_required(true)
        .subcommand(open())
        .subcommand(
            Command::new("keygen").about("Print a private key, and the public key of it above"),
        )
        .after_help(AFTER)
}

fn open() -> Command {
    let file = |name: &'static str, help: &'static str| {
        let path = value_parser!(PathBuf);
        Arg::new(name).long(name).value_name("PATH").help(help).value_parser(path)
    };
    Command::new("open")
        .about("Print the secrets of a bundle, once all of it is proven")
        .arg(
            Arg::new("FILE").help("The bundle").required(true).value_parser(value_parser!(PathBuf)),
        )
        .arg(file("key-file", "Holds the key, scbk_…"))
        .arg(file("passphrase-file", "Holds the passphrase, on one line"))
        .arg(file("private-key-file", "Holds the private key, scbx_…; needs --signer"))
        .group(
            ArgGroup::new("unlock")
                .args(["key-file", "passphrase-file", "private-key-file"])
                .required(true),
        )
        .arg(
            Arg::new("signer")
                .long("signer")
                .value_name("SIGNER")
                .help("Who must have signed it, scbs_…")
                .value_parser(|text: &str| text.parse::<Signer>()),
        )
        .arg(
            Arg::new("at-least")
                .long("at-least")
                .value_name("NUMBER")
                .help("The `seq` of the last bundle seen: an older one is refused")
                .value_parser(value_parser!(u64)),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .help("dotenv, docker, shell, json, yaml, csv or k8s")
                .default_value("dotenv")
                .value_parser(|text: &str| text.parse::<Format>()),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help("What the Kubernetes Secret is called")
                .default_value("secrets")
                .value_parser(|text: &str| text.parse::<ObjectName>()),
        )
        .after_help(AFTER)
}

/// What the command line says; `None` where it lacks what the parser asks for.
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
