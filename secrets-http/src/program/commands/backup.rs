//! `backup`: copies a database that may be in use.

use secrets_core::store::{Location, sql};

use super::{open, say};
use crate::program::config::{Backup, Exit, Failure};

pub(super) async fn run(backup: &Backup, unknown: Vec<String>) -> Result<(), Failure> {
    open::log(&backup.logs, &unknown)?;
    let Location::Sqlite(path) = &backup.database.location else {
        let message = "`backup` copies SQLite databases: use pg_dump for PostgreSQL";
        return Err(Failure::new(Exit::Usage, message));
    };
    let copied = sql::sqlite::backup(path, &backup.file).await;
    copied.map_err(|error| open::unusable(&error))?;
    say(&format!("the database was copied to {}", backup.file.display()));
    Ok(())
}
