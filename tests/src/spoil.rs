//! Functions that read and change stored records directly, as an attacker with access to the
//! database could.

use secrets_core::crypto::Sealed;
use secrets_core::model::{EnvironmentPath, Principal, ids};
use secrets_core::store::{ResolvedEnvironment, SecretRecord, Selection};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::{App, Kind, paths};

/// ID of a user who belongs to no team. Reads from the store need a caller, although the caller
/// does not matter to these tests.
const USER_WITHOUT_MEMBERSHIP: &str = "0191d0a0-0000-7000-8000-000000000000";

impl App {
    /// Loads an environment, its ancestors and their secrets from the store. `project` is the URL
    /// path, ID or slug of the project.
    pub async fn resolve_environment(
        &self,
        project: &str,
        environment: &str,
    ) -> ResolvedEnvironment {
        let principal = Principal::User(ids::parse(USER_WITHOUT_MEMBERSHIP).unwrap().into());
        let path = EnvironmentPath::new(paths::last(project), environment);
        let mut reads = self.store.read().await.unwrap();
        reads.resolve_environment(&path, principal, Selection::All).await.unwrap().unwrap()
    }

    /// Loads the secret that an environment itself has under this key from the store. Inherited
    /// secrets are not found.
    pub async fn record(&self, project: &str, environment: &str, key: &str) -> SecretRecord {
        let resolved = self.resolve_environment(project, environment).await;
        let mut own = resolved.chain.into_iter().next().unwrap().secrets.into_iter();
        let secret = own.find(|secret| secret.key.as_str() == key).unwrap();
        SecretRecord::clone(&secret)
    }

    /// Runs SQL statements directly on the database of the store. Panics for a store in memory.
    pub async fn sql(&self, statements: &str) {
        match self.kind {
            Kind::Memory => panic!("a store in memory has no SQL database"),
            Kind::Sqlite => {
                let options = SqliteConnectOptions::new().filename(&self.location);
                let mut connection = options.connect().await.unwrap();
                connection
                    .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned())))
                    .await
                    .unwrap();
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.location).await.unwrap();
                connection
                    .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned())))
                    .await
                    .unwrap();
            }
        }
    }

    /// Replaces the stored secrets that have the same IDs as these records.
    pub async fn rewrite(&self, records: &[SecretRecord]) {
        let mut tx = self.store.begin().await.unwrap();
        for record in records {
            tx.delete_secret(record.id).await.unwrap();
        }
        for record in records {
            tx.insert_secrets(std::slice::from_ref(record)).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
}

/// Returns a copy of the encrypted record with one bit flipped in the byte at this index.
#[must_use]
pub fn flipped(sealed: &Sealed, place: usize) -> Sealed {
    let mut bytes = sealed.as_bytes().to_vec();
    bytes[place] ^= 1;
    Sealed::from_bytes(bytes)
}
