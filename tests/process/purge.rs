//! Tests of the purge of a deleted project while the process is killed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hyper::Method;
use secrets_core::model::{TeamId, ids};
use secrets_core::store::{self, ActionFilter, AuditFilter, AuditScope};
use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::{Person, paths, until};
use serde_json::{Value, json};

use crate::program::{Program, folder, jwt, log_path, records, root_key, stopped_at};

/// Failpoints in the purge, at which the test kills the service, in the order of the purge.
const STEPS: [&str; 3] = ["after-purge-keys", "in-purge-batch", "after-purge-batch"];

/// Number of imports of a hundred secrets each, which give more rows than one transaction of the
/// purge deletes.
const IMPORTS: usize = 4;

/// Number of current and previous values of the purged project.
const RECORDS: usize = 2 * 100 * IMPORTS;

fn serve(name: &str, url: &str) -> Program {
    Program::serve(name, Path::new("unused")).with("SECRETS_DATABASE_URL", url)
}

/// Creates a project whose secrets have a current and a previous value.
async fn filled(person: &Person) -> String {
    let project = person.project("Purged").await;
    let path = format!("{}/bulk", paths::secrets(&project, "staging"));
    for value in ["kvc_first", "kvc_second"] {
        for import in 0..IMPORTS {
            let secrets: Vec<_> = (0..100)
                .map(|number| json!({ "key": format!("KEY_{import}_{number}"), "value": value }))
                .collect();
            person.post(&path, &json!({ "secrets": secrets, "overwrite": true })).await.is(200);
        }
    }
    project
}

/// Returns the number of audit entries of a team with this action.
async fn entries(url: &str, team: &str, action: &str) -> usize {
    let store = store::open_shared(&url.parse().unwrap()).await.unwrap();
    let team = TeamId::from(ids::parse(team).unwrap());
    let filter = AuditFilter {
        actions: vec![ActionFilter::Exactly(action.to_owned())],
        ..AuditFilter::newest(AuditScope::Team(team), 10)
    };
    store.read().await.unwrap().audit_entries(&filter).await.unwrap().len()
}

/// Deletes an account, whose project is purged at once, and kills the service at each step of the
/// purge. Checks that the last start completes the purge, and that the project of another account
/// is unchanged.
async fn is_purged_although_killed(name: &str, url: &str) {
    let program = serve(name, url).start();
    let (alice, bob) = (program.person("alice").await, program.person("bob").await);
    let kept = bob.project("Kept").await;
    bob.secret(&kept, "staging", "KEY", "kvc_kept").await;
    let project = filled(&alice).await;
    let (team, confirmed) = (alice.team.clone(), json!({ "confirm": "alice@example.com" }));
    alice.json(Method::DELETE, "/api/v1/account", &confirmed).await.is(204);
    program.kill();

    let mut left = Vec::new();
    for step in STEPS {
        let log = format!("{name}_{step}");
        let _ = fs::remove_file(log_path(&log));
        let stopping = serve(&log, url).with("SECRETS_DEBUG_FAILPOINT", step).start();
        stopped_at(&log, step).await;
        stopping.kill();
        left.push(records(url, &project, 1).await);
        assert_eq!(entries(url, &team, "project.keys_destroyed").await, 1, "{step}");
        assert_eq!(entries(url, &team, "project.purged").await, 0, "{step}");
    }
    // The second transaction was not committed, the third one deleted a part of the rows.
    assert_eq!(left[..2], [RECORDS; 2]);
    assert!(0 < left[2] && left[2] < RECORDS, "{left:?}");

    let mut program = serve(name, url).start();
    until("the purge ends", async || entries(url, &team, "project.purged").await > 0).await;
    assert_eq!(records(url, &project, 1).await, 0);
    assert_eq!(entries(url, &team, "project.keys_destroyed").await, 1);
    let secret = paths::secret(&kept, "staging", "KEY");
    let read: Value = program.bearer(&jwt("bob")).get(&secret).await.is(200).json();
    assert_eq!(read["secret"]["value"], "kvc_kept");
    program.terminate(Duration::from_secs(10));
    let verified = Program::new(name, &["doctor", "verify"])
        .with("SECRETS_DATABASE_URL", url)
        .with("SECRETS_ROOT_KEY", &root_key(7))
        .run();
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_is_purged_although_the_process_is_killed_on_sqlite() {
    let database = folder("purge_killed").join("secrets.db");
    let url = format!("sqlite://{}", database.display());
    is_purged_although_killed("purge_sqlite", &url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_is_purged_although_the_process_is_killed_on_postgresql() {
    let database = TestDatabase::create().await;
    is_purged_although_killed("purge_postgres", &database.url()).await;
}
