//! The interface, rule by rule, over sockets and on every store.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod endpoints;
