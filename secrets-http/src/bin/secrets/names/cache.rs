//! Cache file with names for shell completion. It never contains values.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use secrets_core::model::{Clock as _, SystemClock};
use secrets_http::atomic_file::{Access, AtomicFile};
use serde::{Deserialize, Serialize};

use crate::credentials::create_private_folder;
use crate::settings::Folders;

/// Maximum age of cached names that are used without a request to the service.
const MAX_AGE: TimeDelta = TimeDelta::minutes(10);

/// Maximum age of a list of names that is kept when another list is written to the cache file.
const MAX_KEPT_AGE: TimeDelta = TimeDelta::days(1);

/// Maximum number of names in a cached list.
const MAX_NAMES: usize = 10_000;

/// Names in a cached list, and the time when they were loaded.
#[derive(Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) names: Vec<String>,
    loaded_at: DateTime<Utc>,
}

type Lists = BTreeMap<String, Known>;

impl Known {
    pub(super) fn is_recent(&self) -> bool {
        self.age() <= MAX_AGE
    }

    fn age(&self) -> TimeDelta {
        (SystemClock.now() - self.loaded_at).abs()
    }
}

/// Loads the list with the cache key `list`, however old it is; `None` if it is not in the cache
/// file.
pub(super) fn names(folders: &Folders, list: &str) -> Option<Known> {
    read(folders)?.remove(list)
}

/// Stores the names of a list in the cache file. Errors are ignored, because the names can be
/// requested from the service again.
pub(super) fn keep(folders: &Folders, list: String, mut names: Vec<String>) {
    let mut lists = read(folders).unwrap_or_default();
    lists.retain(|_, known| known.age() <= MAX_KEPT_AGE);
    names.truncate(MAX_NAMES);
    lists.insert(list, Known { names, loaded_at: SystemClock.now() });
    let _ = write(folders, &lists);
}

/// Deletes the cache file.
pub(crate) fn forget(folders: &Folders) {
    // A file that does not exist needs no deletion.
    let _ = fs::remove_file(path(folders));
}

fn path(folders: &Folders) -> PathBuf {
    folders.cache.join("names.json")
}

fn read(folders: &Folders) -> Option<Lists> {
    serde_json::from_slice(&fs::read(path(folders)).ok()?).ok()
}

/// Writes the cache file, readable by its owner only.
fn write(folders: &Folders, lists: &Lists) -> std::io::Result<()> {
    create_private_folder(&folders.cache)?;
    let file = AtomicFile::create(&path(folders), Access::Private)?;
    // Not synced, because the shell waits for the completion. A cache file that a power failure
    // has damaged is ignored.
    file.without_sync().replace(&serde_json::to_vec(lists)?)
}
