//! Transactions on a target database.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::connect::{Peer, fault_in};
use crate::failpoint;
use crate::ports::rotator::{Fault, TargetError};
use crate::rotators::drivers::deadlines::Work;
use crate::rotators::drivers::faults::{Stage, of_state};

/// SQL statements that begin every transaction. They limit the search path to `pg_catalog`, so that
/// no object of a user can be mistaken for a system object.
const BEGIN: &str = "BEGIN; \
    SET LOCAL statement_timeout = '10s'; \
    SET LOCAL lock_timeout = '5s'; \
    SET LOCAL idle_in_transaction_session_timeout = '15s'; \
    SET LOCAL search_path = pg_catalog; \
    SET LOCAL standard_conforming_strings = on; \
    SET LOCAL client_min_messages = error";

/// A transaction on a target database. The server rolls the transaction back unless it is
/// committed.
pub(super) struct Transaction<'a> {
    peer: &'a Peer,
    work: Work,
    stage: Stage,
}

/// Parameter of an SQL statement with its type. The type makes it unnecessary to prepare the
/// statement first.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

impl<'a> Transaction<'a> {
    pub(super) async fn begin(
        peer: &'a Peer,
        work: Work,
        stage: Stage,
    ) -> Result<Self, TargetError> {
        let transaction = Self { peer, work, stage };
        transaction.run(BEGIN).await?;
        Ok(transaction)
    }

    /// Runs SQL statements that return no results.
    pub(super) async fn run(&self, statements: &str) -> Result<(), TargetError> {
        let answer = async {
            self.peer.client.batch_execute(statements).await.map_err(|error| self.fault(&error))
        };
        self.work.statement(answer).await
    }

    /// Runs a query and returns the rows of its result.
    pub(super) async fn rows(
        &self,
        query: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, TargetError> {
        let answer = async {
            let rows = self.peer.client.query_typed(query, parameters).await;
            rows.map_err(|error| self.fault(&error))
        };
        self.work.statement(answer).await
    }

    /// Runs a query whose result is a single row.
    pub(super) async fn row(
        &self,
        query: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, TargetError> {
        self.rows(query, parameters).await?.pop().ok_or(Fault::Protocol.into())
    }

    /// Runs SQL statements that the server may reject, in a savepoint. The outer error means that
    /// the connection failed. The inner error means that the server rejected the statements: they
    /// are rolled back, and the transaction continues.
    pub(super) async fn try_run(
        &self,
        statements: &str,
    ) -> Result<Result<(), TargetError>, TargetError> {
        self.run("SAVEPOINT kv").await?;
        let outcome = self.run(statements).await;
        match &outcome {
            Ok(()) => self.run("RELEASE SAVEPOINT kv").await?,
            // The connection stays usable only if the server itself reported the error.
            Err(error) if error.code.is_some() => self.run("ROLLBACK TO SAVEPOINT kv").await?,
            Err(_) => return outcome.map(Ok),
        }
        Ok(outcome)
    }

    /// Commits the transaction. If the server does not respond, it is unknown whether the
    /// transaction was committed.
    pub(super) async fn commit(self) -> Result<(), TargetError> {
        failpoint::reached("in-transaction").await;
        let answer = async {
            let mut answer = pin!(self.peer.client.batch_execute("COMMIT"));
            let sent = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
            // Yields so that the connection, which is driven concurrently, sends the statement.
            tokio::task::yield_now().await;
            failpoint::reached("before-commit-answer").await;
            let outcome = match sent {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => answer.await,
            };
            outcome.map_err(|error| match error.code() {
                Some(state) if state.code() != "08006" => of_state(state.code(), self.stage),
                _ => Fault::Interrupted.into(),
            })
        };
        self.work.commit(answer).await
    }

    fn fault(&self, error: &tokio_postgres::Error) -> TargetError {
        fault_in(error, &self.peer.seen, self.stage)
    }
}

/// Reads the value of a column. A value of an unexpected type is an error: the server violated the
/// protocol.
pub(super) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, TargetError> {
    row.try_get(index).map_err(|_| Fault::Protocol.into())
}
