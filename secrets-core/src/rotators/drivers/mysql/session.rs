//! Running of SQL statements on MySQL and MariaDB, and decoding of their results.

use std::time::Duration;

use tokio::time::timeout;

use super::login::{Server, refusal};
use super::packets::{Parts, Transport, Wire};
use crate::failpoint;
use crate::ports::rotator::{Fault, TargetError};
use crate::rotators::drivers::deadlines::Work;
use crate::rotators::drivers::faults::Stage;

/// Maximum number of columns in a result. No SQL statement of this driver returns more.
const MAX_COLUMNS: u64 = 64;

/// Rows of a result, with all values as strings. `None` stands for NULL or a value that is not
/// UTF-8.
pub(crate) type Rows = Vec<Vec<Option<String>>>;

const QUIT: u8 = 1;
const QUERY: u8 = 3;

/// A connection on which the login has succeeded.
pub(crate) struct Session {
    wire: Wire<Box<dyn Transport>>,
    pub(super) server: Server,
    work: Work,
    stage: Stage,
}

impl Session {
    pub(super) fn new(
        wire: Wire<Box<dyn Transport>>,
        server: Server,
        work: Work,
        stage: Stage,
    ) -> Self {
        Self { wire, server, work, stage }
    }

    /// Runs an SQL statement that precedes the commit, and returns the rows of its result.
    pub(crate) async fn run(&mut self, statement: &str) -> Result<Rows, TargetError> {
        let work = self.work;
        work.statement(async {
            self.send(statement).await?;
            self.answer().await
        })
        .await
    }

    /// Runs an SQL statement that the server may reject. Returns true if the statement succeeded.
    pub(super) async fn try_run(&mut self, statement: &str) -> Result<bool, TargetError> {
        match self.run(statement).await {
            Ok(_) => Ok(true),
            // The connection stays usable only if the server itself reported the error.
            Err(error) if error.code.is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Runs a query whose result is a single value; `None` for NULL or a value that is not UTF-8.
    /// Fails if there is no row.
    pub(super) async fn value(&mut self, query: &str) -> Result<Option<String>, TargetError> {
        let mut rows = self.run(query).await?;
        let row = rows.pop().ok_or(Fault::Protocol)?;
        Ok(row.into_iter().next().flatten())
    }

    /// Runs the SQL statement that makes the change effective (the commit). If the server does not
    /// respond, it is unknown whether the change happened.
    pub(super) async fn commit(&mut self, statement: &str) -> Result<(), TargetError> {
        failpoint::reached("in-transaction").await;
        let work = self.work;
        work.commit(async {
            self.send(statement).await.map_err(interrupted)?;
            failpoint::reached("before-commit-answer").await;
            self.answer().await.map(drop).map_err(interrupted)
        })
        .await
    }

    /// Closes the connection with the command `COM_QUIT`. Servers would log a connection that ends
    /// without this command.
    pub(crate) async fn close(mut self) {
        self.wire.begin();
        timeout(Duration::from_millis(500), self.wire.write(&[QUIT])).await.ok();
    }

    async fn send(&mut self, statement: &str) -> Result<(), TargetError> {
        self.wire.begin();
        let packet = zeroize::Zeroizing::new([&[QUERY][..], statement.as_bytes()].concat());
        Ok(self.wire.write(&packet).await?)
    }

    pub(super) async fn answer(&mut self) -> Result<Rows, TargetError> {
        let packet = self.wire.read().await?;
        let mut parts = Parts::of(&packet);
        match packet[0] {
            0x00 => return Ok(Vec::new()),
            0xff => return Err(self.refusal(&packet)?),
            _ => {}
        }
        // A request for a local file (`0xfb`) is not a valid column count either.
        let columns = parts.counted_number()?;
        if columns > MAX_COLUMNS || !parts.is_empty() {
            return Err(Fault::Protocol.into());
        }
        for _ in 0..columns {
            self.wire.read().await?;
        }
        if !is_end(&self.wire.read().await?) {
            return Err(Fault::Protocol.into());
        }
        self.rows(columns).await
    }

    async fn rows(&mut self, columns: u64) -> Result<Rows, TargetError> {
        let mut rows = Vec::new();
        loop {
            let packet = self.wire.read().await?;
            if is_end(&packet) {
                return Ok(rows);
            }
            if packet[0] == 0xff {
                return Err(self.refusal(&packet)?);
            }
            let mut parts = Parts::of(&packet);
            rows.push((0..columns).map(|_| value(&mut parts)).collect::<Result<_, _>>()?);
        }
    }

    fn refusal(&self, packet: &[u8]) -> Result<TargetError, Fault> {
        let mut parts = Parts::of(packet);
        parts.take(1)?;
        refusal(parts, self.stage)
    }
}

/// Converts an error that occurred after the commit was sent. Unless the server itself reported the
/// error, it is unknown whether the change happened.
fn interrupted(error: TargetError) -> TargetError {
    if error.code.is_some() { error } else { Fault::Interrupted.into() }
}

fn is_end(packet: &[u8]) -> bool {
    packet[0] == 0xfe && packet.len() < 9
}

fn value(parts: &mut Parts<'_>) -> Result<Option<String>, Fault> {
    if parts.skip_null() {
        return Ok(None);
    }
    Ok(String::from_utf8(parts.counted()?.to_vec()).ok())
}
