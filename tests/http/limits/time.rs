//! Tests of the time limit of an operation.

use std::sync::Arc;
use std::time::Duration;

use secrets_core::Service;
use secrets_core::crypto::Plaintext;
use secrets_core::engine::{Options, Ports};
use secrets_core::model::{EnvironmentPath, Error, Origin, ids};
use secrets_core::runtime::TokioTimer;
use secrets_core::secrets::{CreateSecret, NewSecret};
use secrets_tests::{App, Build, Kind, on_every_store, paths};

/// Opens a second service, which uses the store of the server and has this time limit for
/// operations.
async fn limited(app: &App, limit: Duration) -> Service {
    let ports = Ports { timer: Some(Arc::new(TokioTimer)), ..app.ports() };
    let options = Options { time_limit: limit, ..Options::default() };
    Service::open(ports, options).await.unwrap()
}

/// Creates a secret with this service, in the environment `at`.
async fn create(service: &Service, app: &App, at: &EnvironmentPath) -> Result<(), Error> {
    let caller = service.authenticate(&app.jwt("alice"), Origin::default()).await?;
    let secret =
        NewSecret::new("KEY".parse().unwrap(), Plaintext::new("kvc_late".to_owned()).unwrap());
    service.perform(&caller, CreateSecret { at: at.clone(), secret }).await.map(drop)
}

async fn an_operation_that_waits_for_a_lock_ends_and_changes_nothing(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let at = EnvironmentPath::new(paths::last(&web), "staging");
    let service = limited(&app, Duration::from_millis(50)).await;
    let environment = alice.get(&paths::environment(&web, "staging")).await.is(200).id();
    let mut held = app.store.begin().await.unwrap();
    held.touch_environment(ids::parse(&environment).unwrap().into(), 1).await.unwrap();

    let late = create(&service, &app, &at).await;

    let Err(Error::Unavailable(cause)) = late else { panic!("{late:?}") };
    assert_eq!(cause.to_string(), "the operation reached its time limit");
    drop(held);
    alice.get(&paths::secret(&web, "staging", "KEY")).await.is(404);
    let patient = limited(&app, Duration::from_mins(1)).await;
    create(&patient, &app, &at).await.unwrap();
    alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200);
}

on_every_store!(; an_operation_that_waits_for_a_lock_ends_and_changes_nothing);
