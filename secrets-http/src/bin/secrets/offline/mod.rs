//! Offline copies: signed and encrypted bundles of an environment, for times without the service.
//!
//! The project file decides which environments have copies. After the secrets were fetched, the
//! service is asked for a bundle to the public key of the credential. The bundle is kept at
//! `copies/SERVER/PROJECT/ENVIRONMENT/PRINCIPAL` in the folder for state, readable by its owner only.
//! It is used if the service is unreachable, or if the service says that the secrets are unchanged.

mod copy;
mod load;
mod renew;

pub(crate) use load::load;
