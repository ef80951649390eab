//! Commands of the program `secrets-http`.

mod accept_restore;
mod backup;
mod check;
mod dev;
mod doctor;
mod keys;
mod migrate;
mod open;
mod openapi;
mod restore;
mod root_key;
mod serve;
mod team;

use std::io::{self, Write as _};
use std::sync::Arc;

use secrets_core::model::{Clock, SystemClock};

use crate::program::config::{Command, Configured, Failure};

/// Runs the command that the configuration contains.
pub async fn run(configured: Configured) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let unknown = configured.unknown;
    match configured.command {
        Command::Dev(dev) => dev::run(*dev, unknown, clock).await,
        Command::DevToken(token) => dev::token(&token, clock.as_ref()),
        Command::DevLink(user) => dev::link(&user, clock.as_ref()).await,
        Command::Serve(settings) => serve::run(*settings, unknown, clock).await,
        Command::Check(settings) => check::run(*settings, unknown, clock).await,
        Command::OpenApi => openapi::print(clock).await,
        Command::Doctor(doctor) => doctor::verify(doctor, unknown, clock).await,
        Command::Sizes(report) => doctor::sizes(&report, unknown).await,
        Command::RotateRoot(settings) => keys::rotate_root(settings, unknown, clock).await,
        Command::RotateData(settings) => keys::rotate_data(&settings, unknown, clock).await,
        Command::KeyStatus(settings) => keys::status(&settings, unknown).await,
        Command::Migrate(migrate) => migrate::run(&migrate, unknown).await,
        Command::Backup(backup) => backup::run(&backup, unknown).await,
        Command::Restore(restore) => restore::run(restore, unknown, clock).await,
        Command::AcceptRestore(settings) => accept_restore::run(settings, unknown, clock).await,
        Command::TeamOwner(owner) => team::appoint(&owner, unknown, clock).await,
        Command::Print(text) => {
            say(&text);
            Ok(())
        }
    }
}

/// Writes the result of a command to standard output.
fn say(text: &str) {
    // A closed pipe, for example to `head`, is not a failure of the command.
    let _ = writeln!(io::stdout(), "{}", text.trim_end());
}
