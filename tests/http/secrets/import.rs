//! Tests of importing secrets.

mod dry_run;

use hyper::Method;
use secrets_tests::{App, Client, Person, Reply, canary, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

async fn import(person: &Person, project: &str, body: &Value) -> Reply {
    person.post(&paths::secret(project, "staging", "bulk"), body).await
}

async fn value(person: &Person, project: &str, key: &str) -> Value {
    let secret = person.get(&paths::secret(project, "staging", key)).await.is(200).json();
    secret["secret"]["value"].clone()
}

fn numbered(count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| json!({ "key": format!("K{number}"), "value": canary("bulk") }))
        .collect()
}

async fn an_import_creates_new_secrets(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let body = json!({ "secrets": [
        { "key": "A", "value": canary("a") },
        { "key": "B", "value": "", "description": "Empty" },
    ] });
    let reply = import(&alice, &web, &body).await;

    assert_eq!(reply.is(200).json(), json!({ "created": 2, "updated": 0, "skipped": 0 }));
    assert_eq!(value(&alice, &web, "A").await, canary("a"));
    let second = alice.get(&paths::secret(&web, "staging", "B")).await.is(200).json();
    assert_eq!(
        (&second["secret"]["value"], &second["secret"]["description"]),
        (&json!(""), &json!("Empty"))
    );
}

async fn without_overwrite_existing_secrets_are_skipped(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "A", "kvc_old").await;
    let secrets = json!([{ "key": "A", "value": "kvc_new" }, { "key": "B", "value": "kvc_b" }]);

    let first = import(&alice, &web, &json!({ "secrets": secrets })).await;
    let second = import(&alice, &web, &json!({ "secrets": secrets, "overwrite": false })).await;
    let third = import(&alice, &web, &json!({ "secrets": secrets, "overwrite": null })).await;

    assert_eq!(first.is(200).json(), json!({ "created": 1, "updated": 0, "skipped": 1 }));
    let skipped = json!({ "created": 0, "updated": 0, "skipped": 2 });
    assert_eq!([second.is(200).json(), third.is(200).json()], [skipped.clone(), skipped]);
    assert_eq!(value(&alice, &web, "A").await, "kvc_old");
}

async fn with_overwrite_existing_secrets_are_updated(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let described = json!({ "key": "A", "value": "kvc_old", "description": "Mine" });
    alice.post(&paths::secrets(&web, "staging"), &described).await.is(201);

    let body = json!({ "overwrite": true, "secrets": [
        { "key": "A", "value": "kvc_new" },
        { "key": "B", "value": "kvc_b" },
    ] });
    let reply = import(&alice, &web, &body).await;

    assert_eq!(reply.is(200).json(), json!({ "created": 1, "updated": 1, "skipped": 0 }));
    let secret =
        alice.get(&paths::secret(&web, "staging", "A")).await.is(200).json()["secret"].clone();
    assert_eq!((&secret["value"], &secret["version"]), (&json!("kvc_new"), &json!(2)));
    assert_eq!(secret["description"], "Mine");
}

async fn an_overwritten_description_is_the_one_given(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let described = json!({ "key": "A", "value": "kvc_old", "description": "Old" });
    alice.post(&paths::secrets(&web, "staging"), &described).await.is(201);

    let body = json!({ "overwrite": true, "secrets": [
        { "key": "A", "value": "kvc_new", "description": "New" },
    ] });
    import(&alice, &web, &body).await.is(200);

    let secret = alice.get(&paths::secret(&web, "staging", "A")).await.is(200).json();
    assert_eq!(secret["secret"]["description"], "New");
}

async fn an_overwrite_ends_hiding_and_a_skip_does_not(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let hide = json!({ "key": "A", "hidden": true });
    alice.post(&paths::secrets(&web, "staging"), &hide).await.is(201);
    let secrets = json!([{ "key": "A", "value": "kvc_a" }]);

    import(&alice, &web, &json!({ "secrets": secrets })).await.is(200);
    alice.get(&paths::secret(&web, "staging", "A")).await.is(404);
    import(&alice, &web, &json!({ "secrets": secrets, "overwrite": true })).await.is(200);

    assert_eq!(value(&alice, &web, "A").await, "kvc_a");
}

