//! Tests of creating projects.

use secrets_core::model::{Clock as _, Role, TeamId, ids};
use secrets_core::testing::fixtures;
use secrets_tests::{App, Kind, STARTED, in_memory_and_on_postgres, on_sql_stores, paths};
use serde_json::json;

use super::PROJECTS;

async fn a_created_project_is_answered(app: App) {
    let alice = app.person("alice").await;

    let body =
        json!({ "name": "Web API", "team_id": alice.team, "description": "What\nbrowsers ask" });
    let project = alice.post(PROJECTS, &body).await.is(201).json();

    assert_eq!(
        project,
        json!({
            "id": project["id"],
            "team_id": alice.team,
            "name": "Web API",
            "slug": "web-api",
            "description": "What\nbrowsers ask",
            "created_by": alice.id,
            "created_at": STARTED,
            "updated_at": STARTED,
        })
    );
}

async fn a_project_begins_with_three_environments(app: App) {
    let alice = app.person("alice").await;

    let project = alice.project("Web").await;

    let list = alice.get(&paths::environments(&project)).await.is(200).json();
    let environment = |index: usize, name: &str| {
        json!({
            "id": list["environments"][index]["id"],
            "project_id": paths::last(&project),
            "name": name,
            "order": index,
            "created_at": STARTED,
            "updated_at": STARTED,
        })
    };
    let three =
        [environment(0, "development"), environment(1, "staging"), environment(2, "production")];
    assert_eq!(list, json!({ "environments": three }));
}

async fn a_project_without_a_team_is_in_the_callers_own(app: App) {
    let alice = app.person("alice").await;
    let only = alice.post(PROJECTS, &json!({ "name": "One" })).await.is(201).json();
    alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201);

    let personal =
        alice.post(PROJECTS, &json!({ "name": "Two", "team_id": null })).await.is(201).json();

    assert_eq!((&only["team_id"], &personal["team_id"]), (&json!(alice.team), &json!(alice.team)));
}

async fn any_member_of_the_team_may_create_one(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;

    let project =
        bob.post(PROJECTS, &json!({ "name": "Web", "team_id": alice.team })).await.is(201).json();

    assert_eq!((&project["team_id"], &project["created_by"]), (&json!(alice.team), &json!(bob.id)));
}

async fn another_or_unknown_team_is_403(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let body = json!({ "error": "you are not a member of this team", "code": "forbidden" });

    for team in [alice.team.as_str(), "0190f1f3-7b1c-7000-8000-000000000000"] {
        let reply = bob.post(PROJECTS, &json!({ "name": "Web", "team_id": team })).await;

        assert_eq!(reply.is(403).json(), body);
    }
}

