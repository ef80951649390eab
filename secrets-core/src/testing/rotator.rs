//! Fake database in memory, for tests of rotations. A test can make calls of the database fail.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;

use crate::model::RotationId;
use crate::model::lock::lock;
use crate::model::rotations::DatabaseKind;
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{
    Applied, Apply, DatabaseRotator, Fault, Fence, Login, Target, TargetError,
};
use crate::ports::rotators::Rotators;
use crate::ports::timer::Timer;

/// Fake database server that keeps its users in memory.
#[derive(Debug, Default)]
pub struct MemoryDatabase(Mutex<Server>);

#[derive(Debug, Default)]
struct Server {
    users: BTreeMap<String, User>,
    fences: BTreeMap<RotationId, u64>,
    /// Planned behavior of the next calls, by the name of the called function. Each call removes
    /// the first entry of its list.
    scripts: BTreeMap<&'static str, VecDeque<Script>>,
    calls: Vec<&'static str>,
    /// Passwords of all calls of `apply`.
    passwords: Vec<String>,
    trusts: bool,
    identity: Option<String>,
}

#[derive(Debug)]
struct User {
    password: String,
    is_locked: bool,
}

/// Planned behavior of one call of the fake database.
#[derive(Debug, Clone, Copy)]
pub enum Script {
    /// Changes nothing and returns this error.
    Fail(Fault),
    /// Makes the change, but returns this error, as if the response had been lost.
    Lose(Fault),
    /// Changes nothing and never returns.
    Hang,
    /// Makes the change and returns its result, like a call without a script.
    Work,
}

impl MemoryDatabase {
    /// Creates a fake server without users.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Plans the behavior of the next calls of the function with this name (`test`, `apply`,
    /// `verify` or `lock`), in order.
    pub fn script(&self, call: &'static str, scripts: impl IntoIterator<Item = Script>) {
        self.server().scripts.entry(call).or_default().extend(scripts);
    }

    /// Makes the fake server accept any password of any user from now on.
    pub fn trust(&self) {
        self.server().trusts = true;
    }

    /// Changes the server's identity, as if the same address now led to another server.
    pub fn become_another(&self, identity: &str) {
        self.server().identity = Some(identity.to_owned());
    }

    /// Changes a user's password, as if an administrator had changed it without the service.
    pub fn drift(&self, username: &str) {
        if let Some(user) = self.server().users.get_mut(username) {
            "kvc_somebody_elses".clone_into(&mut user.password);
        }
    }

    /// True if a login with this user name and password would succeed now.
    #[must_use]
    pub fn admits(&self, username: &str, password: &str) -> bool {
        let server = self.server();
        let user = server.users.get(username).filter(|user| !user.is_locked);
        user.is_some_and(|user| server.trusts || user.password == password)
    }

    /// True if the user exists and its login is disabled.
    #[must_use]
    pub fn is_shut_out(&self, username: &str) -> bool {
        self.server().users.get(username).is_some_and(|user| user.is_locked)
    }

    /// Returns the names of all calls so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<&'static str> {
        self.server().calls.clone()
    }

    /// Returns the passwords of all calls of `apply` so far, in order.
    #[must_use]
    pub fn passwords(&self) -> Vec<String> {
        self.server().passwords.clone()
    }

    /// Returns the highest attempt number that the server has received for a rotation; `None` if it
    /// received none.
    #[must_use]
    pub fn fence(&self, rotation: RotationId) -> Option<u64> {
        self.server().fences.get(&rotation).copied()
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        lock(&self.0)
    }

    async fn play<T>(
        &self,
        call: &'static str,
        work: impl FnOnce(&mut Server) -> Result<T, TargetError>,
    ) -> Result<T, TargetError> {
        let script = {
            let mut server = self.server();
            server.calls.push(call);
            server.scripts.get_mut(call).and_then(VecDeque::pop_front).unwrap_or(Script::Work)
        };
        match script {
            Script::Fail(fault) => Err(fault.into()),
            Script::Lose(fault) => {
                work(&mut self.server())?;
                Err(fault.into())
            }
            Script::Hang => std::future::pending().await,
            Script::Work => work(&mut self.server()),
        }
    }
}

impl Server {
    fn pass(&mut self, fence: Fence) -> Result<(), TargetError> {
        let seen = self.fences.entry(fence.rotation).or_default();
        if *seen > fence.sequence {
            return Err(Fault::Fenced.into());
        }
        *seen = fence.sequence;
        Ok(())
    }
}

#[async_trait]
impl DatabaseRotator for MemoryDatabase {
    async fn test(&self, _: &Target) -> Result<(), TargetError> {
        self.play("test", |_| Ok(())).await
    }

    async fn apply(&self, _: &Target, apply: &Apply) -> Result<Applied, TargetError> {
        self.server().passwords.push(apply.login.password.reveal().to_owned());
        self.play("apply", |server| {
            if apply.identity.is_some() && apply.identity != server.identity {
                return Err(Fault::Identity.into());
            }
            server.pass(apply.fence)?;
            let password = apply.login.password.reveal().to_owned();
            let user = User { password, is_locked: false };
            server.users.insert(apply.login.username.clone(), user);
            Ok(Applied { identity: server.identity.clone(), sent_in_clear: false })
        })
        .await
    }

    async fn verify(
        &self,
        _: &Target,
        login: &Login,
        _: PermissionLevel,
    ) -> Result<(), TargetError> {
        let admits = self.admits(&login.username, login.password.reveal());
        self.play("verify", |_| if admits { Ok(()) } else { Err(Fault::LoginRejected.into()) })
            .await
    }

    async fn lock(&self, _: &Target, fence: Fence, username: &str) -> Result<(), TargetError> {
        self.play("lock", |server| {
            server.pass(fence)?;
            if let Some(user) = server.users.get_mut(username) {
                user.is_locked = true;
            }
            Ok(())
        })
        .await
    }
}

/// Timer that waits a thousandth of the requested duration.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuickTimer;

#[async_trait]
impl Timer for QuickTimer {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration / 1_000).await;
    }
}

/// Returns drivers for rotations that all use one fake database in memory, with a timer that is a
/// thousand times faster.
#[must_use]
pub fn rotators(database: &Arc<MemoryDatabase>) -> Rotators {
    let rotators = Rotators::new(Arc::new(QuickTimer));
    let mut rotators = DatabaseKind::BUILT_IN
        .into_iter()
        .fold(rotators, |rotators, kind| rotators.with(kind, database.clone()));
    rotators.proxied = Some(database.clone());
    rotators
}
