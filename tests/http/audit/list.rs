//! Tests of reading the audit log.

use chrono::TimeDelta;
use secrets_core::model::{Role, TeamId, ids};
use secrets_tests::{App, Client, Person, on_every_store, paths};
use serde_json::{Value, json};

use super::{repeat_newest, team};

async fn world(app: &App) -> (Person, String) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["ONE", "TWO", "THREE"] {
        app.wait(TimeDelta::seconds(1));
        alice.secret(&web, "production", key, "kvc_value").await;
    }
    (alice, web)
}

/// Requests a page of the audit log with this query string.
async fn page(client: &Client, query: &str) -> Value {
    client.get(&format!("/api/v1/audit{query}")).await.is(200).json()
}

fn texts(page: &Value, field: &str) -> Vec<String> {
    let logs = page["logs"].as_array().unwrap();
    logs.iter().map(|entry| entry[field].as_str().unwrap_or_default().to_owned()).collect()
}

async fn the_newest_entries_come_first_with_all_fields_and_no_values(app: App) {
    let (alice, web) = world(&app).await;
    app.seal().await;

    let page = page(&alice, "").await;

    assert_eq!(page["limit"], 50);
    assert_eq!(page.get("next_cursor"), None);
    assert_eq!(texts(&page, "resource_name")[..3], ["THREE", "TWO", "ONE"]);
    let entry = &page["logs"][0];
    assert_eq!(entry["action"], "secret.created");
    assert_eq!(entry["actor_type"], "user");
    assert_eq!(entry["actor_id"], alice.id.as_str());
    assert_eq!(entry["actor_email"], "alice@example.com");
    assert_eq!(entry["team_id"], alice.team.as_str());
    assert!(web.ends_with(entry["project_id"].as_str().unwrap()));
    assert_eq!(entry["project_name"], "Web");
    assert_eq!(entry["environment_name"], "production");
    assert_eq!(entry["outcome"], "success");
    assert_eq!(entry["metadata"]["version"], 1);
    assert_eq!(entry["ip_address"], "127.0.0.1");
    assert_eq!(entry["created_at"], "2026-11-21T12:00:13Z");
    assert_eq!(entry["hash"].as_str().unwrap().len(), 64);
    assert_eq!(entry["prev_hash"], page["logs"][1]["hash"]);
    assert!(!page.to_string().contains("kvc_"));
}

async fn a_sign_in_is_recorded_in_the_personal_team(app: App) {
    let alice = app.person("alice").await;
    app.wait(TimeDelta::seconds(1));
    app.person("alice").await;

    assert_eq!(texts(&page(&alice, "").await, "action"), ["user.synced", "user.created"]);
}

async fn pages_lead_to_each_other_though_entries_come_meanwhile(app: App) {
    let (alice, web) = world(&app).await;
    let all = texts(&page(&alice, "").await, "id");
    let mut seen = Vec::new();
    let mut query = "?limit=2".to_owned();

    loop {
        let page = page(&alice, &query).await;
        seen.extend(texts(&page, "id"));
        assert_eq!(page["limit"], 2);
        app.wait(TimeDelta::seconds(1));
        alice.get(&paths::secret(&web, "production", "ONE")).await.is(200);
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=2&cursor={cursor}");
    }

    assert_eq!(seen, all);
}

async fn pages_miss_nothing_that_is_a_microsecond_apart(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    app.wait(TimeDelta::microseconds(123_456));
    for key in ["ONE", "TWO", "THREE", "FOUR"] {
        app.wait(TimeDelta::microseconds(1));
        alice.secret(&web, "production", key, "kvc_value").await;
    }

    for order in ["desc", "asc"] {
        let all = texts(&page(&alice, &format!("?order={order}")).await, "id");
        let mut seen = Vec::new();
        let mut query = format!("?order={order}&limit=1");
        while seen.len() <= all.len() {
            let page = page(&alice, &query).await;
            seen.extend(texts(&page, "id"));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            query = format!("?order={order}&limit=1&cursor={cursor}");
        }
        assert_eq!(seen, all, "{order}");
    }
}

