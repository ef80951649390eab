//! Ports: traits that connect the service to the world outside, each implemented by the host.

pub mod identity;
pub mod mail;
pub mod offload;
pub mod payments;
pub mod rotator;
pub mod rotators;
pub mod timer;
pub mod webhook_url;
pub mod webhooks;
