//! Rotations of real databases by the server program, which is killed at every step.

mod full_disk;
mod kill;
mod kill_proxied;
mod sampler;
mod two_nodes;
pub(crate) mod world;
