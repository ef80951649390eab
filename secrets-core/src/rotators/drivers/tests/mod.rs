//! Tests of the rotators against real servers and against hostile fake servers.

mod cut;
mod hostile;
mod real;
mod roles;
mod servers;
