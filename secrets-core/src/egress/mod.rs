//! Egress policy: outgoing connections to destinations that tenants choose.
//!
//! Tenants configure the addresses of webhooks and rotation targets, so a name or an address may
//! lead into the service's own network (server-side request forgery). Connections are made only to
//! globally reachable addresses and to those that the operator allows. A name is resolved once, all
//! its addresses are checked, and the connection is made to one of the checked addresses
//! ([`Dialer`], with the feature `rotators`).
//!
//! Addresses are classified by the IANA registries of special-purpose addresses (RFC 6890). An
//! address that is not known to be globally reachable is treated as not globally reachable.

mod class;
#[cfg(feature = "rotators")]
mod dialer;
mod policy;
#[cfg(test)]
mod tests;

pub use class::{Class, classify};
#[cfg(feature = "rotators")]
pub use dialer::{DialError, Dialer, Resolver, SystemResolver};
#[cfg(feature = "rotators")]
pub(crate) use policy::name;
pub use policy::{BadEntry, EgressPolicy, literal};
