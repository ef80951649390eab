//! Calling functions by the AWS SDK.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_lambda::Client;
use aws_sdk_lambda::error::SdkError;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;

use super::{InvokeFault, Invoker};

/// How long a call may take with all that belongs to it, credentials too.
const TIMEOUT: Duration = Duration::from_secs(25);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Calls functions with the credentials that the machine has: those the SDK finds in variables,
/// profiles, web identities, containers and instances, in this order. `AWS_ENDPOINT_URL` names
/// another service than AWS's, and the variables of proxies are honoured.
#[derive(Default)]
pub struct AwsInvoker {
    /// By region, and made when one is first needed: there are as many as there are regions.
    clients: Mutex<HashMap<String, Client>>,
    #[cfg(feature = "testing")]
    endpoint: Option<String>,
}

impl AwsInvoker {
    /// One that has not yet looked for credentials.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that calls this endpoint, with credentials that are worth nothing.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn at(endpoint: String) -> Self {
        Self { endpoint: Some(endpoint), ..Self::default() }
    }

    async fn client(&self, region: &str) -> Client {
        if let Some(client) = self.clients().get(region) {
            return client.clone();
        }
        // The region is given, so that the SDK does not look for one of ours.
        let loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .region(Region::new(region.to_owned()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(
                TimeoutConfig::builder()
                    .connect_timeout(CONNECT_TIMEOUT)
                    .operation_timeout(TIMEOUT)
                    .build(),
            );
        let client = Client::new(&self.elsewhere(loader).load().await);
        self.clients().entry(region.to_owned()).or_insert(client).clone()
    }

    #[cfg(feature = "testing")]
    fn elsewhere(&self, loader: ConfigLoader) -> ConfigLoader {
        use aws_sdk_lambda::config::Credentials;

        let Some(endpoint) = &self.endpoint else { return loader };
        let credentials = Credentials::new("AKIDTESTING", "kvc_testing", None, None, "testing");
        loader.endpoint_url(endpoint).credentials_provider(credentials)
    }

    #[cfg(not(feature = "testing"))]
    #[expect(clippy::unused_self, reason = "only tests go elsewhere")]
    fn elsewhere(&self, loader: ConfigLoader) -> ConfigLoader {
        loader
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, HashMap<String, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Invoker for AwsInvoker {
    async fn invoke(
        &self,
        arn: &str,
        region: &str,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, InvokeFault> {
        let call = self.client(region).await.invoke().function_name(arn);
        let call =
            call.invocation_type(InvocationType::RequestResponse).payload(Blob::new(payload));
        let output = call.send().await.map_err(|error| {
            let fault = fault_of(&error);
            // By its name alone: what the service says may repeat what it was told.
            tracing::warn!(code = error_code(&error), ?fault, "a function was not invoked");
            fault
        })?;
        if output.function_error().is_some() {
            return Err(InvokeFault::Broke);
        }
        Ok(output.payload.map(Blob::into_inner).unwrap_or_default())
    }
}

/// What an error means: only what the service says of the call itself is final.
fn fault_of<E>(error: &SdkError<E>) -> InvokeFault {
    let status = error.raw_response().map(|response| response.status().as_u16());
    match status {
        // 408: no time left. 409: the function is being changed. 429: too many calls.
        Some(408 | 409 | 429) => InvokeFault::Unavailable,
        Some(400..=499) => InvokeFault::Refused,
        _ => InvokeFault::Unavailable,
    }
}

fn error_code<E: aws_sdk_lambda::error::ProvideErrorMetadata>(error: &SdkError<E>) -> &str {
    match error {
        SdkError::ServiceError(said) => said.err().code().unwrap_or("none"),
        SdkError::TimeoutError(_) => "timeout",
        SdkError::DispatchFailure(_) => "dispatch",
        SdkError::ResponseError(_) => "response",
        _ => "construction",
    }
}

impl fmt::Debug for AwsInvoker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsInvoker(…)")
    }
}
