//! Timeouts for calls to a target database.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use crate::ports::rotator::{Fault, TargetError};

/// Timeouts for the parts of a call to a target database. With the defaults, a whole call takes
/// less than 30 seconds.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Timeout for resolving the host name and connecting to the server.
    pub connect: Duration,
    /// Timeout for the TLS handshake and the login.
    pub login: Duration,
    /// Timeout for a single SQL statement.
    pub statement: Duration,
    /// Timeout for all SQL statements before the commit, in total.
    pub work: Duration,
    /// Timeout for the commit: the last SQL statement, which makes the change effective.
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
    /// Waits for a login to end. Fails with [`Fault::Unreachable`] after the login timeout.
    pub(super) async fn login<T>(
        &self,
        login: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        timeout(self.login, login).await.unwrap_or_else(|_| Err(Fault::Unreachable.into()))
    }

    /// Runs a read-only call to a target database, with a timeout for the whole call. Fails with
    /// [`Fault::Unreachable`] after the timeout.
    pub(super) async fn whole<T>(
        &self,
        call: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        let all = self.connect + self.login + self.work;
        timeout(all, call).await.unwrap_or_else(|_| Err(Fault::Unreachable.into()))
    }

    /// Starts the timer that limits all SQL statements of a call.
    pub(super) fn begin_work(self) -> Work {
        Work { deadlines: self, end: Instant::now() + self.work }
    }
}

/// Time limits for the SQL statements of one call to a target database.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    deadlines: Deadlines,
    end: Instant,
}

impl Work {
    /// Runs an SQL statement that precedes the commit. After a timeout, fails with [`Fault::Busy`]:
    /// the change does not take effect, because the commit is not sent.
    pub(super) async fn statement<T>(
        &self,
        statement: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        let end = self.end.min(Instant::now() + self.deadlines.statement);
        timeout_at(end, statement).await.unwrap_or_else(|_| Err(Fault::Busy.into()))
    }

    /// Runs the commit. After a timeout, fails with [`Fault::Interrupted`]: it is unknown whether
    /// the change was made.
    pub(super) async fn commit<T>(
        &self,
        statement: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, TargetError> {
        timeout(self.deadlines.commit, statement)
            .await
            .unwrap_or_else(|_| Err(Fault::Interrupted.into()))
    }
}
