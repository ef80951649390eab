//! Watching an environment, or all environments of a project, for changes.

use serde::Serialize;
use uuid::Uuid;

use crate::access::View;
use crate::crypto::{Keyring, Tag};
use crate::engine::{Audit, Callers, Context, Engine, Operation, Read};
use crate::limits::Place;
use crate::model::{
    EnvironmentId, EnvironmentName, EnvironmentPath, Permission, Principal, ProjectId, ProjectRef,
    Result, TeamId, UserId,
};
use crate::secrets::chain_etag;
use crate::store::{EnvironmentRecord, Selection};

/// Returns the current revision of an environment's effective secrets. Used when a client starts to
/// watch, and to check that the caller may still read the environment.
#[derive(Debug, Clone)]
pub struct WatchEnvironment {
    /// Environment to watch.
    pub at: EnvironmentPath,
}

/// Returns the current revisions of the environments of a project that the caller may read. Used
/// when a client starts to watch, and later to find the environments that have changed.
#[derive(Debug, Clone)]
pub struct WatchProject {
    /// Project to watch.
    pub project: ProjectRef,
}

/// Current revision of a watched environment.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Watched {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// Environment name.
    pub name: EnvironmentName,
    /// Team that owns the environment's project.
    #[serde(skip)]
    pub team: TeamId,
    /// Revision: a value that changes whenever the environment, or an environment from which it
    /// inherits, changes. Revisions have no order: only compare them for equality.
    pub revision: Tag,
}

/// Current revisions of a watched project and its environments.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WatchedProject {
    /// Project ID.
    pub project: ProjectId,
    /// Team that owns the project.
    #[serde(skip)]
    pub team: TeamId,
    /// Revision: a value that changes whenever the revision of an environment or the set of
    /// environments changes. Revisions have no order: only compare them for equality.
    pub revision: Tag,
    /// Environments that the caller may read, in display order.
    pub environments: Vec<Watched>,
}

/// Resource whose revision is polled for its watchers: clients with an open event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchTarget {
    /// Environment, including the secrets that it inherits.
    Environment(EnvironmentId),
    /// All environments of a project.
    Project(ProjectId),
}

/// Limit on the number of watchers (clients with an open event stream) of a user or token, of an
/// account, of a team, or of the process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchPlace {
    /// Limit for one user or service token: 5 watchers ([`WatchPlace::PER_PRINCIPAL`]).
    Principal(Uuid),
    /// Limit for one account (a user together with the service tokens that the user created), with
    /// the maximum number of watchers: half of the process limit, rounded up.
    Account(UserId, usize),
    /// Limit for one team, with the maximum number of watchers: a quarter of the process limit,
    /// rounded up.
    Team(TeamId, usize),
    /// Limit for this process, with the maximum number of watchers.
    Process(usize),
}

impl WatchPlace {
    /// Maximum number of watchers (clients with an open event stream) of a user or service token at
    /// the same time.
    pub const PER_PRINCIPAL: usize = 5;

    /// Returns the limits that apply to one watcher. `limit` is the maximum number of watchers in
    /// the process.
    #[must_use]
    pub fn of(principal: Uuid, account: UserId, team: TeamId, limit: usize) -> Vec<Self> {
        vec![
            Self::Principal(principal),
            Self::Account(account, limit.div_ceil(2)),
            Self::Team(team, limit.div_ceil(4)),
            Self::Process(limit),
        ]
    }
}

impl Place for WatchPlace {
    fn limit(&self) -> usize {
        match self {
            Self::Principal(_) => Self::PER_PRINCIPAL,
            Self::Account(_, limit) | Self::Team(_, limit) | Self::Process(limit) => *limit,
        }
    }
}

/// Name that is included in the ETags of a watched environment, so that they differ from the ETags
/// of other responses for the environment.
const ETAG_NAME: &str = "watch";

/// Name that is included in the ETags of a watched project, so that they differ from the ETags of
/// other responses for the project.
const PROJECT_ETAG_NAME: &str = "watch project";

impl Operation for WatchEnvironment {
    const NAME: &'static str = "environment.watch";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Watched;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Watched> {
        let view = cx.view(&self.at, Selection::None).await?;
        Ok(watched(cx.keyring(), &view))
    }
}

impl Operation for WatchProject {
    const NAME: &'static str = "project.watch";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = WatchedProject;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<WatchedProject> {
        let scope = cx.project(&self.project, Permission::See).await?;
        let (project, team) = (scope.project.id, scope.project.team);
        let principal = cx.caller.principal()?;
        let mut environments = Vec::new();
        for environment in cx.reads().environments(project, principal).await? {
            let path = EnvironmentPath::new(project, environment.id);
            if let Some(view) = cx.view_if_readable(&path, Selection::None).await? {
                environments.push(watched(cx.keyring(), &view));
            }
        }
        let revision = project_etag(cx.keyring(), project, &environments);
        Ok(WatchedProject { project, team, revision, environments })
    }
}

fn watched(keyring: &Keyring, view: &View) -> Watched {
    let chain = view.chain.iter().map(|link| &link.environment);
    let revision = chain_etag(keyring, ETAG_NAME, chain);
    let environment = &view.scope.environment;
    Watched {
        environment: environment.id,
        name: environment.name.clone(),
        team: view.scope.project.team,
        revision,
    }
}

/// Computes the ETag of a watched project from the environments that the caller may read.
fn project_etag(keyring: &Keyring, project: ProjectId, environments: &[Watched]) -> Tag {
    let project = project.uuid();
    let head = [PROJECT_ETAG_NAME.as_bytes(), project.as_bytes().as_slice()];
    // The revision of an environment is computed with its ID.
    let revisions = environments.iter().map(|watched| watched.revision.as_str().as_bytes());
    Tag::of(keyring, head.into_iter().chain(revisions))
}

impl WatchTarget {
    /// Loads the current revision of this resource. `runtime::WatchRegistry` calls this function
    /// regularly to notify watchers. Returns `None` if the resource no longer exists.
    pub async fn revision(self, engine: &Engine) -> Result<Option<Tag>> {
        let mut reads = engine.store().read().await?;
        let (name, environments) = match self {
            Self::Environment(environment) => (ETAG_NAME, reads.chain(environment).await?),
            Self::Project(project) => {
                // Use a placeholder user: for users, all environments are in scope.
                let principal = Principal::User(Uuid::nil().into());
                (PROJECT_ETAG_NAME, reads.environments(project, principal).await?)
            }
        };
        let revision = || poll_etag(engine.keyring(), name, &environments);
        Ok((!environments.is_empty()).then(revision))
    }
}

/// Computes an ETag from the IDs, names, revisions and parents of these environments.
fn poll_etag(keyring: &Keyring, name: &str, environments: &[EnvironmentRecord]) -> Tag {
    let mut form = name.to_owned();
    for environment in environments {
        if let Some(parent) = environment.inherits_from {
            form = format!("{form} {parent}");
        } else {
            form.push_str(" -");
        }
    }
    chain_etag(keyring, &form, environments)
}
