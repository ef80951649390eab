//! Root keys from outside the process: printed by a command, or held by a key service.

#[cfg(feature = "aws")]
pub mod aws_kms;
pub mod command;
pub mod transit;
