//! Ports: the interfaces to external systems, such as identity providers, mail servers and
//! databases whose credentials are rotated. The host application passes implementations in
//! [`Ports`](crate::Ports).

pub mod epochs;
pub mod identity;
pub mod mail;
pub mod memory;
pub mod offload;
pub mod payments;
pub mod rotator;
pub mod rotators;
pub mod timer;
pub mod webhook_url;
pub mod webhooks;