async fn an_inherited_key_is_new(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("staging")).await;
    alice.secret(&web, "staging", "A", "kvc_parent").await;

    let body = json!({ "secrets": [{ "key": "A", "value": "kvc_child" }] });
    let reply = alice.post(&paths::secret(&web, "child", "bulk"), &body).await;

    assert_eq!(reply.is(200).json(), json!({ "created": 1, "updated": 0, "skipped": 0 }));
    assert_eq!(value(&alice, &web, "A").await, "kvc_parent");
}

async fn an_import_takes_1_to_100_secrets(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let none = import(&alice, &web, &json!({ "secrets": numbered(0) })).await;
    let many = import(&alice, &web, &json!({ "secrets": numbered(101) })).await;

    none.is(400).code("invalid_request").says("secrets must be 1 to 100 secrets");
    let message = "secrets must be 1 to 100 secrets: import more in pieces of 100";
    many.is(400).code("invalid_request").says(message);
    let list = alice.get(&paths::secrets(&web, "staging")).await.is(200).json();
    assert_eq!(list, json!({ "secrets": [] }));

    let reply = import(&alice, &web, &json!({ "secrets": numbered(100) })).await;
    assert_eq!(reply.is(200).json(), json!({ "created": 100, "updated": 0, "skipped": 0 }));
}

async fn a_key_given_twice_is_400_and_named_with_its_place(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let body = json!({ "secrets": [
        { "key": "A", "value": "kvc_1" },
        { "key": "B", "value": "kvc_2" },
        { "key": "A", "value": "kvc_1" },
    ] });
    let reply = import(&alice, &web, &body).await;

    let message = "is given more than once";
    assert_eq!(
        reply.is(400).json(),
        json!({
            "error": format!("secrets[2].key {message}"),
            "code": "invalid_request",
            "details": { "fields": [
                { "field": "secrets[2].key", "message": message, "index": 2, "key": "A" },
            ] },
        })
    );
    alice.get(&paths::secret(&web, "staging", "B")).await.is(404);
}

async fn one_bad_secret_refuses_all_and_is_named_with_its_place(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let bad = [
        ("secrets[1].value", json!({ "key": "B", "value": 7 })),
        ("secrets[1].value", json!({ "key": "B", "value": null })),
        ("secrets[1].value", json!({ "key": "B" })),
        ("secrets[1].key", json!({ "value": "kvc_b" })),
        ("secrets[1].description", json!({ "key": "B", "value": "kvc_b", "description": 7 })),
    ];

    for (field, bad) in bad {
        let body = json!({ "secrets": [{ "key": "A", "value": "kvc_a" }, bad] });
        let reply = import(&alice, &web, &body).await;

        reply.is(400).code("invalid_request").names(field);
        assert_eq!(reply.json()["details"]["fields"][0]["index"], 1);
    }
    alice.get(&paths::secret(&web, "staging", "A")).await.is(404);
}

async fn all_broken_rules_are_reported_without_values(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let long = format!("kvc_{}", "x".repeat(65_533));

    let body = json!({ "secrets": [
        { "key": "A", "value": "kvc_a" },
        { "key": "B", "value": long, "description": format!("kvc_{}", "d".repeat(500)) },
        { "key": "1 kvc_c", "value": "kvc_c" },
        { "key": "bulk", "value": "kvc_d" },
    ] });
    let reply = import(&alice, &web, &body).await;

    let (value, description) = (
        "must be at most 65536 bytes of UTF-8",
        "must be at most 500 characters without control or invisible characters",
    );
    let key = "must be 1 to 255 letters, digits, underscores, dots and hyphens, and begin with a letter or underscore";
    let reserved = "must not be `export` or `bulk`, which the interface uses itself";
    assert_eq!(
        reply.is(400).json(),
        json!({
            "error": format!("secrets[1].value {value} (and 3 more)"),
            "code": "value_too_large",
            "details": { "fields": [
                { "field": "secrets[1].value", "message": value, "index": 1, "key": "B" },
                { "field": "secrets[1].description", "message": description, "index": 1, "key": "B" },
                { "field": "secrets[2].key", "message": key, "index": 2 },
                { "field": "secrets[3].key", "message": reserved, "index": 3 },
            ] },
        })
    );
    alice.get(&paths::secret(&web, "staging", "A")).await.is(404);
}

