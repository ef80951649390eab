//! Rotators: implementations of the port
//! [`DatabaseRotator`](crate::ports::rotator::DatabaseRotator).
//!
//! [`drivers`] connect to databases directly (feature `rotators`). [`lambda`] invokes an AWS Lambda
//! function, which connects from inside the database's network (feature `aws`); [`envelope`]
//! defines the messages to and from that function.

#[cfg(feature = "rotators")]
pub mod drivers;
pub mod envelope;
#[cfg(feature = "aws")]
pub mod lambda;
