//! `migrate`: migrates the database schema to the version of this program, and exits.

use super::{open, say};
use crate::program::config::{Failure, Migrate};

pub(super) async fn run(migrate: &Migrate, unknown: Vec<String>) -> Result<(), Failure> {
    open::log(&migrate.logs, &unknown)?;
    open::store(&migrate.database).await?;
    say("the database is up to date");
    Ok(())
}
