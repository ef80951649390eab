//! Limits of writes: statements that insert rows into a database with sqlx, without a service. Every
//! request that adds or changes secrets runs at least one such transaction.

use std::str::FromStr as _;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::Failure;
use crate::cases::{Figures, median};
use crate::load::Sample;

/// Bytes of each row.
const BYTES: usize = 100;
/// Connections that insert into PostgreSQL at the same time. SQLite has one writer.
const CONNECTIONS: u32 = 8;
/// Rows of each statement that is measured.
const ROWS: [usize; 2] = [1, 100];

/// Measurements of statements of one row and of 100 rows on each database.
pub(crate) struct Inserts {
    sqlite: SqlitePool,
    postgres: Option<PgPool>,
    /// Statements per second in each round: the name of the case, and the rates.
    rates: Vec<(String, Vec<f64>)>,
    _folder: TempDir,
}

/// Returns the name of the case that inserts this number of rows with one statement.
pub(crate) fn name(database: &str, rows: usize) -> String {
    format!("{database}, insert of {rows}")
}

impl Inserts {
    /// Creates a SQLite database with `synchronous = FULL`, and a table in the PostgreSQL database.
    pub(crate) async fn new(postgres: Option<&str>) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("limit.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let sqlite = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        let table = "CREATE TABLE rows (id INTEGER PRIMARY KEY, value BLOB)";
        sqlx::query(table).execute(&sqlite).await?;
        let postgres = match postgres {
            None => None,
            Some(url) => {
                let options = PgConnectOptions::from_str(url)?;
                let pool = PgPoolOptions::new().max_connections(CONNECTIONS);
                let pool = pool.connect_with(options).await?;
                // A schema of its own: the service uses the same database.
                sqlx::query("CREATE SCHEMA inserts").execute(&pool).await?;
                let table = "CREATE TABLE inserts.rows (id BIGSERIAL PRIMARY KEY, value BYTEA)";
                sqlx::query(table).execute(&pool).await?;
                Some(pool)
            }
        };
        Ok(Self { sqlite, postgres, rates: Vec::new(), _folder: folder })
    }

    /// Measures each statement for this time.
    pub(crate) async fn measure(&mut self, time: Duration) -> Result<(), Failure> {
        for rows in ROWS {
            let rate = sqlite(&self.sqlite, rows, time).await?;
            self.record(name("SQLite", rows), rate);
            if let Some(pool) = self.postgres.clone() {
                let rate = postgres(&pool, rows, time).await?;
                self.record(name("PostgreSQL", rows), rate);
            }
        }
        Ok(())
    }

    fn record(&mut self, name: String, rate: f64) {
        match self.rates.iter_mut().find(|known| known.0 == name) {
            Some((_, rates)) => rates.push(rate),
            None => self.rates.push((name, vec![rate])),
        }
    }

    /// Returns the median of each statement.
    pub(crate) fn figures(self) -> impl Iterator<Item = Figures> {
        self.rates.into_iter().map(|(case, rates)| {
            let rate = median(rates);
            let sample = Sample { rate, cpu: 0.0, p50: 0.0, p99: 0.0 };
            Figures { server: "sqlx".into(), case, sample, memory: 0 }
        })
    }
}

/// Returns the statements per second, one after another.
async fn sqlite(pool: &SqlitePool, rows: usize, time: Duration) -> Result<f64, Failure> {
    let values = vec!["(?)"; rows].join(", ");
    let statement = format!("INSERT INTO rows (value) VALUES {values}");
    let value = [7_u8; BYTES];
    let (began, mut count) = (Instant::now(), 0_u32);
    while began.elapsed() < time {
        let mut query = sqlx::query(sqlx::AssertSqlSafe(statement.as_str()));
        for _ in 0..rows {
            query = query.bind(&value[..]);
        }
        query.execute(pool).await?;
        count += 1;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

/// Returns the statements per second on all connections together.
async fn postgres(pool: &PgPool, rows: usize, time: Duration) -> Result<f64, Failure> {
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut connection = pool.acquire().await?;
            let values = vec![vec![7_u8; BYTES]; rows];
            let mut count = 0_u32;
            while began.elapsed() < time {
                let statement = "INSERT INTO inserts.rows (value) SELECT UNNEST($1::BYTEA[])";
                sqlx::query(statement).bind(&values).execute(&mut *connection).await?;
                count += 1;
            }
            Ok::<_, Failure>(count)
        });
    }
    let mut count = 0_u32;
    while let Some(task) = tasks.join_next().await {
        count += task??;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}
