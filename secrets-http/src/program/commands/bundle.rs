//! `bundle`: opens bundles and generates keys offline. The program `secrets` has the same commands.

use std::io;

use secrets_core::bundle::BundleError;
use secrets_core::model::Clock;

use crate::bundle::{BundleCommand, BundleFailure};
use crate::program::config::{Exit, Failure};

pub(super) fn run(bundle: &BundleCommand, clock: &dyn Clock) -> Result<(), Failure> {
    bundle.run(clock.now(), &mut io::stdout()).map_err(|failure| {
        let exit = match &failure {
            BundleFailure::Refused(BundleError::NoRecipient) => Exit::RootKey,
            BundleFailure::Refused(BundleError::Unreadable(_))
            | BundleFailure::File(_)
            | BundleFailure::Format(_) => Exit::Usage,
            BundleFailure::Refused(_) => Exit::Tampered,
        };
        Failure::new(exit, failure.to_string())
    })
}
