//! `restore`: verifies a backup, and replaces the database with it.

use std::sync::Arc;

use secrets_core::model::Clock;
use secrets_core::store;

use super::{doctor, open, say};
use crate::program::config::{Exit, Failure, Restore};

/// Verifies a backup with the root key, and replaces the database with a copy of the backup.
/// Changes nothing if the verification fails.
pub(super) async fn run(
    restore: Restore,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    let Restore { database, root_keys, file, logs } = restore;
    open::log(&logs, &unknown)?;
    let prepared = store::Restore::prepare(&database.location, &file).await;
    let prepared = prepared.map_err(|error| open::unusable(&error))?;
    let copy = store::open(&prepared.location()).await.map_err(|error| open::unusable(&error))?;
    if !open::has_keys(&copy).await? {
        return Err(Failure::new(Exit::Database, "no service has used the backup"));
    }
    let verified = doctor::verify_store(Arc::clone(&copy), root_keys, clock).await;
    copy.close().await.map_err(|error| open::unusable(&error))?;
    verified?;
    let kept = prepared.finish().await.map_err(|error| open::unusable(&error))?;
    say(&format!("{} was restored", file.display()));
    if let Some(kept) = kept {
        say(&format!("the earlier database is {}", kept.display()));
    }
    if database.epoch_path.is_some() {
        say("run `accept-restore` before the service is started");
    }
    Ok(())
}
