//! Offline copies: signed and encrypted bundles of an environment, used when the service is
//! unreachable.
//!
//! The project file lists the environments that have copies. After the secrets of such an
//! environment were fetched, this program requests a bundle that is encrypted for the public key of
//! the credential. The bundle is stored at `copies/SERVER/PROJECT/ENVIRONMENT/PRINCIPAL` in the
//! folder for state (the principal is the user or service token), readable by its owner only. It is
//! used if the service is unreachable, or if the service reports that the secrets are unchanged.

mod copy;
mod load;
mod renew;

pub(crate) use copy::delete_copies;
pub(crate) use load::{load, service};
