//! Reading an environment.

use super::Environment;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Permission, Result};

/// Reads an environment.
#[derive(Debug)]
pub struct GetEnvironment {
    /// Environment to read.
    pub at: EnvironmentPath,
}

impl Operation for GetEnvironment {
    const NAME: &'static str = "environment.get";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Environment;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Environment> {
        Ok(cx.environment(&self.at, Permission::See).await?.environment.into())
    }
}
