//! Access to the configured root keys.

use std::sync::Arc;

use secrets_core::crypto::{Key, RootKeys, StaticRootKey};
use zeroize::Zeroizing;

use crate::adapters::fetch::Client;
#[cfg(feature = "aws")]
use crate::adapters::root_key::aws_kms::AwsKmsRootKey;
use crate::adapters::root_key::command;
use crate::adapters::root_key::transit::TransitRootKey;
use crate::program::config::{Exit, Failure, RootKeySource, printed_root_key};

/// Returns the root key of a source. Runs the command that prints it, if there is one; a key service
/// is not called yet.
pub(super) async fn open(source: RootKeySource) -> Result<Arc<dyn RootKeys>, Failure> {
    match source {
        RootKeySource::Value(key) => Ok(of_bytes(key.into_inner())),
        RootKeySource::Command { variable, words } => {
            let output = command::output(&words).await.map_err(|error| {
                Failure::new(Exit::RootKey, format!("{variable}: the command {error}"))
            })?;
            printed_root_key(&variable, &output).map(of_bytes)
        }
        RootKeySource::Transit { url, token } => {
            let client = Client::new().map_err(|error| {
                Failure::new(Exit::Configuration, format!("cannot set up TLS: {error}"))
            })?;
            let key = TransitRootKey::new(client, &url, token.into_inner());
            let key = key.ok_or_else(|| Failure::new(Exit::Configuration, "no URL of a key"))?;
            Ok(Arc::new(key))
        }
        #[cfg(feature = "aws")]
        RootKeySource::AwsKms { key } => Ok(Arc::new(AwsKmsRootKey::new(key).await)),
        #[cfg(not(feature = "aws"))]
        RootKeySource::AwsKms { .. } => Err(Failure::new(
            Exit::Configuration,
            "this program was built without the feature `aws`, which AWS KMS requires",
        )),
    }
}

/// Returns the root key with these bytes.
pub(super) fn of_bytes(bytes: Zeroizing<[u8; 32]>) -> Arc<dyn RootKeys> {
    Arc::new(StaticRootKey::new(&Key::from_bytes(bytes)))
}
