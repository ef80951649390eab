//! One transaction on a target.

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

/// What every transaction begins with. The names are those of the catalogue and of nothing that
/// somebody has put before it.
const BEGIN: &str = "BEGIN; \
    SET LOCAL statement_timeout = '10s'; \
    SET LOCAL lock_timeout = '5s'; \
    SET LOCAL idle_in_transaction_session_timeout = '15s'; \
    SET LOCAL search_path = pg_catalog; \
    SET LOCAL standard_conforming_strings = on; \
    SET LOCAL client_min_messages = error";

/// A transaction; undone by the server if it is not committed.
pub(super) struct Transaction<'a> {
    peer: &'a Peer,
    work: Work,
    stage: Stage,
}

/// A parameter and its type, so that no statement has to be prepared first.
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

    /// Statements without results.
    pub(super) async fn run(&self, statements: &str) -> Result<(), TargetError> {
        let answer = async {
            self.peer.client.batch_execute(statements).await.map_err(|error| self.fault(&error))
        };
        self.work.statement(answer).await
    }

    /// A question.
    pub(super) async fn rows(
        &self,
        question: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, TargetError> {
        let answer = async {
            let rows = self.peer.client.query_typed(question, parameters).await;
            rows.map_err(|error| self.fault(&error))
        };
        self.work.statement(answer).await
    }

    /// A question with one row for an answer.
    pub(super) async fn row(
        &self,
        question: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, TargetError> {
        self.rows(question, parameters).await?.pop().ok_or(Fault::Protocol.into())
    }

    /// Statements without which one can do as well. What fails is undone by itself.
    pub(super) async fn try_run(
        &self,
        statements: &str,
    ) -> Result<Result<(), TargetError>, TargetError> {
        self.run("SAVEPOINT kv").await?;
        let outcome = self.run(statements).await;
        match &outcome {
            Ok(()) => self.run("RELEASE SAVEPOINT kv").await?,
            // Only what the server itself refused leaves a connection to go on with.
            Err(error) if error.state.is_some() => self.run("ROLLBACK TO SAVEPOINT kv").await?,
            Err(_) => return outcome.map(Ok),
        }
        Ok(outcome)
    }

    /// Makes it so. Where no answer comes, what became of it is not known.
    pub(super) async fn commit(self) -> Result<(), TargetError> {
        failpoint::reached("K3").await;
        let answer = async {
            let mut answer = pin!(self.peer.client.batch_execute("COMMIT"));
            let sent = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
            // The connection is driven beside this, and sends it now.
            tokio::task::yield_now().await;
            failpoint::reached("K4").await;
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

/// The value of a column. A server that sends another type is none.
pub(super) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, TargetError> {
    row.try_get(index).map_err(|_| Fault::Protocol.into())
}
