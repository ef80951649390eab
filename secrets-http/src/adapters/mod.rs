//! Adapters: implementations of the ports of `secrets-core` over the network.

pub mod fetch;
pub mod identity;
pub mod mail;
pub mod redis;
pub mod root_key;
pub mod webhooks;
