//! The rotators against real servers, and against servers that only pretend.

mod cut;
mod hostile;
mod real;
mod roles;
mod servers;
