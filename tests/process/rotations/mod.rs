//! Rotations of real databases, by the real program, which dies at every step.

mod kill;
mod sampler;
mod two_nodes;
mod world;
