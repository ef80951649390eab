//! Conformance tests for rotators (drivers that change the passwords of users in a target
//! database).
//!
//! The tests need a real database server, and a [`Witness`] that checks the server independently of
//! the rotator.

use async_trait::async_trait;
use uuid::Uuid;

use crate::crypto::random;
use crate::model::RotationId;
use crate::model::rotations::{DatabaseKind, PermissionLevel, Slot};
use crate::ports::rotator::{Apply, DatabaseRotator, Fault, Fence, Login, Target};
use crate::rotations::{draw_password, group_role, slot_user};

/// Observer that checks the effects of a rotator over its own connection to the target database.
#[async_trait]
pub trait Witness: Send + Sync {
    /// Runs an SQL statement in the target database as a user. Returns the result of the login and
    /// of the statement.
    async fn run(&self, login: &Login, statement: &str) -> Seen;
}

/// Result of an SQL statement that a test runs as a user of the target database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The login failed.
    ShutOut,
    /// The login succeeded, but the server refused the SQL statement.
    Refused,
    /// The login and the SQL statement succeeded.
    Done,
}

const PASSWORDS: &str = "the user can log in with the password that was set";
const READ: &str = "SELECT name FROM things";
const CHANGE: &str = "UPDATE things SET name = 'changed' WHERE id = 1";
const MAKE: &str = "CREATE TABLE made (id integer)";
const DROP: &str = "DROP TABLE made";

/// Context of a test: a new rotation, and a target database with the table `things (id, name)`,
/// which the administrator owns.
struct World<'a> {
    rotator: &'a dyn DatabaseRotator,
    target: &'a Target,
    witness: &'a dyn Witness,
    rotation: RotationId,
}

/// Runs all conformance tests one after the other. The users that they create remain in the target
/// database, because rotators do not delete users.
pub async fn check(rotator: &dyn DatabaseRotator, target: &Target, witness: &dyn Witness) {
    let world = || World {
        rotator,
        target,
        witness,
        rotation: RotationId::from(Uuid::from_bytes(random())),
    };
    world().the_administrator_is_proven_and_nothing_changed().await;
    world().a_wrong_administrator_or_database_is_told_apart().await;
    world().a_user_is_made_and_made_again_alike().await;
    world().the_users_of_a_rotation_work_side_by_side().await;
    world().a_level_allows_what_it_says_and_no_more().await;
    world().a_level_that_is_lowered_is_lowered().await;
    world().a_user_that_is_locked_is_shut_out_until_set_anew().await;
    world().an_older_attempt_changes_nothing().await;
    world().another_server_is_not_changed().await;
}