async fn a_page_covers_a_part_of_the_log_and_its_cursor_goes_on(app: App) {
    let (alice, _) = world(&app).await;
    let ops = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).json();
    let ops: TeamId = ids::parse(ops["id"].as_str().unwrap()).unwrap().into();
    for (team, count) in [(team(&alice), 7_000), (ops, 4_000)] {
        repeat_newest(&app, team, count).await;
    }
    alice.secret(&alice.project("Api").await, "production", "ONE", "kvc_value").await;

    for (order, expected) in [("desc", ["Api", "Web"]), ("asc", ["Web", "Api"])] {
        let (mut pages, mut found) = (0, Vec::new());
        let mut query = format!("?key=ONE&order={order}");
        loop {
            let page = page(&alice, &query).await;
            (pages, found) = (pages + 1, [found, texts(&page, "project_name")].concat());
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            query = format!("?key=ONE&order={order}&cursor={cursor}");
        }
        assert_eq!(found, expected, "{order}");
        // 11,000 entries, at most 5,000 per page.
        assert!((3..=6).contains(&pages), "{pages} pages");
    }
}

async fn more_than_a_hundred_teams_are_not_read_at_once(app: App) {
    let alice = app.person("alice").await;
    for number in 1..=100 {
        let name = format!("Team {number}");
        alice.post("/api/v1/teams", &json!({ "name": name })).await.is(201);
    }

    let refused = alice.get("/api/v1/audit").await.is(400).json();

    assert_eq!(refused["details"]["fields"][0]["field"], "team_id");
    let one = format!("?team_id={}", alice.team);
    assert_eq!(texts(&page(&alice, &one).await, "action"), ["user.created"]);
}

async fn the_oldest_come_first_where_that_is_asked(app: App) {
    let (alice, _) = world(&app).await;
    let newest_first = texts(&page(&alice, "").await, "id");

    let mut oldest_first = texts(&page(&alice, "?order=asc").await, "id");

    oldest_first.reverse();
    assert_eq!(oldest_first, newest_first);
}

async fn filters_select_entries(app: App) {
    let (alice, web) = world(&app).await;
    app.wait(TimeDelta::seconds(5));
    let operator = alice.token(&serde_json::json!({ "all_projects": true })).await;
    app.bearer(&operator).get(&paths::eso_secret("web", "production", "TWO")).await.is(200);
    let project = paths::last(&web);

    for (query, expected) in [
        ("action=eso.secret_read".to_owned(), vec!["eso.secret_read"]),
        ("action=eso.*&action=token.created".to_owned(), vec!["eso.secret_read", "token.created"]),
        ("actor_type=service_token".to_owned(), vec!["eso.secret_read"]),
        ("key=TWO".to_owned(), vec!["eso.secret_read", "secret.created"]),
        ("resource_type=service_token".to_owned(), vec!["token.created"]),
        (format!("project_id={project}&action=project.*"), vec!["project.created"]),
        ("outcome=denied".to_owned(), vec![]),
        ("ip=127.0.0.1&action=token.*".to_owned(), vec!["token.created"]),
        ("ip=203.0.113.9".to_owned(), vec![]),
        (format!("actor_id={}&key=ONE", alice.id), vec!["secret.created"]),
        ("from=2026-11-21T12:00:14Z&action=token.*".to_owned(), vec!["token.created"]),
        ("to=2026-11-21T12:00:12Z&key=ONE".to_owned(), vec!["secret.created"]),
        ("to=2026-11-21T12:00:11Z&key=ONE".to_owned(), vec![]),
        (format!("team_id={}&action=token.*", alice.team), vec!["token.created"]),
    ] {
        let mut found = texts(&page(&alice, &format!("?{query}")).await, "action");
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
}

async fn a_query_covers_thirty_days_by_default(app: App) {
    let (alice, _) = world(&app).await;
    app.wait(TimeDelta::days(31));
    let later = app.bearer(&app.jwt("alice"));

    assert_eq!(texts(&page(&later, "").await, "id").len(), 0);
    assert_eq!(texts(&page(&later, "?from=2026-11-21T00:00:00Z").await, "id").len(), 5);
    drop(alice);
}

async fn a_filter_without_a_match_finds_nothing(app: App) {
    let alice = app.person("alice").await;

    for query in ["key=%00", "resource_type=%00", "key=%F0%9F%94%91"] {
        assert_eq!(texts(&page(&alice, &format!("?{query}")).await, "id").len(), 0, "{query}");
    }
    let far = "cursor=f_________8AAAAAAAAAAAAAAAAAAAAA";
    alice.get(&format!("/api/v1/audit?{far}")).await.is(400).names("cursor");
}

async fn an_invalid_parameter_is_named(app: App) {
    let alice = app.person("alice").await;

    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=x", "limit"),
        ("cursor=kvc_nonsense", "cursor"),
        ("from=yesterday", "from"),
        ("to=2026-13-01T00:00:00Z", "to"),
        ("order=up", "order"),
        ("format=xml", "format"),
        ("actor_id=me", "actor_id"),
        ("actor_type=robot", "actor_type"),
        ("outcome=maybe", "outcome"),
        ("ip=localhost", "ip"),
        ("action=secret*", "action"),
        ("action=Secret.read", "action"),
        ("action=", "action"),
        ("project_id=web", "project_id"),
        ("team_id=mine", "team_id"),
        ("key=KEY&resource_type=project", "resource_type"),
        ("limit=1&limit=2", "limit"),
    ] {
        let reply = alice.get(&format!("/api/v1/audit?{query}")).await;
        reply.is(400).names(field);
    }
}

