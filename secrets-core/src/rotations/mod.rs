//! Rotations: database credentials that the service changes automatically, without downtime: the
//! credential in the secrets (the served credential) can log in at any time.
//!
//! Each rotation has two database users, the slots `a` and `b`. The served slot is the slot whose
//! credential is stored in the secrets; an attempt to rotate changes the password of the other
//! slot, which then becomes the served slot. The steps of an attempt, and how it resumes after a
//! crash, are described in the module `machine`; the commands sent to a database are defined by the
//! port [`DatabaseRotator`](crate::ports::rotator::DatabaseRotator).

mod connection;
mod create;
mod delete;
mod keys;
mod list;
mod machine;
mod model;
mod proxy;
mod restored;
mod rotate;
mod schedule;
mod sealing;
mod slots;
mod test;
mod update;
pub mod webhooks;

pub use connection::{Connection, ProxyConnection};
pub use create::{CreateRotation, NewRotation};
pub use delete::{ConcludeDeletion, DeleteRotation, PlanRevocation, PlannedRevocation};
pub use keys::SecretMapping;
pub use list::{GetRotation, ListRotations, ReadRotationHistory};
pub use machine::{Claim, RotationWorker, claim_rotations, end_rotation_leases, work};
pub use model::{ConcludedAttempt, Rotation};
pub(crate) use restored::stop_restored;
pub use rotate::{PlanRotation, PlannedRotation, RotateNow};
pub(crate) use sealing::{RotationContext, SealedField};
pub(crate) use slots::slot_users;
pub use slots::{draw_password, group_role, slot_user};
pub use test::{
    Candidate, PlanConnectionTest, PlanRotationTest, PlannedTest, TestConnection, TestResult,
    TestRotation,
};
pub use update::{RotationChange, UpdateRotation, WantedStatus};
