//! Tests with requests of one team in which each ID, slug or name is replaced by that of an object
//! of the other team.

use secrets_tests::{App, Client, Reply, connection, paths, postgresql};
use serde_json::{Value, json};

use super::{HERS, Tenant, Twins};

/// Request of the team `ann`, with its expected statuses.
struct Attempt {
    method: &'static str,
    path: String,
    body: Value,
    /// Expected statuses: for a user of the team, and for a service token of the team.
    expected: [u16; 2],
}

/// Expected number of requests whose path names an object of the other team, counted for the user
/// and for the service token.
const PATHS: usize = 1588;

async fn paths_that_name_anything_of_another_team_give_nothing_of_it(app: App) {
    let twins = Twins::build(&app).await;
    let before = Twins::hers(&app).await;

    let attempts = in_paths(&twins);
    let mut wrong = Vec::new();
    for attempt in &attempts {
        for (client, expected) in twins.ann.clients().into_iter().zip(attempt.expected) {
            let reply = attempt.send(client).await;
            twins.assert_unseen(&attempt.text(), &reply);
            if reply.status != expected {
                wrong.push(format!("{} {expected}: {reply:?}", attempt.text()));
            }
        }
    }

    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(attempts.len() * 2, PATHS);
    assert_eq!(before.changes(&Twins::hers(&app).await), Vec::<String>::new());
}

async fn bodies_and_queries_that_name_anything_of_another_team_are_refused(app: App) {
    let twins = Twins::build(&app).await;
    let before = Twins::hers(&app).await;

    let mut wrong = Vec::new();
    for attempt in in_bodies(&twins) {
        for (client, expected) in twins.ann.clients().into_iter().zip(attempt.expected) {
            let reply = attempt.send(client).await;
            twins.assert_unseen(&attempt.text(), &reply);
            if reply.status != expected {
                wrong.push(format!("{} {expected}: {reply:?}", attempt.text()));
            }
        }
    }

    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(before.changes(&Twins::hers(&app).await), Vec::<String>::new());
}

async fn lists_hold_nothing_of_another_team(app: App) {
    let twins = Twins::build(&app).await;
    let lists = ["/api/v1/users/me", "/api/v1/teams", "/api/v1/projects", "/api/v1/tokens"];

    for path in lists {
        for client in twins.ann.clients() {
            let reply = client.get(path).await;
            assert!([200, 403].contains(&reply.status), "{}", reply.text());
            twins.assert_unseen(path, &reply);
        }
    }
}

secrets_tests::on_every_store!(
    paths_that_name_anything_of_another_team_give_nothing_of_it,
    bodies_and_queries_that_name_anything_of_another_team_are_refused,
    lists_hold_nothing_of_another_team,
);

impl Attempt {
    fn text(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.body)
    }

    async fn send(&self, client: &Client) -> Reply {
        client.json(self.method.parse().unwrap(), &self.path, &self.body).await
    }
}

impl Tenant {
    /// Returns the clients of the team: one with the credential of the user, one with the service
    /// token.
    fn clients(&self) -> [&Client; 2] {
        [&self.person, &self.machine]
    }
}

/// Returns all requests whose path or query names a project, an environment or a key of the other
/// team.
fn in_paths(twins: &Twins) -> Vec<Attempt> {
    let Twins { ann, bea } = twins;
    let (hers, uuid) = (&bea.project_id, bea.project_id.replace('-', ""));
    let projects = [
        (ann.project_id.clone(), false),
        (ann.slug.clone(), false),
        (hers.clone(), true),
        (bea.slug.clone(), true),
        (hers.to_uppercase(), true),
        (uuid, true),
    ];
    let environments = [
        (ann.environment("development"), false),
        ("development", false),
        ("preview", false),
        (bea.environment("development"), true),
        (bea.environment(HERS.1), true),
        (HERS.1, true),
    ];
    let mut attempts = Vec::new();
    for (project, project_is_hers) in &projects {
        if *project_is_hers {
            attempts.extend(of_project(project));
        }
        for (environment, environment_is_hers) in environments {
            let unseen = if *project_is_hers { 403 } else { 404 };
            if *project_is_hers || environment_is_hers {
                attempts.extend(of_environment(project, environment, unseen));
                attempts.extend(of_key(project, environment, "SHARED", unseen));
                attempts.extend(of_rotations(project, environment, unseen));
            }
            attempts.extend(of_key(project, environment, HERS.0, unseen));
        }
    }
    attempts
}

fn attempt(method: &'static str, path: String, body: Value, expected: [u16; 2]) -> Attempt {
    Attempt { method, path, body, expected }
}

/// Returns the requests for a project of the other team.
fn of_project(project: &str) -> Vec<Attempt> {
    let path = format!("/api/v1/projects/{project}");
    let environments = paths::environments(&path);
    let name = json!({ "name": "mine" });
    vec![
        attempt("GET", path.clone(), json!({}), [403; 2]),
        attempt("PATCH", path.clone(), name.clone(), [403; 2]),
        attempt("DELETE", path, json!({}), [403; 2]),
        attempt("GET", environments.clone(), json!({}), [403; 2]),
        attempt("POST", environments, name, [403; 2]),
    ]
}

