//! Where the service may connect to on somebody's behalf.
//!
//! Webhooks and rotation targets are named by tenants, so a name or an address may lead into the
//! network that the service itself stands in. Only addresses that the whole internet can reach are
//! dialled, and those that the operator lists. Whatever is checked is what is dialled: a name is
//! resolved once, every address it has is judged, and the connection is made to one of exactly
//! those ([`Gate`], with the feature `rotators`).
//!
//! What an address is: the registries of special addresses (RFC 6890, IANA), read strictly.

mod class;
#[cfg(feature = "rotators")]
mod gate;
mod policy;
#[cfg(test)]
mod tests;

pub use class::{Class, classify};
#[cfg(feature = "rotators")]
pub use gate::{Gate, Refused, Resolver, SystemResolver};
#[cfg(feature = "rotators")]
pub(crate) use policy::name;
pub use policy::{BadEntry, EgressPolicy, literal};
