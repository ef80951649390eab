//! A rotator that invokes an AWS Lambda function in the target's network.
//!
//! The function is `examples/rotation-proxy`, or another function that implements the message
//! format in [`envelope`](super::envelope). This module never retries. The caller may retry a step,
//! because a repeated step has no further effect.

mod aws;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

pub use self::aws::AwsInvoker;
use super::envelope::{Asked, Heading, Step};
use crate::model::Clock;
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{
    Applied, Apply, DatabaseRotator, Fault, Fence, Login, Target, TargetError,
};

/// Client that invokes AWS Lambda functions.
#[async_trait]
pub trait Invoker: Send + Sync {
    /// Invokes a Lambda function once, and waits at most 25 seconds for its result.
    async fn invoke(
        &self,
        arn: &str,
        region: &str,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, InvokeFault>;
}

/// Error from invoking an AWS Lambda function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvokeFault {
    /// Temporary failure: throttling, a service error, no connection, or a timeout. The function
    /// may or may not have run.
    Unavailable,
    /// The function does not exist, or the service is not permitted to invoke it.
    Refused,
    /// The function failed or exceeded its own timeout.
    Broke,
}

/// Rotator that sends every step to the Lambda function in [`Target::proxy`].
pub struct LambdaRotator {
    invoker: Arc<dyn Invoker>,
    clock: Arc<dyn Clock>,
}

impl LambdaRotator {
    /// Creates a rotator from an invoker and a clock. The clock gives the timestamps of requests.
    #[must_use]
    pub fn new(invoker: Arc<dyn Invoker>, clock: Arc<dyn Clock>) -> Self {
        Self { invoker, clock }
    }

    async fn ask(
        &self,
        target: &Target,
        (step, fence): (Step, Option<Fence>),
        asked: Asked<'_>,
    ) -> Result<Applied, TargetError> {
        // A target without a proxy cannot be reached, and a function rejects an oversized request.
        let proxy = target.proxy.as_ref().ok_or(Fault::ProxyRefused)?;
        let (rotation, sequence) = match fence {
            Some(fence) => (fence.rotation, fence.sequence),
            None => (Uuid::nil().into(), 0),
        };
        let heading = Heading::draw(self.clock.now(), rotation, sequence, step);
        let payload = asked.to_json().ok_or(Fault::ProxyRefused)?;
        let request = heading.seal(proxy, &payload).ok_or(Fault::ProxyRefused)?;
        let answer = self.invoker.invoke(&proxy.lambda_arn, &proxy.region, request).await?;
        heading.open(proxy, &answer)?.result()
    }
}

#[async_trait]
impl DatabaseRotator for LambdaRotator {
    async fn test(&self, target: &Target) -> Result<(), TargetError> {
        self.ask(target, (Step::Test, None), Asked::test(target)).await.map(drop)
    }

    async fn apply(&self, target: &Target, apply: &Apply) -> Result<Applied, TargetError> {
        self.ask(target, (Step::Apply, Some(apply.fence)), Asked::apply(target, apply)).await
    }

    async fn verify(
        &self,
        target: &Target,
        login: &Login,
        level: PermissionLevel,
    ) -> Result<(), TargetError> {
        let asked = Asked::verify(target, login, level);
        self.ask(target, (Step::Verify, None), asked).await.map(drop)
    }

    async fn lock(&self, target: &Target, fence: Fence, username: &str) -> Result<(), TargetError> {
        let asked = Asked::lock(target, username);
        self.ask(target, (Step::Lock, Some(fence)), asked).await.map(drop)
    }
}

impl From<InvokeFault> for TargetError {
    fn from(fault: InvokeFault) -> Self {
        match fault {
            InvokeFault::Refused => Fault::ProxyRefused.into(),
            // A function that failed sent no response, so there is no sign of tampering, and a
            // retry may succeed.
            InvokeFault::Unavailable | InvokeFault::Broke => Fault::ProxyUnavailable.into(),
        }
    }
}

impl fmt::Debug for LambdaRotator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LambdaRotator(…)")
    }
}

#[cfg(test)]
mod tests;
