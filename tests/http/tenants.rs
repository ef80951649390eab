//! Tests with two teams whose objects have the same names. No request of one team returns or
//! changes data of the other team.

mod equal_answers;
mod substitution;

use secrets_tests::{App, Client, Dump, Person, Reply, paths, postgresql};
use serde_json::{Value, json};

/// Two teams whose objects have the same names. `ann` sends all requests, and the data of `bea`
/// must stay invisible to `ann`.
struct Twins {
    ann: Tenant,
    bea: Tenant,
}

/// Team with one project, and the credentials with which its requests are sent.
struct Tenant {
    person: Person,
    /// Client with a service token that can read and write all projects of the team.
    machine: Client,
    token: String,
    token_id: String,
    /// URL path of the project.
    project: String,
    project_id: String,
    slug: String,
    /// Name and ID of each environment: `development`, `staging`, `production`, `preview`.
    environments: Vec<(String, String)>,
    /// IDs, values and descriptions that only this team has.
    others: Vec<String>,
}

/// Name of the user whose data must stay invisible. It is so long that no response contains it by
/// chance.
const BEA: &str = "beatrix-of-the-other-team";

/// Secret key and environment name that exist only in the other team.
const HERS: (&str, &str) = ("BEATRIX_ONLY", "beatrix-only");

impl Twins {
    async fn build(app: &App) -> Self {
        let ann = Tenant::build(app, "ann", "a").await;
        let mut bea = Tenant::build(app, BEA, "b").await;
        let (key, environment) = HERS;
        let id = bea.person.environment(&bea.project, environment, Some("staging")).await;
        bea.environments.push((environment.to_owned(), id));
        bea.person.secret(&bea.project, "development", key, "kvc_b_only").await;
        let secret = bea.person.get(&paths::secret(&bea.project, "development", key)).await;
        bea.others.extend([secret.id(), key.to_owned()]);
        Self { ann, bea }
    }

    /// Returns a dump of all stored data of the team `bea`.
    async fn hers(app: &App) -> Dump {
        Dump::of(app.store.as_ref(), &[BEA]).await
    }

    /// Asserts that a response contains no data of the other team, except data that the request
    /// itself contained.
    #[track_caller]
    fn assert_unseen(&self, request: &str, reply: &Reply) {
        let answer = format!("{:?} {}", reply.headers, reply.text()).to_lowercase();
        let request = request.to_lowercase();
        for trace in self.bea.traces() {
            let trace = trace.to_lowercase();
            let is_new = !request.contains(&trace);
            assert!(!(is_new && answer.contains(&trace)), "{request} shows {trace}: {answer}");
        }
    }
}

impl Tenant {
    /// Creates a team with a project. All teams have the same names and structure; only the values
    /// and descriptions differ, because they contain `mark`.
    async fn build(app: &App, name: &str, mark: &str) -> Self {
        let person = app.person(name).await;
        let project = person.project("Billing").await;
        person.environment(&project, "preview", Some("staging")).await;
        let mut others = Vec::new();
        for environment in ["development", "staging", "preview"] {
            let value = format!("kvc_{mark}_{environment}");
            let about = format!("{value}_is_for");
            let body = json!({ "key": "SHARED", "value": value, "description": about });
            let path = paths::secrets(&project, environment);
            others.push(person.post(&path, &body).await.is(201).id());
        }
        let body = json!({
            "name": "deploy",
            "team_id": person.team,
            "all_projects": true,
            "permissions": ["read", "write"],
        });
        let rotations = paths::rotations(&project, "development");
        others.push(person.post(&rotations, &postgresql("shared-db")).await.is(201).id());
        let token = person.post("/api/v1/tokens", &body).await.is(201).json();
        let shown = person.get(&project).await.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let named = |environment: &Value| (text(&environment["name"]), text(&environment["id"]));
        Self {
            machine: app.bearer(token["token"].as_str().unwrap()),
            token: text(&token["token"]),
            token_id: text(&token["id"]),
            project_id: text(&shown["id"]),
            slug: text(&shown["slug"]),
            environments: shown["environments"].as_array().unwrap().iter().map(named).collect(),
            project,
            person,
            others,
        }
    }

    /// Returns the ID of the environment with this name.
    fn environment(&self, name: &str) -> &str {
        let known = self.environments.iter().find(|(known, _)| known == name);
        known.map(|(_, id)| id.as_str()).unwrap()
    }

    /// Returns the strings that must not appear in responses to the other team: all IDs, and the
    /// names and values that only this team has.
    fn traces(&self) -> Vec<String> {
        let ids = [&self.person.id, &self.person.team, &self.project_id, &self.token_id];
        let ids = ids.into_iter().chain(self.environments.iter().map(|(_, id)| id));
        let mut traces: Vec<_> = ids.chain(&self.others).cloned().collect();
        let plain: Vec<_> = traces.iter().map(|id| id.replace('-', "")).collect();
        traces.extend(plain);
        traces.extend([self.slug.clone(), self.token[..12].to_owned()]);
        traces.extend(["kvc_b_", BEA, HERS.1].map(str::to_owned));
        traces
    }
}

async fn teams_with_the_same_names_see_only_their_own_data(app: App) {
    let Twins { ann, bea } = Twins::build(&app).await;
    assert_ne!(ann.slug, bea.slug);

    for (tenant, mark) in [(&ann, "a"), (&bea, "b")] {
        for (environment, id) in &tenant.environments[..2] {
            let value = format!("kvc_{mark}_{environment}");
            for project in [&tenant.project_id, &tenant.slug] {
                for environment in [environment, id] {
                    let path = format!("/api/v1/projects/{project}");
                    let path = paths::secret(&path, environment, "SHARED");
                    let shown = tenant.person.get(&path).await.is(200).json();
                    assert_eq!(shown["secret"]["value"], value);
                    let path = paths::eso_secret(project, environment, "SHARED");
                    let read = tenant.machine.get(&path).await.is(200).json();
                    assert_eq!(read, json!({ "value": value }));
                }
            }
        }
    }
}

secrets_tests::on_every_store!(teams_with_the_same_names_see_only_their_own_data);