async fn at_most_100_broken_rules_are_reported(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let bad: Vec<_> = (0..500).map(|_| json!({ "key": "1", "value": "kvc_x" })).collect();

    let reply = import(&alice, &web, &json!({ "secrets": bad })).await;

    let fields = reply.is(400).code("invalid_key").json()["details"]["fields"].clone();
    assert_eq!(fields.as_array().unwrap().len(), 100);
}

async fn secrets_are_a_list_of_objects(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let lists = [
        json!({}),
        json!({ "secrets": null }),
        json!({ "secrets": { "A": "kvc_a" } }),
        json!({ "secrets": "A=kvc_a" }),
        json!({ "secrets": [["A", "kvc_a", null]] }),
        json!({ "secrets": ["A"] }),
        json!([[{ "key": "A", "value": "kvc_a" }], true]),
        json!({ "secrets": [{ "key": "A", "value": "kvc_a" }], "overwrite": "yes" }),
    ];

    for body in lists {
        let reply = import(&alice, &web, &body).await;
        reply.is(400).code("invalid_request");
    }
    alice.get(&paths::secret(&web, "staging", "A")).await.is(404);
}

async fn a_dotenv_file_is_imported_as_text(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bulk");
    let text = [("content-type", "text/plain; charset=utf-8")];
    alice.secret(&web, "staging", "A", "kvc_old").await;

    let file = "# comment\nexport A=kvc_a # trailing\nB=\"kvc_b\\nline\"\nC='kvc_$c'\n";
    let skipped = alice.raw(Method::POST, &path, &text, file).await;
    let updated = alice.raw(Method::POST, &format!("{path}?overwrite=true"), &text, file).await;

    assert_eq!(skipped.is(200).json(), json!({ "created": 2, "updated": 0, "skipped": 1 }));
    assert_eq!(updated.is(200).json(), json!({ "created": 0, "updated": 3, "skipped": 0 }));
    assert_eq!(value(&alice, &web, "A").await, "kvc_a");
    assert_eq!(value(&alice, &web, "B").await, "kvc_b\nline");
    assert_eq!(value(&alice, &web, "C").await, "kvc_$c");
}

async fn a_bad_line_of_a_dotenv_file_is_named_and_not_shown(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bulk");
    let text = [("content-type", "text/plain")];

    let reply = alice.raw(Method::POST, &path, &text, "A=kvc_a\nkvc_nonsense\n").await;
    let query = alice.raw(Method::POST, &format!("{path}?overwrite=yes"), &text, "A=kvc_a").await;

    reply.is(400).code("invalid_request").says("body line 2: must be KEY=value");
    query.is(400).says("overwrite must be true or false");
    alice.get(&paths::secret(&web, "staging", "A")).await.is(404);
}

async fn an_import_needs_the_permission_to_write(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let body = json!({ "secrets": [{ "key": "A", "value": "kvc_a" }] });
    let (path, too_many) =
        (paths::secret(&web, "staging", "bulk"), json!({ "secrets": numbered(101) }));

    reader.post(&path, &body).await.is(403).says("this token may not write");
    bob.post(&path, &body).await.is(403);
    // The number of secrets is checked after the permission.
    reader.post(&path, &too_many).await.is(403);
    alice.post(&paths::secret(&web, "none", "bulk"), &too_many).await.is(404);
}

in_memory_and_on_postgres![
    an_import_creates_new_secrets,
    without_overwrite_existing_secrets_are_skipped,
    with_overwrite_existing_secrets_are_updated,
    an_overwritten_description_is_the_one_given,
    an_overwrite_ends_hiding_and_a_skip_does_not,
    an_inherited_key_is_new,
    an_import_takes_1_to_100_secrets,
    a_key_given_twice_is_400_and_named_with_its_place,
    one_bad_secret_refuses_all_and_is_named_with_its_place,
    all_broken_rules_are_reported_without_values,
    at_most_100_broken_rules_are_reported,
    secrets_are_a_list_of_objects,
    a_dotenv_file_is_imported_as_text,
    a_bad_line_of_a_dotenv_file_is_named_and_not_shown,
    an_import_needs_the_permission_to_write,
];