/// Creates this number of projects in a team, and deletes them.
async fn add_deleted_projects(app: &App, team: &str, count: usize) {
    let team = TeamId::from(ids::parse(team).unwrap());
    let mut tx = app.store.begin().await.unwrap();
    let team = tx.team(team).await.unwrap().unwrap();
    for number in 0..count {
        let project = fixtures::project(&team, &format!("deleted-{number}"));
        tx.insert_project(&project, &fixtures::project_key(&project)).await.unwrap();
        tx.delete_project(project.id, app.clock.now()).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn a_team_has_at_most_1000_deleted_projects(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    add_deleted_projects(&app, &alice.team, 998).await;
    alice.delete(&web).await.is(204);
    alice.project("Last").await;
    alice.delete(&shop).await.is(204);

    let reply = alice.post(PROJECTS, &json!({ "name": "More" })).await;

    let error = "a team can have at most 1,000 deleted projects; those deleted in the last 30 days \
                 count, until they are restored or permanently deleted";
    assert_eq!(reply.is(400).json(), json!({ "error": error, "code": "invalid_request" }));
    app.person("bob").await.project("Elsewhere").await;
    alice.post(&format!("{web}/restore"), &json!({})).await.is(200);
    alice.project("More").await;
}

async fn a_team_that_is_no_uuid_is_400(app: App) {
    let alice = app.person("alice").await;

    for team in [json!("ops"), json!(""), json!(7)] {
        alice
            .post(PROJECTS, &json!({ "name": "Web", "team_id": team }))
            .await
            .is(400)
            .names("team_id");
    }
}

async fn a_project_has_a_name_of_1_to_100_characters(app: App) {
    let alice = app.person("alice").await;
    let (longest, longer) = ("n".repeat(100), "n".repeat(101));
    alice.post(PROJECTS, &json!({ "name": longest })).await.is(201);

    for name in [json!(null), json!(""), json!(" "), json!(longer), json!("a\u{0}b"), json!(7)] {
        alice.post(PROJECTS, &json!({ "name": name })).await.is(400).names("name");
    }
}

async fn a_description_has_at_most_500_characters(app: App) {
    let alice = app.person("alice").await;
    let describe = |text: String| json!({ "name": "Web", "description": text });

    alice.post(PROJECTS, &describe("é".repeat(500))).await.is(201);

    alice.post(PROJECTS, &describe("é".repeat(501))).await.is(400).names("description");
}

async fn a_slug_is_made_of_the_name(app: App) {
    let alice = app.person("alice").await;
    let long = "x".repeat(100);
    let cut = "x".repeat(59);
    let names =
        [("Web API (v2)", "web-api-v2"), ("日本", "project"), ("--x--", "x"), (&long, &cut)];

    for (name, slug) in names {
        let project = alice.post(PROJECTS, &json!({ "name": name })).await.is(201).json();

        assert_eq!(project["slug"], slug, "{name}");
    }
}

async fn a_slug_that_is_taken_by_any_team_gets_four_letters(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    alice.project("Web").await;

    let second = bob.post(PROJECTS, &json!({ "name": "Web" })).await.is(201).json();

    let suffix = second["slug"].as_str().unwrap().strip_prefix("web-").unwrap();
    assert!(suffix.len() == 4 && suffix.chars().all(|c| c.is_ascii_lowercase()));
}

async fn a_slug_never_reads_as_a_uuid(app: App) {
    let alice = app.person("alice").await;
    let uuid = "0190f1f3-7b1c-7000-8000-000000000000";

    let named = alice.post(PROJECTS, &json!({ "name": uuid })).await.is(201).json();

    let slug = named["slug"].as_str().unwrap();
    assert!(slug.starts_with(uuid) && slug.len() == uuid.len() + 5, "{slug}");
    alice.post(PROJECTS, &json!({ "name": "Web", "slug": uuid })).await.is(400).names("slug");
}

async fn a_slug_is_never_that_of_a_deleted_environment(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let id = alice.environment(&web, "preview", None).await;
    let reserved = format!("deleted-{}", id.replace('-', ""));

    let given = alice.post(PROJECTS, &json!({ "name": "Web", "slug": reserved })).await;
    let named = alice.post(PROJECTS, &json!({ "name": reserved })).await.is(201).json();

    given.is(400).says("slug is taken already");
    let slug = named["slug"].as_str().unwrap();
    assert!(slug.starts_with(&reserved) && slug.len() == reserved.len() + 5, "{slug}");
    alice.delete(&paths::environment(&web, "preview")).await.is(204);
}

async fn a_slug_may_be_given(app: App) {
    let alice = app.person("alice").await;
    let longest = "s".repeat(64);

    for slug in ["shop", "a", "0", "a--b", longest.as_str()] {
        let project =
            alice.post(PROJECTS, &json!({ "name": "Web", "slug": slug })).await.is(201).json();

        assert_eq!(project["slug"], slug);
    }
}

async fn a_given_slug_is_lower_case_words(app: App) {
    let alice = app.person("alice").await;
    let long = "s".repeat(65);

    for slug in ["", "Web", "-web", "web-", "we_b", "we b", "wéb", "a/b", long.as_str()] {
        alice.post(PROJECTS, &json!({ "name": "Web", "slug": slug })).await.is(400).names("slug");
    }
}

async fn a_given_slug_that_is_taken_is_400(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    alice.project("Web").await;

    let reply = bob.post(PROJECTS, &json!({ "name": "Mine", "slug": "web" })).await;

    assert_eq!(
        reply.is(400).json(),
        json!({
            "error": "slug is taken already",
            "code": "already_exists",
            "details": { "fields": [{ "field": "slug", "message": "is taken already" }] },
        })
    );
    assert_eq!(bob.get(PROJECTS).await.is(200).json(), json!({ "projects": [] }));
}

/// Makes the database refuse the next two insertions into the table, as if the slugs were taken.
async fn refuse_two_insertions(app: &App, table: &str) {
    app.sql(&match app.kind {
        Kind::Postgres => format!(
            "CREATE TABLE refusals (number INT);
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF (SELECT COUNT(*) FROM refusals) < 2 THEN
                     INSERT INTO refusals VALUES (1);
                     RETURN NULL;
                 END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()"
        ),
        Kind::Sqlite | Kind::Memory => format!(
            "CREATE TABLE refusals (number);
             CREATE TRIGGER refuse BEFORE INSERT ON {table}
                 WHEN (SELECT COUNT(*) FROM refusals) < 2
                 BEGIN INSERT INTO refusals VALUES (1); SELECT RAISE(IGNORE); END"
        ),
    })
    .await;
}

async fn a_slug_is_generated_again_until_it_is_free(app: App) {
    for (table, path) in [("projects", PROJECTS), ("teams", "/api/v1/teams")] {
        let alice = app.person("alice").await;
        refuse_two_insertions(&app, table).await;

        let created = alice.post(path, &json!({ "name": "Web" })).await.is(201).json();

        let suffix = created["slug"].as_str().unwrap().strip_prefix("web-").unwrap();
        assert_eq!(suffix.len(), 4, "{created}");
        app.sql("DROP TABLE refusals").await;
        app.sql(if app.kind == Kind::Sqlite {
            "DROP TRIGGER refuse"
        } else {
            "DROP FUNCTION refuse CASCADE"
        })
        .await;
    }
}

mod taken {
    use super::*;

    on_sql_stores![a_slug_is_generated_again_until_it_is_free];
}

in_memory_and_on_postgres![
    a_created_project_is_answered,
    a_project_begins_with_three_environments,
    a_project_without_a_team_is_in_the_callers_own,
    any_member_of_the_team_may_create_one,
    another_or_unknown_team_is_403,
    a_team_has_at_most_1000_deleted_projects,
    a_team_that_is_no_uuid_is_400,
    a_project_has_a_name_of_1_to_100_characters,
    a_description_has_at_most_500_characters,
    a_slug_is_made_of_the_name,
    a_slug_that_is_taken_by_any_team_gets_four_letters,
    a_slug_never_reads_as_a_uuid,
    a_slug_is_never_that_of_a_deleted_environment,
    a_slug_may_be_given,
    a_given_slug_is_lower_case_words,
    a_given_slug_that_is_taken_is_400,
];
