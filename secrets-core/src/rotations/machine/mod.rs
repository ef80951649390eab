//! The machine of rotations: what is written before which effect, so that no crash loses a
//! credential.
//!
//! ```text
//!            tx0            tx1            ext1            tx2          ext2          tx3
//! (idle) ---------> planned -----> applying ====> (set?) -----> applied ====> (in?) ------> served
//!                                     |                            |
//!                                     v                            v
//!                                   failed                  rolling back ====> rolled back
//! ```
//!
//! What is told a target (`====>`) is preceded by a committed row that says so, and changes only the
//! slot that is not served. So the credential that is served logs in at every moment: it changes in
//! one transaction (tx3, [`swap`]), after the new one has logged in. Whoever finds an open attempt,
//! after whatever crash, goes on from its row; saying the same to a target twice changes nothing.
//!
//! One at a time works on a rotation: by a lease that counts ([`Lease`](crate::store::Lease)), and,
//! as a process may sleep between looking and speaking, by the number of the attempt, which targets
//! refuse when they have seen a higher one.

mod apply;
mod attempt;
mod check;
mod claim;
mod conclude;
mod policy;
mod retire;
mod revoke;
mod roll_back;
mod seats;
mod swap;
mod time_out;
mod verify;
mod work;

pub(super) use attempt::plan;
pub use claim::Claim;
pub(in super::super) use seats::Asker;
pub(crate) use seats::Seats;
