//! Webhooks of rotations: who is told when a credential changes, and how it reaches them.

mod event;

pub(crate) use event::{EventData, EventPlace, announce};
