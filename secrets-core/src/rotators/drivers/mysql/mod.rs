//! Rotator for MySQL 8 and later, and MariaDB 10.5 and later.
//!
//! This module implements the MySQL protocol itself and uses no library: the known libraries send
//! the password to any server that requests it within TLS, verified or not, and trust the lengths
//! that a server announces.

mod change;
pub(super) mod login;
mod packets;
mod privileges;
mod session;

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_rustls::rustls::pki_types::ServerName;

use self::login::{Entry, Protection};
use self::session::Session;
use super::Who;
use super::deadlines::Deadlines;
use super::faults::Stage;
use super::tls::{Tls, server_name};
use crate::egress::Dialer;
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{
    Applied, Apply, DatabaseRotator, Fault, Fence, Login, Target, TargetError,
};

/// A [`DatabaseRotator`] for MySQL and MariaDB.
pub struct MySqlRotator {
    gate: Arc<Dialer>,
    deadlines: Deadlines,
    tls: Tls,
}

impl MySqlRotator {
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

    async fn admin(&self, target: &Target) -> Result<Session, TargetError> {
        let password = target.admin_password.reveal();
        let session = self.log_in(target, Who::Admin, &target.admin_username, password).await?;
        if session.server.is_supported() { Ok(session) } else { Err(Fault::Unsupported.into()) }
    }

    pub(super) async fn log_in(
        &self,
        target: &Target,
        who: Who,
        username: &str,
        password: &str,
    ) -> Result<Session, TargetError> {
        // NUL terminates names in the packet, so a name cannot contain it.
        if username.contains('\0') || target.database.contains('\0') {
            return Err(Fault::NoDatabase.into());
        }
        let stream = self.gate.dial(&target.host, target.port, self.deadlines.connect).await?;
        let login = async {
            let peer = stream.peer_addr().map_err(|_| Fault::Unreachable)?.ip();
            let protection = self.protection(target, peer)?;
            let proven = target.ssl_mode.verifies();
            let entry = Entry { who, username, password, database: &target.database, proven };
            entry.log_in(stream, protection).await
        };
        let (wire, server) = self.deadlines.login(login).await?;
        Ok(Session::new(wire, server, self.deadlines.begin_work(), Stage::Work(who)))
    }

    /// Returns the TLS configuration for a connection to the address `peer`; `None` for a
    /// connection without encryption. Fails if the egress policy does not permit an unencrypted
    /// connection.
    pub(super) fn protection(
        &self,
        target: &Target,
        peer: IpAddr,
    ) -> Result<Protection, TargetError> {
        if target.ssl_mode.encrypts() {
            let name = server_name(&target.host)?;
            let name = ServerName::try_from(name).map_err(|_| Fault::TlsUntrusted)?;
            return Ok(Some((self.tls.config(target)?, name)));
        }
        if self.gate.policy().permits_plaintext(&target.host, peer) {
            Ok(None)
        } else {
            Err(Fault::NotAllowed.into())
        }
    }
}

#[async_trait]
impl DatabaseRotator for MySqlRotator {
    async fn test(&self, target: &Target) -> Result<(), TargetError> {
        let call = async {
            let mut session = self.admin(target).await?;
            let outcome = privileges::test(&mut session).await;
            session.close().await;
            outcome
        };
        self.deadlines.whole(call).await
    }

    async fn apply(&self, target: &Target, apply: &Apply) -> Result<Applied, TargetError> {
        let mut session = self.admin(target).await?;
        let proven = target.ssl_mode.verifies();
        let outcome = change::apply(&mut session, &target.database, apply, proven).await;
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
        let call = async {
            let mut session = self.log_in(target, Who::User, username, password).await?;
            let outcome = privileges::verify(&mut session, &target.database, username, level).await;
            session.close().await;
            outcome
        };
        self.deadlines.whole(call).await
    }

    async fn lock(&self, target: &Target, fence: Fence, username: &str) -> Result<(), TargetError> {
        let mut session = self.admin(target).await?;
        let outcome = change::lock(&mut session, fence, username).await;
        session.close().await;
        outcome
    }
}
