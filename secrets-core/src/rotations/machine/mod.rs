//! State machine of a rotation attempt: the order of writes and external effects, chosen so that no
//! crash loses a credential.
//!
//! ```text
//!            tx0            tx1            ext1            tx2          ext2          tx3
//! (idle) ---------> planned -----> applying ====> (set?) -----> applied ====> (in?) ------> served
//!                                     |                            |
//!                                     v                            v
//!                                   failed                  rolling back ====> rolled back
//! ```
//!
//! `tx` is a transaction in the store; `ext` (`====>`) is a command to the target database.
//! `(set?)`: it is unknown whether the password is set. `(in?)`: it is unknown whether the login
//! succeeded. ext3, not in the diagram, disables the login of the previous credential after the
//! grace period; ext4 is the command of a rollback.
//!
//! Every command to a target (`====>`) is preceded by a committed row that records it, and changes
//! only the slot that is not served. So the served credential can log in at any time: it is
//! replaced in one transaction (tx3, [`swap`]), after a login with the new credential succeeded. A
//! worker that finds an open attempt after a crash resumes it from its row; sending the same
//! command to a target twice has no further effect.
//!
//! Only one worker at a time works on a rotation: the worker must hold a lease with a fencing
//! number ([`Lease`](crate::store::Lease)). A process may still be suspended between checking its
//! lease and sending a command, so commands carry the number of the attempt, and a target refuses a
//! command if it has already received a higher number.

mod apply;
mod attempt;
mod check;
mod claim;
mod conclude;
mod permits;
mod policy;
mod retire;
mod revoke;
mod roll_back;
mod swap;
mod time_out;
mod verify;
mod work;

pub(super) use attempt::plan;
pub(in crate::rotations) use claim::claim_rotation;
pub use claim::{Claim, RotationWorker, claim_rotations, end_rotation_leases, work};
pub(in crate::rotations) use revoke::lock_users;
pub(in crate::rotations) use time_out::{force_lease, time_out};