impl World<'_> {
    fn login(&self, slot: Slot) -> Login {
        Login { username: slot_user(self.rotation, slot), password: draw_password() }
    }

    fn apply(&self, login: &Login, sequence: u64, level: PermissionLevel) -> Apply {
        Apply {
            fence: Fence { rotation: self.rotation, sequence },
            group: group_role(self.rotation),
            login: login.clone(),
            level,
            identity: None,
        }
    }

    async fn set(&self, login: &Login, sequence: u64, level: PermissionLevel) {
        self.rotator.apply(self.target, &self.apply(login, sequence, level)).await.unwrap();
    }

    async fn verify(&self, login: &Login, level: PermissionLevel) -> Result<(), Fault> {
        let verified = self.rotator.verify(self.target, login, level).await;
        verified.map_err(|error| error.fault)
    }

    async fn lock(&self, login: &Login, sequence: u64) -> Result<(), Fault> {
        let fence = Fence { rotation: self.rotation, sequence };
        let locked = self.rotator.lock(self.target, fence, &login.username).await;
        locked.map_err(|error| error.fault)
    }

    async fn the_administrator_is_proven_and_nothing_changed(&self) {
        let login = self.login(Slot::A);

        self.rotator.test(self.target).await.unwrap();

        assert_eq!(self.witness.run(&login, "SELECT 1").await, Seen::ShutOut);
    }

    async fn a_wrong_administrator_or_database_is_told_apart(&self) {
        let wrong = Target { admin_password: draw_password(), ..self.target.clone() };
        let nowhere = Target { database: "there_is_none".to_owned(), ..self.target.clone() };

        for (target, fault) in [(wrong, Fault::AdminRejected), (nowhere, Fault::NoDatabase)] {
            assert_eq!(self.rotator.test(&target).await.unwrap_err().fault, fault);
        }
    }

    async fn a_user_is_made_and_made_again_alike(&self) {
        let login = self.login(Slot::A);
        let apply = self.apply(&login, 1, PermissionLevel::ReadWrite);

        let first = self.rotator.apply(self.target, &apply).await.unwrap();
        let again = self.rotator.apply(self.target, &apply).await.unwrap();

        assert_eq!(first, again);
        assert_eq!(self.verify(&login, PermissionLevel::ReadWrite).await, Ok(()));
        assert_eq!(self.witness.run(&login, READ).await, Seen::Done, "{PASSWORDS}");
        let wrong = Login { password: draw_password(), ..login };
        let refused = self.verify(&wrong, PermissionLevel::ReadWrite).await;
        assert_eq!(refused, Err(Fault::LoginRejected));
        assert_eq!(self.witness.run(&wrong, READ).await, Seen::ShutOut);
    }

    async fn the_users_of_a_rotation_work_side_by_side(&self) {
        let (old, new) = (self.login(Slot::A), self.login(Slot::B));
        self.set(&old, 1, PermissionLevel::Admin).await;
        assert_eq!(self.witness.run(&old, MAKE).await, Seen::Done);

        self.set(&new, 2, PermissionLevel::Admin).await;

        assert_eq!(self.witness.run(&old, READ).await, Seen::Done);
        // The new user can change a table that the old user has created.
        assert_eq!(self.witness.run(&new, DROP).await, Seen::Done);
    }

    async fn a_level_allows_what_it_says_and_no_more(&self) {
        for (level, may_change, may_make) in [
            (PermissionLevel::Read, Seen::Refused, Seen::Refused),
            (PermissionLevel::ReadWrite, Seen::Done, Seen::Refused),
            (PermissionLevel::Admin, Seen::Done, Seen::Done),
        ] {
            let world = World { rotation: Uuid::from_bytes(random()).into(), ..*self };
            let login = world.login(Slot::A);
            world.set(&login, 1, level).await;

            assert_eq!(world.verify(&login, level).await, Ok(()), "{level:?}");
            assert_eq!(self.witness.run(&login, READ).await, Seen::Done, "{level:?}");
            assert_eq!(self.witness.run(&login, CHANGE).await, may_change, "{level:?}");
            assert_eq!(self.witness.run(&login, MAKE).await, may_make, "{level:?}");
            if may_make == Seen::Done {
                assert_eq!(self.witness.run(&login, DROP).await, Seen::Done);
            }
        }
    }

    async fn a_level_that_is_lowered_is_lowered(&self) {
        let login = self.login(Slot::A);
        self.set(&login, 1, PermissionLevel::ReadWrite).await;

        self.set(&login, 2, PermissionLevel::Read).await;

        assert_eq!(self.witness.run(&login, READ).await, Seen::Done);
        assert_eq!(self.witness.run(&login, CHANGE).await, Seen::Refused);
        let probed = self.verify(&login, PermissionLevel::ReadWrite).await;
        assert_eq!(probed, Err(Fault::ProbeRefused));
    }

    async fn a_user_that_is_locked_is_shut_out_until_set_anew(&self) {
        let login = self.login(Slot::A);
        assert_eq!(
            self.lock(&login, 1).await,
            Ok(()),
            "locking a user that does not exist succeeds"
        );
        self.set(&login, 1, PermissionLevel::Read).await;

        for _ in 0..2 {
            assert_eq!(self.lock(&login, 1).await, Ok(()));
            assert_eq!(self.witness.run(&login, READ).await, Seen::ShutOut);
        }
        let refused = self.verify(&login, PermissionLevel::Read).await;
        assert_eq!(refused, Err(Fault::LoginRejected));
        self.set(&login, 2, PermissionLevel::Read).await;
        assert_eq!(self.witness.run(&login, READ).await, Seen::Done);
    }

    async fn an_older_attempt_changes_nothing(&self) {
        let (newer, older) = (self.login(Slot::A), self.login(Slot::A));
        let apply = self.apply(&newer, 2, PermissionLevel::Read);
        let applied = self.rotator.apply(self.target, &apply).await.unwrap();
        // MariaDB has no server ID and no place to store the fence, so its rotator only prevents
        // concurrent changes.
        if applied.identity.is_none() {
            return;
        }

        let apply = self.apply(&older, 1, PermissionLevel::Read);
        let refused = self.rotator.apply(self.target, &apply).await.unwrap_err();

        assert_eq!(refused.fault, Fault::Fenced);
        assert_eq!(self.lock(&newer, 1).await, Err(Fault::Fenced));
        assert_eq!(self.witness.run(&newer, READ).await, Seen::Done);
        assert_eq!(self.witness.run(&older, READ).await, Seen::ShutOut);
    }

    /// Checks that a rotator refuses to change a server whose identity differs from the expected
    /// one. Runs for PostgreSQL only: the identity of MySQL changes when a replica is promoted, and
    /// MariaDB has no server identity.
    async fn another_server_is_not_changed(&self) {
        if self.target.kind.name != DatabaseKind::POSTGRESQL.name {
            return;
        }
        let login = self.login(Slot::A);
        let apply = self.apply(&login, 1, PermissionLevel::Read);
        let other = Apply { identity: Some("1".to_owned()), ..apply.clone() };

        let refused = self.rotator.apply(self.target, &other).await.unwrap_err();

        assert_eq!(refused.fault, Fault::Identity);
        assert_eq!(self.witness.run(&login, READ).await, Seen::ShutOut);
        let identity = self.rotator.apply(self.target, &apply).await.unwrap().identity;
        let same = Apply { identity, ..apply };
        self.rotator.apply(self.target, &same).await.unwrap();
    }
}
