//! Root key in AWS Key Management Service (KMS).

use std::time::Duration;

use async_trait::async_trait;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_kms::Client;
use aws_sdk_kms::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_kms::operation::decrypt::DecryptError;
use aws_sdk_kms::primitives::Blob;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrets_core::crypto::{Key, RootKeyError, RootKeyId, RootKeys};
use zeroize::Zeroizing;

use crate::adapters::fetch::root_cause;

/// Timeout of a call, including the lookup of AWS credentials and retries.
const TIMEOUT: Duration = Duration::from_secs(25);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Name of the entry that every call adds to the encryption context of KMS. Its value is the
/// context of the wrapped key, in base64. The policy of the KMS key can require the entry, and
/// `CloudTrail` logs it.
const CONTEXT: &str = "secrets-context";

/// Root key in AWS KMS: a symmetric key that never leaves KMS. AWS credentials are looked up by the
/// default chain of the AWS SDK: environment variables, profiles, web identities, containers and
/// instances. `AWS_ENDPOINT_URL` overrides the URL of KMS.
pub struct AwsKmsRootKey {
    client: Client,
    id: RootKeyId,
    key: String,
}

impl AwsKmsRootKey {
    /// Creates the root key from the ID, ARN or alias of a KMS key. The AWS region is taken from
    /// the ARN, or else from the settings of the AWS SDK, such as `AWS_REGION`. KMS is called only
    /// when the key is used.
    ///
    /// The ID of the root key does not depend on the region, so that replicas of a multi-Region key
    /// are the same root key.
    pub async fn new(key: String) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_timeout(TIMEOUT)
            .build();
        let mut loader =
            aws_config::defaults(BehaviorVersion::v2026_01_12()).timeout_config(timeouts);
        if let Some(region) = region(&key) {
            loader = loader.region(Region::new(region.to_owned()));
        }
        let client = Client::new(&loader.load().await);
        Self { client, id: RootKeyId::of_name(&format!("awskms:{}", name(&key))), key }
    }
}

/// Returns the ID or alias of a key that may be given as an ARN.
fn name(key: &str) -> &str {
    let resource = if key.starts_with("arn:") { key.rsplit(':').next() } else { None };
    let name = resource.unwrap_or(key);
    name.strip_prefix("key/").unwrap_or(name)
}

/// Returns the region of an ARN, such as `arn:aws:kms:eu-central-1:111122223333:key/…`.
fn region(key: &str) -> Option<&str> {
    let mut parts = key.split(':');
    (parts.next() == Some("arn")).then(|| parts.nth(2)).flatten().filter(|name| !name.is_empty())
}

#[async_trait]
impl RootKeys for AwsKmsRootKey {
    fn id(&self) -> RootKeyId {
        self.id
    }

    async fn wrap(&self, key: &Key, context: &[u8]) -> Result<Vec<u8>, RootKeyError> {
        let call = self.client.encrypt().key_id(&self.key);
        let call = call.encryption_context(CONTEXT, STANDARD.encode(context));
        let encrypted = call.plaintext(Blob::new(key.as_bytes())).send().await;
        let encrypted = encrypted.map_err(|error| unavailable(&error))?.ciphertext_blob;
        let missing = || RootKeyError::Unavailable("KMS returned no ciphertext".into());
        encrypted.map(Blob::into_inner).ok_or_else(missing)
    }

    async fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Key, RootKeyError> {
        let call = self.client.decrypt().key_id(&self.key);
        let call = call.encryption_context(CONTEXT, STANDARD.encode(context));
        let decrypted = call.ciphertext_blob(Blob::new(wrapped)).send().await;
        let decrypted = decrypted.map_err(|error| match error.as_service_error() {
            Some(DecryptError::InvalidCiphertextException(_)) => RootKeyError::Refused,
            _ => unavailable(&error),
        })?;
        let bytes = Zeroizing::new(decrypted.plaintext.map(Blob::into_inner).unwrap_or_default());
        let bytes = <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| RootKeyError::Refused)?;
        Ok(Key::from_bytes(Zeroizing::new(bytes)))
    }
}

/// Creates the error for a failed call. It contains the error code and message of KMS, but no other
/// part of the response, which could contain a key.
fn unavailable<E: ProvideErrorMetadata>(error: &SdkError<E>) -> RootKeyError {
    let reason = match error {
        SdkError::ServiceError(failed) => {
            let (code, message) = (failed.err().code(), failed.err().message());
            format!("KMS answered {}: {}", code.unwrap_or("an error"), message.unwrap_or_default())
        }
        SdkError::DispatchFailure(failed) => {
            let cause = failed.as_connector_error().and_then(|error| root_cause(error));
            let cause = cause.map_or_else(|| "no connection".to_owned(), ToString::to_string);
            format!("KMS cannot be called: {cause}")
        }
        SdkError::TimeoutError(_) => "KMS did not answer in time".to_owned(),
        _ => "KMS gave no usable answer".to_owned(),
    };
    RootKeyError::Unavailable(reason.into())
}

#[cfg(test)]
mod tests {
    use super::{name, region};

    #[test]
    fn an_arn_has_a_region_and_other_names_have_none() {
        let arn = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
        assert_eq!(region(arn), Some("eu-central-1"));
        for other in ["alias/secrets", "1234abcd-12ab-34cd-56ef-1234567890ab", "arn:aws:kms::1:key"]
        {
            assert_eq!(region(other), None, "{other}");
        }
    }

    #[test]
    fn the_name_of_a_key_is_the_same_in_all_regions() {
        for (key, expected) in [
            ("arn:aws:kms:eu-central-1:111122223333:key/mrk-1234", "mrk-1234"),
            ("arn:aws:kms:us-east-1:111122223333:key/mrk-1234", "mrk-1234"),
            ("mrk-1234", "mrk-1234"),
            ("arn:aws:kms:us-east-1:111122223333:alias/secrets", "alias/secrets"),
            ("alias/secrets", "alias/secrets"),
        ] {
            assert_eq!(name(key), expected, "{key}");
        }
    }
}
