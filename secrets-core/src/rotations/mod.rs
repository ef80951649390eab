//! Rotations: database credentials that the service changes by itself, without a moment in which
//! the one it serves does not log in.
//!
//! Each rotation has two users on its database, the slots `a` and `b`; one is served, the other is
//! changed next. How an attempt goes, and goes on after a crash, is in [`machine`]; what it tells a
//! database, in the port [`DatabaseRotator`].

mod connection;
mod create;
mod delete;
mod keys;
mod list;
mod machine;
mod model;
mod proxy;
mod rotate;
mod schedule;
mod sealing;
mod slots;
mod test;
mod update;
pub mod webhooks;

pub use connection::{Connection, ProxyConnection};
pub use create::{CreateRotation, NewRotation};
pub use delete::{BeginRevocation, BegunRevocation, DeleteRotation, RemoveRotation};
pub use keys::SecretMapping;
pub use list::{GetRotation, ListRotations, ReadRotationHistory};
pub use machine::Claim;
pub(crate) use machine::Seats;
pub use model::{HistoryEntry, Rotation};
pub use rotate::{BeginRotation, BegunRotation, RotateNow};
pub(crate) use sealing::{Kept, OpenPlace};
pub use slots::{draw_password, group_role, slot_user};
pub use test::{
    Candidate, PrepareConnectionTest, PrepareRotationTest, PreparedTest, TestConnection,
    TestResult, TestRotation,
};
pub use update::{RotationChange, UpdateRotation, WantedStatus};
