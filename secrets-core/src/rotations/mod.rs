//! Rotations: database credentials that the service changes by itself, without a moment in which
//! the one it serves does not log in.

pub mod envelope;
mod kinds;
#[cfg(feature = "aws")]
pub mod lambda;
mod proxy;
mod slots;
mod target;

pub use kinds::{
    AttemptState, ConnectionMethod, DeliveryStatus, Integration, Outcome, PermissionLevel,
    RotationStatus, Slot, SslMode, TriggerType, WebhookEvent,
};
pub use slots::{draw_password, group_role, slot_user};
pub use target::{
    Applied, Apply, DatabaseRotator, Fault, Fence, Login, Proxy, SqlState, Target, TargetError,
};
