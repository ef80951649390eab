//! Rotator for PostgreSQL 11 and later.

mod change;
mod connect;
pub(super) mod frames;
mod grants;
mod guard;
mod privileges;
mod transaction;

use std::sync::Arc;

use async_trait::async_trait;

pub(super) use self::connect::{Credentials, drive};
use super::Who;
use super::deadlines::Deadlines;
use super::tls::Tls;
use crate::egress::Dialer;
use crate::failpoint;
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Applied, Apply, DatabaseRotator, Fence, Login, Target, TargetError};

/// A [`DatabaseRotator`] for PostgreSQL.
///
/// Passwords are set as SCRAM verifiers computed by the client, so that SQL statements contain no
/// password, unless the server requires the password itself. Every change is one transaction, which
/// includes the fencing token.
pub struct PostgresRotator {
    gate: Arc<Dialer>,
    deadlines: Deadlines,
    tls: Tls,
}

impl PostgresRotator {
    /// Creates a rotator that connects through the given dialer.
    #[must_use]
    pub fn new(gate: Arc<Dialer>) -> Self {
        Self::with_deadlines(gate, Deadlines::default())
    }

    /// Creates a rotator with the given timeouts in place of the defaults.
    #[must_use]
    pub fn with_deadlines(gate: Arc<Dialer>, deadlines: Deadlines) -> Self {
        Self { gate, deadlines, tls: Tls::new() }
    }
}

fn admin(target: &Target) -> Credentials<'_> {
    Credentials {
        who: Who::Admin,
        username: &target.admin_username,
        password: target.admin_password.reveal(),
    }
}

#[async_trait]
impl DatabaseRotator for PostgresRotator {
    async fn test(&self, target: &Target) -> Result<(), TargetError> {
        let call = async {
            let mut session = self.connect(target, admin(target)).await?;
            let work = privileges::test(&session.peer, self.deadlines.begin_work());
            let outcome = drive(&mut session.driver, work).await;
            session.close().await;
            outcome
        };
        self.deadlines.whole(call).await
    }

    async fn apply(&self, target: &Target, apply: &Apply) -> Result<Applied, TargetError> {
        let mut session = self.connect(target, admin(target)).await?;
        failpoint::reached("login").await;
        let (work, proven) = (self.deadlines.begin_work(), target.ssl_mode.verifies());
        let change = change::apply(&session.peer, work, apply, proven);
        let outcome = drive(&mut session.driver, change).await;
        session.close().await;
        outcome
    }

    async fn verify(
        &self,
        target: &Target,
        login: &Login,
        level: PermissionLevel,
    ) -> Result<(), TargetError> {
        let (username, password) = (&login.username, login.password.reveal());
        let credentials = Credentials { who: Who::User, username, password };
        let call = async {
            let mut session = self.connect(target, credentials).await?;
            let work = self.deadlines.begin_work();
            let verification = privileges::verify(&session.peer, work, username, level);
            let outcome = drive(&mut session.driver, verification).await;
            session.close().await;
            outcome
        };
        self.deadlines.whole(call).await
    }

    async fn lock(&self, target: &Target, fence: Fence, username: &str) -> Result<(), TargetError> {
        let mut session = self.connect(target, admin(target)).await?;
        let change = change::lock(&session.peer, self.deadlines.begin_work(), fence, username);
        let outcome = drive(&mut session.driver, change).await;
        session.close().await;
        outcome
    }
}
