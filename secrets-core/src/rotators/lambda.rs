//! A rotator that asks a function of AWS Lambda in the target's network.
//!
//! The function is `examples/rotation-proxy`, or another that speaks [`envelope`](super::envelope).
//! Nothing is asked twice here: what is tried again is decided above, and the function does a step
//! that it has done already once more without an effect.

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

/// Calls functions.
#[async_trait]
pub trait Invoker: Send + Sync {
    /// Calls a function with a payload, once, and waits at most 25 seconds for what it returns.
    async fn invoke(
        &self,
        arn: &str,
        region: &str,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, InvokeFault>;
}

/// Why a function returned nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvokeFault {
    /// Not now: too many calls, a fault of the service, no connection, or no time left. Whether the
    /// function was called is not known.
    Unavailable,
    /// It is not there, or we may not call it.
    Refused,
    /// It broke, or ran out of its own time. Nothing says that another than ours did.
    Broke,
}

/// Does what a rotator does by asking [`Target::proxy`].
pub struct LambdaRotator {
    invoker: Arc<dyn Invoker>,
    clock: Arc<dyn Clock>,
}

impl LambdaRotator {
    /// A rotator that calls functions so, and believes this clock.
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
        // Without a proxy there is nobody to ask; with too much to say, nobody who would listen.
        let proxy = target.proxy.as_ref().ok_or(Fault::ProxyRefused)?;
        let (rotation, sequence) = match fence {
            Some(fence) => (fence.rotation, fence.sequence),
            None => (Uuid::nil().into(), 0),
        };
        let heading = Heading::draw(self.clock.now(), rotation, sequence, step);
        let inside = asked.to_json().ok_or(Fault::ProxyRefused)?;
        let payload = heading.seal(proxy, &inside).ok_or(Fault::ProxyRefused)?;
        let answer = self.invoker.invoke(&proxy.lambda_arn, &proxy.region, payload).await?;
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
            // A function that broke gave no answer that could be distrusted, and may do better.
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
