//! Watching an environment.

use serde::Serialize;

use crate::crypto::Tag;
use crate::engine::Engine;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentId, EnvironmentPath, Result};
use crate::secrets::chain_tag;
use crate::store::Wanted;

/// Tells how what an environment shows stands now, to whoever may read it: the beginning of a
/// watch, and the proof that it may go on.
#[derive(Debug, Clone)]
pub struct WatchEnvironment {
    /// Which environment.
    pub at: EnvironmentPath,
}

/// How what an environment shows stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Watched {
    /// Which environment.
    pub environment: EnvironmentId,
    /// Another after each change of the environment or of one that it inherits from.
    pub revision: Tag,
}

/// What the tag of a watch is made of, beside the chain.
const FORM: &str = "watch";

impl Operation for WatchEnvironment {
    const NAME: &'static str = "environment.watch";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Watched;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Watched> {
        let view = cx.view(&self.at, Wanted::Nothing).await?;
        let chain = view.chain.iter().map(|link| &link.environment);
        let revision = chain_tag(cx.keyring(), FORM, chain);
        Ok(Watched { environment: view.scope.environment.id, revision })
    }
}

impl Engine {
    /// How what an environment shows stands now, for a host that tells those who watch it; `None`
    /// if it is gone.
    pub async fn revision(&self, environment: EnvironmentId) -> Result<Option<Tag>> {
        let chain = self.store().read().await?.chain(environment).await?;
        let revision = || chain_tag(self.keyring(), FORM, &chain);
        Ok((!chain.is_empty()).then(revision))
    }
}
