//! Basic types: IDs, names, roles, statuses, quotas, validation rules and errors.
//!
//! All other modules depend on this module; it depends on none of them.

pub mod bound;
pub mod clock;
pub(crate) mod counter;
#[doc(hidden)]
pub mod document;
pub mod error;
pub mod ids;
pub mod links;
#[doc(hidden)]
pub mod lock;
pub(crate) mod named_enum;
pub mod names;
pub mod network;
#[doc(hidden)]
pub mod object;
pub mod path;
pub mod plan;
pub mod principal;
pub mod rights;
pub mod rotations;
pub mod rule;
pub mod scans;
pub mod sessions;
pub mod whole;

pub use bound::Bound;
pub use clock::*;
pub use error::*;
pub use ids::*;
pub use links::*;
pub use names::*;
pub use network::*;
pub use path::*;
pub use plan::*;
pub use principal::*;
pub use rights::*;
pub use rule::*;
pub use sessions::*;