async fn only_owners_and_admins_read_the_log_of_a_team(app: App) {
    let (alice, _) = world(&app).await;
    let (admin, member) = (app.person("admin").await, app.person("member").await);
    app.join(&alice.team, &admin.id, Role::Admin).await;
    app.join(&alice.team, &member.id, Role::Member).await;
    let path = format!("/api/v1/teams/{}/audit", alice.team);

    assert_eq!(admin.get(&path).await.is(200).json()["logs"][0]["resource_name"], "THREE");
    member.get(&format!("{path}?from=yesterday")).await.is(400).names("from");
    member.get(&path).await.is(403).code("forbidden");
    member.get(&format!("/api/v1/audit?team_id={}", alice.team)).await.is(403);
    member.get("/api/v1/audit").await.is(403).code("forbidden");
    let own = page(&member, &format!("?team_id={}", member.team)).await;
    assert_eq!(texts(&own, "action"), ["user.created"]);
    let both = page(&admin, "?key=ONE").await;
    assert_eq!(texts(&both, "action"), ["secret.created"]);
}

async fn a_log_can_be_had_as_lines(app: App) {
    let (alice, _) = world(&app).await;

    let reply = alice.get("/api/v1/audit?format=ndjson&limit=2").await;

    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> =
        reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["resource_name"], "THREE");
    let next = reply.header("x-next-cursor").unwrap();
    let rest = alice.get(&format!("/api/v1/audit?format=ndjson&cursor={next}")).await;
    assert!(rest.text().lines().next().unwrap().contains("\"ONE\""));
}

async fn a_log_can_be_had_as_a_table_without_formulas(app: App) {
    let alice = app.person("alice").await;
    alice.project("=HYPERLINK(\"x\"), \"quoted\"").await;

    let reply = alice.get("/api/v1/audit?format=csv&action=project.created").await;

    assert_eq!(reply.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let text = reply.text();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("id,team_id,project_id,project_name,"));
    assert!(lines.next().unwrap().contains(r#","'=HYPERLINK(""x""), ""quoted""","#), "{text}");
}

on_every_store!(
    the_newest_entries_come_first_with_all_fields_and_no_values,
    a_sign_in_is_recorded_in_the_personal_team,
    pages_lead_to_each_other_though_entries_come_meanwhile,
    pages_miss_nothing_that_is_a_microsecond_apart,
    a_page_covers_a_part_of_the_log_and_its_cursor_goes_on,
    more_than_a_hundred_teams_are_not_read_at_once,
    the_oldest_come_first_where_that_is_asked,
    filters_select_entries,
    a_query_covers_thirty_days_by_default,
    an_invalid_parameter_is_named,
    a_filter_without_a_match_finds_nothing,
    only_owners_and_admins_read_the_log_of_a_team,
    a_log_can_be_had_as_lines,
    a_log_can_be_had_as_a_table_without_formulas,
);
