//! Watching an environment for changes.

use serde::Serialize;
use uuid::Uuid;

use crate::access::EnvironmentScope;
use crate::crypto::Tag;
use crate::engine::{Audit, Callers, Context, Engine, Operation, Read};
use crate::limits::Place;
use crate::model::{EnvironmentId, EnvironmentPath, Result, TeamId};
use crate::secrets::chain_etag;
use crate::store::Selection;

/// Returns the current revision of an environment's effective secrets. Used to start a watch, and
/// to check that the caller may still read the environment.
#[derive(Debug, Clone)]
pub struct WatchEnvironment {
    /// Environment to watch.
    pub at: EnvironmentPath,
}

/// The current revision of an environment.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Watched {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// Team of the environment.
    #[serde(skip)]
    pub team: TeamId,
    /// Changes whenever the environment, or an environment it inherits from, changes. Compare for
    /// equality only.
    pub revision: Tag,
}

/// Place of a watcher.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchPlace {
    /// User or service token.
    Principal(Uuid),
    /// Team, which may have a quarter of the watchers of the process.
    Team(TeamId),
    /// Process.
    Process,
}

impl Place for WatchPlace {
    fn limit(&self) -> usize {
        match self {
            Self::Principal(_) => 5,
            Self::Team(_) => 25,
            Self::Process => 100,
        }
    }
}

/// Response name included in these ETags, so that they differ from the ETags of other responses for
/// the same environment.
const ETAG_NAME: &str = "watch";

impl Operation for WatchEnvironment {
    const NAME: &'static str = "environment.watch";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Watched;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Watched> {
        let view = cx.view(&self.at, Selection::None).await?;
        let chain = view.chain.iter().map(|link| &link.environment);
        let revision = chain_etag(cx.keyring(), ETAG_NAME, chain);
        let EnvironmentScope { project, environment, .. } = view.scope;
        Ok(Watched { environment: environment.id, team: project.team, revision })
    }
}

/// Loads the current revision of an environment, for host applications that notify watchers.
/// `None` if the environment no longer exists.
pub async fn revision(engine: &Engine, environment: EnvironmentId) -> Result<Option<Tag>> {
    let chain = engine.store().read().await?.chain(environment).await?;
    let revision = || chain_etag(engine.keyring(), ETAG_NAME, &chain);
    Ok((!chain.is_empty()).then(revision))
}
