//! Command-line program `secrets-http`: its settings, logs and commands.

pub mod commands;
pub mod config;
pub mod debug;
pub mod logs;
pub mod runtime;
mod traces;
