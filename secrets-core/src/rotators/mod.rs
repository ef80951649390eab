//! Rotators: implementations of the port [`DatabaseRotator`](crate::ports::rotator::DatabaseRotator).
//!
//! [`drivers`] connect to databases directly (feature `rotators`); [`lambda`] has a function of AWS
//! Lambda do the same inside the network of the database (feature `aws`), with the messages of
//! [`envelope`].

#[cfg(feature = "rotators")]
pub mod drivers;
pub mod envelope;
#[cfg(feature = "aws")]
pub mod lambda;
