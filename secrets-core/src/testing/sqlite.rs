//! SQLite databases for tests.

use std::fs;
use std::path::Path;

use super::folder;
use crate::crypto::random;
use crate::store::sql;

/// Creates a database file with all tables and without rows.
///
/// The migrations take longer than most tests. The file is therefore a copy of a template, which
/// the first test creates for the current migrations.
pub async fn create_database(path: &Path) {
    let fingerprint = u64::from_be_bytes(sql::fingerprint());
    let template = folder().join(format!("template_{fingerprint:016x}.db"));
    if !template.exists() {
        // Other tests may do the same; the template has another name until it is complete.
        let number = u64::from_be_bytes(random());
        let unfinished = folder().join(format!("template_{number:016x}.unfinished"));
        sql::sqlite::create_for_tests(&unfinished).await.unwrap();
        fs::rename(&unfinished, &template).unwrap();
    }
    fs::copy(&template, path).unwrap();
}
