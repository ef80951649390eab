//! Access to the configured root keys.

use std::sync::Arc;

use async_trait::async_trait;
use secrets_core::crypto::{Key, RootKeyError, RootKeyId, RootKeys, StaticRootKey};
use zeroize::Zeroizing;

use crate::adapters::fetch::Client;
#[cfg(feature = "aws")]
use crate::adapters::root_key::aws_kms::AwsKmsRootKey;
use crate::adapters::root_key::command;
use crate::adapters::root_key::transit::TransitRootKey;
use crate::program::config::{Exit, Failure, RootKeySettings, RootKeySource, printed_root_key};

/// Root keys that the service can use.
pub(super) struct OpenedRootKeys {
    pub(super) current: Arc<dyn RootKeys>,
    pub(super) previous: Option<Arc<dyn RootKeys>>,
}

/// Root key in a key service, such as AWS KMS. The errors name the setting that configures the key.
struct Named<K> {
    variable: String,
    key: K,
}

/// Returns the configured root keys. Runs the commands that print them; a key service is not called
/// yet. If only the command of the previous root key fails, logs a warning: the root key may have
/// been replaced already.
pub(super) async fn open(settings: RootKeySettings) -> Result<OpenedRootKeys, Failure> {
    let current = open_one(*settings.current).await?;
    let previous = match settings.previous {
        None => None,
        Some(source) => match open_one(*source).await {
            Ok(key) => Some(key),
            Err(failure) if failure.code == Exit::RootKeyUnavailable => {
                tracing::warn!("the previous root key is not used: {failure}");
                None
            }
            Err(failure) => return Err(failure),
        },
    };
    Ok(OpenedRootKeys { current, previous })
}

async fn open_one(source: RootKeySource) -> Result<Arc<dyn RootKeys>, Failure> {
    match source {
        RootKeySource::Value(key) => Ok(of_bytes(key.into_inner())),
        RootKeySource::Command { variable, words } => {
            let output = command::output(&words).await.map_err(|error| {
                let message = format!("{variable}: the command {error}");
                Failure::new(Exit::RootKeyUnavailable, message)
            })?;
            printed_root_key(&variable, &output).map(of_bytes)
        }
        RootKeySource::Transit { variable, url, token } => {
            let client = Client::new().map_err(|error| {
                let message = format!("{variable}: cannot set up TLS: {error}");
                Failure::new(Exit::Configuration, message)
            })?;
            let key = TransitRootKey::new(client, &url, token.into_inner()).ok_or_else(|| {
                Failure::new(Exit::Configuration, format!("{variable} is not the URL of a key"))
            })?;
            Ok(Arc::new(Named { variable, key }))
        }
        #[cfg(feature = "aws")]
        RootKeySource::AwsKms { variable, key } => {
            // The future of the AWS SDK is large.
            let key = Box::pin(AwsKmsRootKey::new(key)).await;
            Ok(Arc::new(Named { variable, key }))
        }
        #[cfg(not(feature = "aws"))]
        RootKeySource::AwsKms { variable, .. } => Err(Failure::new(
            Exit::Configuration,
            format!("{variable}: AWS KMS requires the feature `aws`, which this program lacks"),
        )),
    }
}

/// Returns the root key with these bytes.
pub(super) fn of_bytes(bytes: Zeroizing<[u8; 32]>) -> Arc<dyn RootKeys> {
    Arc::new(StaticRootKey::new(&Key::from_bytes(bytes)))
}

impl OpenedRootKeys {
    /// Fails if the current root key cannot encrypt and decrypt a key.
    pub(super) async fn check(&self) -> Result<(), Failure> {
        let context = b"check";
        let checked = async {
            let wrapped = self.current.wrap(&Key::generate(), context).await?;
            self.current.unwrap(&wrapped, context).await
        };
        match checked.await {
            Ok(_) => Ok(()),
            Err(RootKeyError::Refused) => Err(Failure::new(
                Exit::RootKey,
                "the root key cannot decrypt a key that it has just encrypted",
            )),
            Err(RootKeyError::Unavailable(cause)) => Err(Failure::new(
                Exit::RootKeyUnavailable,
                format!("the root key is unavailable: {cause}"),
            )),
        }
    }
}

#[async_trait]
impl<K: RootKeys> RootKeys for Named<K> {
    fn id(&self) -> RootKeyId {
        self.key.id()
    }

    async fn wrap(&self, key: &Key, context: &[u8]) -> Result<Vec<u8>, RootKeyError> {
        self.key.wrap(key, context).await.map_err(|error| self.named(error))
    }

    async fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Key, RootKeyError> {
        self.key.unwrap(wrapped, context).await.map_err(|error| self.named(error))
    }
}

impl<K> Named<K> {
    fn named(&self, error: RootKeyError) -> RootKeyError {
        match error {
            RootKeyError::Unavailable(cause) => {
                RootKeyError::Unavailable(format!("{}: {cause}", self.variable).into())
            }
            RootKeyError::Refused => RootKeyError::Refused,
        }
    }
}
