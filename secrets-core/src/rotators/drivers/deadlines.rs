//! How long a target is waited for.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use crate::ports::rotator::{Fault, TargetError};

/// How long each part of a call may take. All of them together are less than 30 seconds.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// To resolve the name and to connect.
    pub connect: Duration,
    /// To agree on TLS and to log in.
    pub login: Duration,
    /// For one statement.
    pub statement: Duration,
    /// For all statements before the one that makes the change.
    pub work: Duration,
    /// For the statement that makes the change.
    pub commit: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            login: Duration::from_secs(8),
            statement: Duration::from_secs(10),
            work: Duration::from_secs(12),
            commit: Duration::from_secs(4),
        }
    }
}

impl Deadlines {
    /// Ends a login that a server delays.
    pub(super) async fn login<T>(
        &self,
        login: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        timeout(self.login, login).await.unwrap_or_else(|_| Err(Fault::Unreachable.into()))
    }

    /// Ends a call that changes nothing.
    pub(super) async fn whole<T>(
        &self,
        call: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        let all = self.connect + self.login + self.work;
        timeout(all, call).await.unwrap_or_else(|_| Err(Fault::Unreachable.into()))
    }

    /// Begins the statements of a call.
    pub(super) fn begin_work(self) -> Work {
        Work { deadlines: self, end: Instant::now() + self.work }
    }
}

/// The time of the statements of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    deadlines: Deadlines,
    end: Instant,
}

impl Work {
    /// Ends a statement after which nothing is changed yet: what was begun is undone by the server
    /// when the connection is closed.
    pub(super) async fn statement<T>(
        &self,
        statement: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        let end = self.end.min(Instant::now() + self.deadlines.statement);
        timeout_at(end, statement).await.unwrap_or_else(|_| Err(Fault::Busy.into()))
    }

    /// Ends the statement that makes the change. What became of it is then not known.
    pub(super) async fn commit<T>(
        &self,
        statement: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        timeout(self.deadlines.commit, statement)
            .await
            .unwrap_or_else(|_| Err(Fault::Interrupted.into()))
    }
}
