//! Tests of requests to every endpoint while the database is frozen: the server must respond to
//! each within the time limit `LIMIT`.

use std::sync::Arc;
use std::time::Duration;

use secrets_core::store::StoreOptions;
use secrets_core::store::sql::postgres;
use secrets_tests::{App, Client, DatabaseProxy, Kind, Reply, paths};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::policy::{POLICY, Rule, Target, Who};
use super::requests::Names;
use super::world::World;

/// Time within which the server must respond to a request: 5 s, and more because other tests use
/// the processors at the same time.
const LIMIT: Duration = Duration::from_secs(20);

/// Path templates of the endpoints that do not use the database.
const WITHOUT_DATABASE: [&str; 17] = [
    "/health/live",
    "/api/v1",
    "/",
    "/projects",
    "/projects/{*rest}",
    "/teams/{*rest}",
    "/account",
    "/assets/{build}/{*file}",
    "/device",
    "/sign-in",
    "/sign-in/callback",
    "/sign-in/dev",
    "/api/v1/openapi.json",
    "/api/docs",
    "/api/docs/{file}",
    "/api/v1/auth/config",
    "/invitations/{token}",
];

/// Server that reaches its database through a proxy.
struct Frozen {
    world: Arc<World>,
    proxy: DatabaseProxy,
    app: Arc<App>,
    /// Server that uses the same database without the proxy. Kept, because dropping it deletes the
    /// database.
    _direct: App,
}

async fn frozen() -> Frozen {
    let direct = App::start(Kind::Postgres).await;
    let world = Arc::new(World::build(&direct).await);
    let (proxy, url) = DatabaseProxy::start(&direct.location).await;
    let store = postgres::open(&url, StoreOptions::default()).await.unwrap();
    let app = Arc::new(direct.with_time_limits_over(Arc::new(store)).await);
    Frozen { world, proxy, app, _direct: direct }
}

impl Frozen {
    /// Creates a client whose requests the endpoint of this rule accepts.
    fn client(&self, rule: &Rule) -> Client {
        match rule.who {
            Who::Machines => self.client_of("both"),
            _ => self.client_of("owner"),
        }
    }

    fn client_of(&self, name: &str) -> Client {
        let principal = self.world.principals.iter().find(|principal| principal.name == name);
        principal.unwrap().client(&self.app)
    }

    /// Starts requests to the endpoints of these rules, all at the same time. Each task returns the
    /// rule, the status and the duration of its request.
    fn request(
        &self,
        rules: impl Iterator<Item = &'static Rule>,
    ) -> JoinSet<(&'static Rule, u16, Duration)> {
        let mut requests = JoinSet::new();
        for rule in rules {
            let (client, world) = (self.client(rule), Arc::clone(&self.world));
            requests.spawn(async move {
                let names = Names::lasting(&world, Target::Own);
                let began = Instant::now();
                let reply = timeout(4 * LIMIT, names.send(&client, rule)).await;
                (rule, reply.map_or(0, |reply| reply.status), began.elapsed())
            });
        }
        requests
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_endpoint_answers_while_the_database_is_frozen() {
    let frozen = frozen().await;
    frozen.proxy.freeze(true);

    let answers = frozen.request(POLICY.iter()).join_all().await;

    let mut wrong = Vec::new();
    for (rule, status, time) in answers {
        let expected = if WITHOUT_DATABASE.contains(&rule.template) { rule.ok } else { 503 };
        if status != expected || time > LIMIT {
            wrong.push(format!("{} {}: {status} after {time:?}", rule.method, rule.template));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_progress_are_answered_after_the_database_froze() {
    let frozen = frozen().await;

    // Some requests have ended before the freeze. The others are frozen at different steps.
    for ended in [1, 8, 20] {
        // No object of the test may be deleted.
        let rules = POLICY.iter().filter(|rule| rule.method != "DELETE");
        let mut requests = frozen.request(rules);
        for _ in 0..ended {
            requests.join_next().await.unwrap().unwrap();
        }
        frozen.proxy.freeze(true);
        let began = Instant::now();

        let answers = requests.join_all().await;

        assert!(began.elapsed() < LIMIT, "{:?}: {answers:#?}", began.elapsed());
        // Requests of the same round may conflict with each other, but none fails otherwise.
        let is_answer = |status: u16| (200..500).contains(&status) || status == 503;
        assert!(answers.iter().all(|(_, status, _)| is_answer(*status)), "{answers:#?}");
        frozen.proxy.freeze(false);
        healthy(&frozen).await;
    }
}

/// Waits until the server responds with status 200 again, for at most a minute.
async fn healthy(frozen: &Frozen) {
    let key = paths::secret(
        &format!("/api/v1/projects/{}", frozen.world.first.project),
        "development",
        "KEY",
    );
    // A sign-in could fail on a connection that was frozen, so an existing credential is used.
    let owner = frozen.client_of("owner");
    let works = async {
        while owner.get(&key).await.status != 200 || owner.get("/health").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_mins(1), works).await.unwrap();
}

/// Sends a request, and freezes the database when the server sends a statement that contains
/// `text`. Asserts that the server responds within the time limit, unfreezes the database, and
/// returns the response.
async fn frozen_at(frozen: &Frozen, method: &str, template: &str, text: &'static str) -> Reply {
    let rule =
        POLICY.iter().find(|rule| rule.method == method && rule.template.ends_with(template));
    let rule = rule.unwrap();
    let names = Names::lasting(&frozen.world, Target::Own);
    frozen.proxy.freeze_at(text);
    let began = Instant::now();
    let reply = timeout(4 * LIMIT, names.send(&frozen.client(rule), rule)).await;
    let time = began.elapsed();
    assert!(frozen.proxy.is_frozen(), "{method} {template} does not send {text}: {reply:?}");
    assert!(time < LIMIT, "{method} {template} at {text}: {time:?}");
    frozen.proxy.freeze(false);
    healthy(frozen).await;
    reply.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_freeze_at_each_step_of_a_request_is_noticed() {
    let frozen = frozen().await;

    for (method, template, text) in [
        ("PUT", "/secrets/{key}", "BEGIN"),
        ("PUT", "/secrets/{key}", "COMMIT"),
        // The audit entry of a read, which contains this action, is committed after the operation.
        ("GET", "/secrets/{key}", "secret.read"),
        // Operations that may take a long time.
        ("POST", "/secrets/bulk", "BEGIN"),
        ("POST", "/secrets/bulk", "COMMIT"),
        ("GET", "/secrets/export", "secrets.exported"),
    ] {
        let reply = frozen_at(&frozen, method, template, text).await;

        assert_eq!(reply.status, 503, "{method} {text}: {reply:?}");
        // Clients repeat a request only if the response has the header.
        let is_unconfirmed = method != "GET" && text == "COMMIT";
        let is_final = reply.header("retry-after").is_none();
        assert_eq!(is_final, is_unconfirmed, "{method} {text}: {reply:?}");
    }
}