/// Returns the requests for an environment that does not belong to the first team.
fn of_environment(project: &str, environment: &str, unseen: u16) -> Vec<Attempt> {
    let path = format!("/api/v1/projects/{project}");
    let (one, secrets) =
        (paths::environment(&path, environment), paths::secrets(&path, environment));
    let secret = json!({ "key": "MINE", "value": "kvc_a_mine" });
    let import = json!({ "secrets": [secret], "overwrite": true });
    vec![
        attempt("GET", one.clone(), json!({}), [unseen; 2]),
        attempt("DELETE", one, json!({}), [unseen, 403]),
        attempt("GET", secrets.clone(), json!({}), [unseen; 2]),
        attempt("POST", secrets.clone(), secret, [unseen; 2]),
        attempt("GET", format!("{secrets}/export"), json!({}), [unseen; 2]),
        attempt("POST", format!("{secrets}/bulk"), import, [unseen; 2]),
        attempt("GET", paths::eso_secrets(project, environment), json!({}), [403, unseen]),
    ]
}

/// Returns the requests for the rotations of an environment that does not belong to the first team.
fn of_rotations(project: &str, environment: &str, unseen: u16) -> Vec<Attempt> {
    let path = format!("/api/v1/projects/{project}");
    let all = paths::rotations(&path, environment);
    let one = paths::rotation(&path, environment, "shared-db");
    let (pause, none) = (json!({ "status": "paused" }), json!({}));
    let requests = [
        ("GET", all.clone(), none.clone()),
        ("POST", all.clone(), postgresql("mine")),
        ("POST", format!("{all}/test"), connection()),
        ("GET", one.clone(), none.clone()),
        ("PUT", one.clone(), pause),
        ("POST", format!("{one}/rotate"), none.clone()),
        ("POST", format!("{one}/test"), none.clone()),
        ("GET", format!("{one}/history"), none.clone()),
        ("DELETE", one.clone(), none.clone()),
        ("DELETE", format!("{one}?revoke=true"), none),
    ];
    let attempts = requests.into_iter();
    attempts.map(|(method, path, body)| attempt(method, path, body, [unseen, 403])).collect()
}

/// Returns the requests for a secret that does not belong to the first team.
fn of_key(project: &str, environment: &str, key: &str, unseen: u16) -> Vec<Attempt> {
    let path = paths::secret(&format!("/api/v1/projects/{project}"), environment, key);
    let value = json!({ "value": "kvc_a_mine" });
    let eso = paths::eso_secret(project, environment, key);
    vec![
        attempt("GET", path.clone(), json!({}), [unseen; 2]),
        attempt("PUT", path.clone(), value, [unseen; 2]),
        attempt("DELETE", path, json!({}), [unseen; 2]),
        attempt("GET", eso, json!({}), [403, unseen]),
    ]
}

/// Returns requests that name an object of the other team in the body, in the query, or in a path
/// outside of projects.
fn in_bodies(twins: &Twins) -> Vec<Attempt> {
    let Twins { ann, bea } = twins;
    let (projects, tokens) = ("/api/v1/projects", "/api/v1/tokens");
    let (own, theirs) = (&ann.person.team, &bea.person.team);
    let project = json!({ "name": "mine", "team_id": theirs });
    let address = json!({ "name": "mine", "team_id": own, "slug": bea.slug });
    let token = json!({ "name": "mine", "team_id": theirs, "all_projects": true });
    let mut attempts = vec![
        attempt("POST", projects.to_owned(), project, [403; 2]),
        attempt("POST", projects.to_owned(), address, [400, 403]),
        attempt("POST", tokens.to_owned(), token, [403; 2]),
        attempt("GET", format!("{tokens}?team_id={theirs}"), json!({}), [403; 2]),
        attempt("GET", format!("/api/v1/teams/{theirs}"), json!({}), [403; 2]),
        attempt("DELETE", format!("{tokens}/{}", bea.token_id), json!({}), [403; 2]),
    ];
    for parent in [bea.environment("staging"), bea.environment(HERS.1), HERS.1] {
        let (path, body) = (paths::environments(&ann.project), inheriting(parent));
        attempts.push(attempt("POST", path, body, [400, 403]));
    }
    let scopes = scopes(twins).into_iter();
    attempts.extend(scopes.map(|body| attempt("POST", tokens.to_owned(), body, [400, 403])));
    attempts
}

fn inheriting(parent: &str) -> Value {
    json!({ "name": "mine", "inherits_from": parent })
}

/// Returns request bodies that create a service token of the first team whose scope contains
/// objects of the other team.
fn scopes(twins: &Twins) -> Vec<Value> {
    let Twins { ann, bea } = twins;
    let (mine, hers) = (ann.project_id.as_str(), bea.project_id.as_str());
    let of_environment = |environment: &str| {
        json!({
            "name": "mine",
            "team_id": ann.person.team,
            "project_ids": [mine],
            "environments": [environment],
        })
    };
    let of_projects = |projects: &[&str]| {
        let team = &ann.person.team;
        json!({ "name": "mine", "team_id": team, "project_ids": projects })
    };
    vec![
        of_environment(bea.environment("staging")),
        of_environment(bea.environment(HERS.1)),
        of_environment(HERS.1),
        of_projects(&[hers]),
        of_projects(&[&bea.slug]),
        of_projects(&[mine, hers]),
    ]
}
