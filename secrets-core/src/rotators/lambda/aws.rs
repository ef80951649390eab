//! Lambda invocations with the AWS SDK.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
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

use crate::model::lock::lock;

/// Timeout of a whole invocation, including the lookup of AWS credentials.
const TIMEOUT: Duration = Duration::from_secs(25);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// An [`Invoker`] that uses the AWS SDK's default credential chain: environment variables,
/// profiles, web identities, containers and instances, in this order. `AWS_ENDPOINT_URL` overrides
/// the URL of the AWS service, and the environment variables for HTTP proxies apply.
#[derive(Default)]
pub struct AwsInvoker {
    /// Lambda client for each AWS region, created on first use.
    clients: Mutex<HashMap<String, Client>>,
    #[cfg(feature = "testing")]
    endpoint: Option<String>,
}

impl AwsInvoker {
    /// Creates an invoker. AWS credentials are looked up on first use.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an invoker for a test endpoint, with fake credentials.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn at(endpoint: String) -> Self {
        Self { endpoint: Some(endpoint), ..Self::default() }
    }

    async fn client(&self, region: &str) -> Client {
        if let Some(client) = self.clients().get(region) {
            return client.clone();
        }
        // An explicit region keeps the SDK from looking up the region of this machine.
        let loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .region(Region::new(region.to_owned()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(
                TimeoutConfig::builder()
                    .connect_timeout(CONNECT_TIMEOUT)
                    .operation_timeout(TIMEOUT)
                    .build(),
            );
        let client = Client::new(&self.with_test_endpoint(loader).load().await);
        self.clients().entry(region.to_owned()).or_insert(client).clone()
    }

    #[cfg(feature = "testing")]
    fn with_test_endpoint(&self, loader: ConfigLoader) -> ConfigLoader {
        use aws_sdk_lambda::config::Credentials;

        let Some(endpoint) = &self.endpoint else { return loader };
        let credentials = Credentials::new("AKIDTESTING", "kvc_testing", None, None, "testing");
        loader.endpoint_url(endpoint).credentials_provider(credentials)
    }

    #[cfg(not(feature = "testing"))]
    #[expect(clippy::unused_self, reason = "only tests override the endpoint")]
    fn with_test_endpoint(&self, loader: ConfigLoader) -> ConfigLoader {
        loader
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, HashMap<String, Client>> {
        lock(&self.clients)
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
            // Only the error code is logged: the service's message may contain request data.
            tracing::warn!(code = error_code(&error), ?fault, "failed to invoke a Lambda function");
            fault
        })?;
        if output.function_error().is_some() {
            return Err(InvokeFault::Broke);
        }
        Ok(output.payload.map(Blob::into_inner).unwrap_or_default())
    }
}

/// Classifies an error of the AWS SDK. Only a client error (HTTP 4xx) from the AWS service is
/// permanent.
fn fault_of<E>(error: &SdkError<E>) -> InvokeFault {
    let status = error.raw_response().map(|response| response.status().as_u16());
    match status {
        // 408: request timeout. 409: the function is being updated. 429: throttling.
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
