//! Listing secrets.

use super::etag::view_if_changed;
use super::sealing::without_value;
use super::{Precondition, Secret, WithETag, visible};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result};

/// Lists the effective secrets of an environment, sorted by key, without values. The list includes
/// hidden secrets, and secrets inherited from an environment that the caller may not read; both are
/// marked.
#[derive(Debug)]
pub struct ListSecrets {
    /// Environment whose secrets are listed.
    pub at: EnvironmentPath,
    /// Precondition (`If-None-Match`): ETags of the responses that the caller already has.
    pub precondition: Precondition,
}

impl Operation for ListSecrets {
    const NAME: &'static str = "secret.list";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    const HAS_LARGE_OUTPUT: bool = true;
    type Access = Read;
    type Output = WithETag<Vec<Secret>>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<WithETag<Vec<Secret>>> {
        let (tag, view) = view_if_changed(cx, &self.at, "list", &self.precondition).await?;
        let Some(mut view) = view else { return Ok(WithETag { tag, answer: None }) };
        let mut secrets = Vec::new();
        for seen in visible(&mut view) {
            secrets.push(without_value(cx, &view.scope, seen).await?);
        }
        Ok(WithETag { tag, answer: Some(secrets) })
    }
}
