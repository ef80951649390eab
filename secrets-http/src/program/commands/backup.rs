//! `backup`: copies a database, which may be in use, to a file.

use secrets_core::store;

use super::{open, say};
use crate::program::config::{Backup, Failure};

pub(super) async fn run(backup: &Backup, unknown: Vec<String>) -> Result<(), Failure> {
    open::log(&backup.logs, &unknown)?;
    let copied = store::backup(&backup.database.location, &backup.file).await;
    copied.map_err(|error| open::unusable(&error))?;
    say(&format!("the database was copied to {}", backup.file.display()));
    Ok(())
}
