//! Command line of the command `bundle`. The command needs neither a database nor a service, so it
//! reads no environment variables and no configuration file.

use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand as _};

use crate::bundle::BundleCommand;

const EXAMPLES: &str = "\
The program `secrets` has this command too; it will be removed here.

Keys and passphrases are not accepted as arguments, because other users of the machine can see them.
They are read from a file, or from standard input if the path is `-`.

Examples:
  secrets-http bundle open web.scb --key-file key.txt > .env
  secrets-http bundle keygen > me.key
      Generate a key pair. The first line has the public key, to request bundles for.
  secrets-http bundle open web.scb --private-key-file me.key --signer scbs_... --format json";

pub(super) fn command() -> Command {
    let command = Command::new("bundle")
        .about("Open an exported bundle, or generate keys for bundles")
        .subcommand_required(true)
        .after_help(EXAMPLES);
    BundleCommand::augment_subcommands(command)
}

/// Returns the parsed subcommand, or `None` if a required argument is missing.
pub(super) fn given(matches: &ArgMatches) -> Option<BundleCommand> {
    BundleCommand::from_arg_matches(matches).ok()
}
