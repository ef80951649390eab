//! How long things take, and the ports by which rotations reach the world.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::model::rotations::{ConnectionMethod, Integration};
use crate::ports::rotator::{DatabaseRotator, Fault, Target, TargetError};

/// Waits.
#[async_trait]
pub trait Timer: Send + Sync {
    /// Answers when so much time has passed.
    async fn sleep(&self, duration: Duration);
}

/// What rotations need of the world outside.
#[derive(Clone)]
pub struct Rotators {
    /// Changes PostgreSQL.
    pub postgresql: Arc<dyn DatabaseRotator>,
    /// Changes MySQL and MariaDB.
    pub mysql: Arc<dyn DatabaseRotator>,
    /// Has a function change what cannot be reached from here.
    pub proxied: Option<Arc<dyn DatabaseRotator>>,
    /// Waits.
    pub timer: Arc<dyn Timer>,
    /// How long things take.
    pub timings: Timings,
}

/// How long things take. All of it is here, so that tests of debug builds can be quick.
#[derive(Debug, Clone, Copy)]
pub struct Timings {
    /// How long a lease lasts.
    pub lease: Duration,
    /// How often it is prolonged while there is work.
    pub heartbeat: Duration,
    /// What must be left of it before a target is told anything.
    pub margin: Duration,
    /// The pauses before a target that cannot be reached is tried again.
    pub retries: [Duration; 3],
    /// How long a new credential may take to work.
    pub verify: Duration,
    /// How long one who asked waits for the end.
    pub budget: Duration,
    /// The pause after the first failure; the next are twice as long, up to `longest_backoff`.
    pub backoff: Duration,
    /// The longest of them.
    pub longest_backoff: Duration,
    /// How often one that waits for a person is tried all the same.
    pub probe: Duration,
    /// How long the previous credential works; `None` for a day, or half the interval if that is
    /// less.
    pub grace: Option<Duration>,
    /// How often a previous credential that could not be shut out is tried again.
    pub retire: Duration,
    /// When the served credential is tried after a rotation; the last again and again.
    pub checks: [Duration; 4],
    /// The most that a rotation is moved so that not all are due together; never more than a tenth
    /// of its interval.
    pub jitter: Duration,
    /// A day of `rotation_interval_days`.
    pub day: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let minutes = Duration::from_mins;
        Self {
            lease: minutes(1),
            heartbeat: Duration::from_secs(15),
            margin: Duration::from_secs(25),
            retries: [1, 4, 9].map(Duration::from_secs),
            verify: minutes(1),
            budget: Duration::from_secs(45),
            backoff: minutes(5),
            longest_backoff: minutes(6 * 60),
            probe: minutes(24 * 60),
            grace: None,
            retire: minutes(5),
            checks: [minutes(1), minutes(5), minutes(30), minutes(24 * 60)],
            jitter: minutes(60),
            day: minutes(24 * 60),
        }
    }
}

impl Rotators {
    /// What changes a target that is reached so.
    pub(super) fn of(
        &self,
        method: ConnectionMethod,
        target: &Target,
    ) -> Result<&dyn DatabaseRotator, TargetError> {
        match (method, target.integration) {
            (ConnectionMethod::Direct, Integration::Postgresql) => Ok(self.postgresql.as_ref()),
            (ConnectionMethod::Direct, Integration::Mysql) => Ok(self.mysql.as_ref()),
            (ConnectionMethod::Proxied, _) => {
                self.proxied.as_deref().ok_or(TargetError::of(Fault::ProxyUnavailable))
            }
        }
    }
}
