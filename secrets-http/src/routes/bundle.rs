//! `/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bundle`

use std::sync::Arc;

use secrets_core::access::EnvironmentPath;
use secrets_core::caller::{Caller, Callers};
use secrets_core::error::{self, Error};
use secrets_core::secrets::{ExportBundle, Held, ListSecrets, NewBundle, SealedBundle};
use secrets_core::{Operation, Service, Task};
use tokio::sync::Semaphore;
use warp::Filter as _;
use warp::http::Method;

use crate::api::Api;
use crate::body::{Body, LIMIT, body};
use crate::reply::Shape;
use crate::router::Route;
use crate::target::{Target, target};

const BUNDLE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bundle";

/// How many keys are derived at once: each takes 64 MiB.
const DERIVATIONS: usize = 2;

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let derivations = Arc::new(Semaphore::new(DERIVATIONS));
    let export = target().and(body(LIMIT)).map(move |target: Target, body: Body| {
        let derivations = Arc::clone(&derivations);
        async move {
            let (at, new) = (target.environment(), body.json().await?);
            Ok(Bundle { at, new, derivations })
        }
    });
    let export = api
        .route(Method::POST, BUNDLE, Shape::Bare, export)
        .says("Take along all values an environment sees, in a file that opens without the service")
        .takes::<NewBundle>();
    // A secret may be called `bundle`.
    vec![export.beside_others()]
}

/// Derives the keys, and seals.
struct Bundle {
    at: EnvironmentPath,
    new: NewBundle,
    derivations: Arc<Semaphore>,
}

impl Task for Bundle {
    const NAME: &'static str = <ExportBundle as Operation>::NAME;
    const CALLERS: Callers = <ExportBundle as Operation>::CALLERS;
    type Output = SealedBundle;

    async fn run(self, service: &Service, caller: &Caller) -> error::Result<SealedBundle> {
        let Self { at, new, derivations } = self;
        // Nobody has us derive keys for what they may not read.
        service.perform(caller, ListSecrets { at: at.clone(), held: Held::Anything }).await?;
        let permit = derivations.acquire().await.map_err(Error::internal)?;
        let bundle = tokio::task::spawn_blocking(move || new.prepare());
        let bundle = bundle.await.map_err(Error::internal)??;
        drop(permit);
        service.perform(caller, ExportBundle { at, bundle }).await
    }
}
