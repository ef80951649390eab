//! Rows that are changed behind the service's back.

use secrets_core::model::{EnvironmentPath, Principal, ids};
use secrets_core::crypto::Sealed;
use secrets_core::store::{SecretRecord, Sight, Wanted};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::{App, Kind, paths};

/// Somebody who stands to no project: what is stored does not depend on who looks.
const NOBODY: &str = "0191d0a0-0000-7000-8000-000000000000";

impl App {
    /// What is stored of an environment and its secrets. `project` is a path, an id or a slug.
    pub async fn sight(&self, project: &str, environment: &str) -> Sight {
        let principal = Principal::User(ids::parse(NOBODY).unwrap().into());
        let path = EnvironmentPath::new(paths::last(project), environment);
        let mut reads = self.store.read().await.unwrap();
        reads.sight(&path, principal, Wanted::All).await.unwrap().unwrap()
    }

    /// What is stored of a secret that the environment itself holds.
    pub async fn record(&self, project: &str, environment: &str, key: &str) -> SecretRecord {
        let sight = self.sight(project, environment).await;
        let mut own = sight.chain.into_iter().next().unwrap().secrets.into_iter();
        own.find(|secret| secret.key.as_str() == key).unwrap()
    }

    /// Runs statements on the database itself, of which there must be one.
    pub async fn sql(&self, statements: &'static str) {
        match self.kind {
            Kind::Memory => panic!("a store in memory has no database"),
            Kind::Sqlite => {
                let options = SqliteConnectOptions::new().filename(&self.location);
                let mut connection = options.connect().await.unwrap();
                connection.execute(sqlx::raw_sql(statements)).await.unwrap();
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.location).await.unwrap();
                connection.execute(sqlx::raw_sql(statements)).await.unwrap();
            }
        }
    }

    /// Puts these rows where rows of the same ids are.
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

/// The same bytes, with one bit of the byte at this place another.
#[must_use]
pub fn flipped(sealed: &Sealed, place: usize) -> Sealed {
    let mut bytes = sealed.as_bytes().to_vec();
    bytes[place] ^= 1;
    Sealed::from_bytes(bytes)
}
