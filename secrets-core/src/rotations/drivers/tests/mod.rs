//! The rotators against real servers, and against servers that only pretend.

mod hostile;
mod real;
mod servers;
