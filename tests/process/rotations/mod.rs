//! Tests of rotations of real databases by the server program, which is killed at every step of a
//! rotation.

mod full_disk;
mod kill;
mod kill_proxied;
mod sampler;
mod two_nodes;
pub(crate) mod world;
