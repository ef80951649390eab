//! Schema migrations. The SQL is the same for SQLite and PostgreSQL, except for [`POSTGRES_ONLY`].

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};

use crate::store::SchemaState;

/// All migrations, in order. New ones may only be appended: never change a migration that has run
/// anywhere, because databases store its checksum.
const HISTORY: &[(&str, &str)] = &[
    ("instance", include_str!("../../../migrations/0001_instance.sql")),
    ("users and teams", include_str!("../../../migrations/0002_users_and_teams.sql")),
    (
        "projects and environments",
        include_str!("../../../migrations/0003_projects_and_environments.sql"),
    ),
    ("secrets", include_str!("../../../migrations/0004_secrets.sql")),
    ("tokens", include_str!("../../../migrations/0005_tokens.sql")),
    ("audit", include_str!("../../../migrations/0006_audit.sql")),
    ("audit chain", include_str!("../../../migrations/0007_audit_chain.sql")),
    ("device logins", include_str!("../../../migrations/0008_device_logins.sql")),
    ("people", include_str!("../../../migrations/0009_people.sql")),
    ("scans", include_str!("../../../migrations/0010_scans.sql")),
    ("outbox", include_str!("../../../migrations/0011_outbox.sql")),
    ("permissions", include_str!("../../../migrations/0012_permissions.sql")),
    ("token use", include_str!("../../../migrations/0013_token_use.sql")),
    ("rotations", include_str!("../../../migrations/0014_rotations.sql")),
    ("unsealed teams", include_str!("../../../migrations/0015_unsealed_teams.sql")),
    ("audit order", include_str!("../../../migrations/0016_audit_order.sql")),
    ("environment sizes", include_str!("../../../migrations/0017_environment_sizes.sql")),
    ("ages", include_str!("../../../migrations/0018_ages.sql")),
    ("environment defaults", include_str!("../../../migrations/0019_environment_defaults.sql")),
    ("token expiry", include_str!("../../../migrations/0020_token_expiry.sql")),
    ("mail counts", include_str!("../../../migrations/0021_mail_counts.sql")),
    ("audit batches", include_str!("../../../migrations/0022_audit_batches.sql")),
    ("sessions", include_str!("../../../migrations/0023_sessions.sql")),
    ("team sizes", include_str!("../../../migrations/0024_team_sizes.sql")),
    ("project key versions", include_str!("../../../migrations/0025_project_key_versions.sql")),
    ("token approval", include_str!("../../../migrations/0026_token_approval.sql")),
    ("anonymizations", include_str!("../../../migrations/0027_anonymizations.sql")),
    ("changed counters", include_str!("../../../migrations/0028_changed_counters.sql")),
    ("schema compatibility", include_str!("../../../migrations/0029_schema_compatibility.sql")),
    ("manifests", include_str!("../../../migrations/0030_manifests.sql")),
    ("purged projects", include_str!("../../../migrations/0031_purged_projects.sql")),
];

/// Oldest schema version whose programs can use the tables of the latest version. A migration that
/// changes this version also stores it in the table `schema_compatibility`, from which programs
/// without the migration read it.
const OLDEST_VERSION: i64 = 29;

/// Versions of the migrations that do nothing on SQLite.
const POSTGRES_ONLY: [i64; 1] = [28];

/// Database whose schema is migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    #[cfg(feature = "sqlite")]
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
}

/// Name of the table that lists the migrations that have run.
const TABLE: &str = "_sqlx_migrations";

fn migrator(dialect: Dialect) -> Migrator {
    let migrations = (1..).zip(HISTORY).map(|(version, (name, text))| {
        let text = if dialect.runs(version) { *text } else { "" };
        Migration::new(
            version,
            Cow::Borrowed(name),
            MigrationType::Simple,
            text.into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(migrations.collect())
}

impl Dialect {
    fn runs(self, version: i64) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => !POSTGRES_ONLY.contains(&version),
            #[cfg(feature = "postgres")]
            Self::Postgres => true,
        }
    }
}

/// Runs the migrations that have not run yet. Ignores the migrations of later versions of the
/// program. On PostgreSQL, this takes a session-level advisory lock, which is not released after a
/// failure: use a separate connection for this call and close it.
pub(super) async fn run<C: Migrate>(
    dialect: Dialect,
    connection: &mut C,
) -> Result<(), MigrateError> {
    migrator(dialect).set_ignore_missing(true).run_direct(None, connection, false).await
}

/// Compares the migrations that have run with the migrations of this program, and returns the state
/// of the schema. Changes nothing. The table that lists the migrations must exist. Does not check
/// whether this program can use the tables of a later version.
pub(super) async fn state<C: Migrate>(connection: &mut C) -> Result<SchemaState, MigrateError> {
    let applied = connection.list_applied_migrations(TABLE).await?;
    let latest = latest_version();
    Ok(match applied.iter().map(|migration| migration.version).max() {
        None => SchemaState::Empty,
        Some(version) if version > latest => SchemaState::Later { version },
        Some(version) if version < latest => {
            SchemaState::Older { version, is_compatible: version >= OLDEST_VERSION }
        }
        Some(_) => SchemaState::Current,
    })
}

/// Version of the schema of this program.
pub(super) fn latest_version() -> i64 {
    i64::try_from(HISTORY.len()).unwrap_or(i64::MAX)
}

/// Returns a fingerprint of all migrations. Each schema version has a different fingerprint.
#[cfg(feature = "testing")]
pub(crate) fn fingerprint() -> [u8; 8] {
    use sha2::{Digest, Sha256};

    let mut hash = Sha256::new();
    for (name, text) in HISTORY {
        hash.update([*name, "\0", *text, "\0"].concat());
    }
    for version in POSTGRES_ONLY {
        hash.update(version.to_be_bytes());
    }
    let mut fingerprint = [0; 8];
    fingerprint.copy_from_slice(&hash.finalize()[..8]);
    fingerprint
}

#[cfg(test)]
mod tests;
