//! Tests of the rotators against real servers and against hostile fake servers.

mod cut;
mod hostile;
pub(super) mod plaintext;
mod real;
mod roles;
mod servers;
