//! Reading a secret.

use super::reading::effective_secret;
use super::sealing::reveal;
use super::{KeyRef, Secret};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result};

/// Reads a secret with its value, from the environment itself or from the nearest ancestor that has
/// a secret with this key.
#[derive(Debug)]
pub struct GetSecret {
    /// Environment to read from.
    pub at: EnvironmentPath,
    /// Key (name) of the secret to read.
    pub key: KeyRef,
}

impl Operation for GetSecret {
    const NAME: &'static str = "secret.get";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Read("secret.read");
    type Access = Read;
    type Output = Secret;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Secret> {
        let (scope, seen) = effective_secret(cx, &self.at, &self.key).await?;
        reveal(cx, &scope, seen).await
    }
}
