//! Tests of exports and imports in text formats.

use hyper::Method;
use secrets_tests::{App, Person, Reply, canary, in_memory, paths};
use serde_json::json;

async fn export(person: &Person, project: &str, query: &str) -> Reply {
    person.get(&paths::secret(project, "staging", &format!("export?{query}"))).await
}

async fn import(person: &Person, project: &str, query: &str, kind: &str, text: &str) -> Reply {
    let path = paths::secret(project, "staging", &format!("bulk{query}"));
    person.raw(Method::POST, &path, &[("content-type", kind)], text.to_owned()).await
}

async fn an_export_is_the_bare_text_in_its_own_type(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "A", "kvc_it's").await;
    alice.secret(&web, "staging", "B", "kvc_b c").await;
    let plain = "text/plain; charset=utf-8";
    let manifest = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: \"staging\"\ntype: Opaque\n\
                    data:\n  \"A\": \"a3ZjX2l0J3M=\"\n  \"B\": \"a3ZjX2IgYw==\"\n";

    for (format, media_type, text) in [
        ("dotenv", plain, "A=\"kvc_it's\"\nB='kvc_b c'\n"),
        ("docker", plain, "A=kvc_it's\nB=kvc_b c\n"),
        ("shell", plain, "export A=\"kvc_it's\"\nexport B='kvc_b c'\n"),
        ("json", "application/json", "{\n  \"A\": \"kvc_it's\",\n  \"B\": \"kvc_b c\"\n}\n"),
        ("yaml", "application/yaml", "\"A\": \"kvc_it's\"\n\"B\": \"kvc_b c\"\n"),
        (
            "csv",
            "text/csv; charset=utf-8; header=present",
            "key,value\r\nA,kvc_it's\r\nB,kvc_b c\r\n",
        ),
        ("k8s", "application/yaml", manifest),
    ] {
        let reply = export(&alice, &web, &format!("format={format}")).await;
        assert_eq!(reply.is(200).header("content-type"), Some(media_type), "{format}");
        assert_eq!(reply.text(), text, "{format}");
    }
}

async fn an_environment_without_secrets_is_an_empty_text(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for (format, text) in [
        ("dotenv", ""),
        ("docker", ""),
        ("shell", ""),
        ("json", "{}\n"),
        ("yaml", "{}\n"),
        ("csv", "key,value\r\n"),
    ] {
        let reply = export(&alice, &web, &format!("format={format}")).await;
        assert_eq!(reply.is(200).text(), text, "{format}");
    }
    assert!(export(&alice, &web, "format=k8s").await.text().ends_with("\ndata: {}\n"));
}

async fn hidden_secrets_are_in_no_text_and_inherited_ones_are(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    alice.secret(&web, "staging", "A", "kvc_a").await;
    alice.secret(&web, "staging", "B", "kvc_b").await;
    let hide = json!({ "key": "A", "hidden": true });
    alice.post(&paths::secrets(&web, "preview"), &hide).await.is(201);

    let reply = alice.get(&paths::secret(&web, "preview", "export?format=json")).await;

    assert_eq!(reply.is(200).json(), json!({ "B": "kvc_b" }));
}

async fn an_unknown_format_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for format in ["", "xml", "JSON", "dotenv%20"] {
        export(&alice, &web, &format!("format={format}")).await.is(400).names("format");
    }
    export(&alice, &web, "format=json&format=yaml").await.is(400).names("format");
}

async fn a_manifest_has_the_requested_name(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "QA_Two-", None).await;
    let path = paths::secret(&web, "QA_Two-", "export?format=k8s");

    assert!(alice.get(&path).await.is(200).text().contains("\n  name: \"qa-two\"\n"));
    let named = alice.get(&format!("{path}&name=web.secrets-1")).await;
    assert!(named.is(200).text().contains("\n  name: \"web.secrets-1\"\n"));
    for name in ["", "Web", "-a", "a..b", "a_b", "a%22%0Ax", &"a".repeat(254)] {
        alice.get(&format!("{path}&name={name}")).await.is(400).names("name");
    }
}

async fn an_unrepresentable_secret_is_refused_by_key_and_rule(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "FINE", "kvc_fine").await;
    alice.secret(&web, "staging", "dotted.key", "kvc_dotted").await;
    alice.secret(&web, "staging", "TWO_LINES", &format!("{}\nkvc_two", canary("lines"))).await;
    alice.secret(&web, "staging", "MIXED", "kvc_'$x").await;
    let text = "must be letters, digits and underscores in this format: no dots and no hyphens";
    let line = "must be one line in this format: Docker cannot read line breaks from a file";

    let docker = export(&alice, &web, "format=docker").await.is(400).json();
    assert_eq!(
        docker["details"]["fields"],
        json!([{ "field": "TWO_LINES", "key": "TWO_LINES", "message": line }])
    );
    let shell = export(&alice, &web, "format=shell").await.is(400).json();
    assert_eq!(
        shell["details"]["fields"],
        json!([{ "field": "dotted.key", "key": "dotted.key", "message": text }])
    );
    let dotenv = export(&alice, &web, "format=dotenv").await;
    dotenv.is(400).names("MIXED").names("dotted.key");
    assert!(!dotenv.text().contains("kvc_"), "{}", dotenv.text());
    for format in ["json", "yaml", "csv", "k8s"] {
        export(&alice, &web, &format!("format={format}")).await.is(200);
    }
}

async fn a_refusal_is_not_recorded_as_an_export(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "A", "kvc_two\nkvc_lines").await;

    export(&alice, &web, "format=docker").await.is(400);
    export(&alice, &web, "format=xml").await.is(400);
    export(&alice, &web, "format=shell").await.is(200);

    let entry = app.entry(&alice.team, "secrets.exported").await;
    assert_eq!(entry.metadata, r#"{"count":1,"format":"shell","inherited_count":0}"#);
}

async fn objects_are_imported_from_json_and_yaml(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let json = r#"{"A":"kvc_a","B":"kvc_\u0062\n"}"#;
    let yaml = "# ours\nA: kvc_new\nC: |\n  kvc_lines\n  more\nD: \"no\"\n";

    let first = import(&alice, &web, "?format=json", "application/json", json).await;
    assert_eq!(first.is(200).json(), json!({ "created": 2, "updated": 0, "skipped": 0 }));
    let second = import(&alice, &web, "?overwrite=true", "application/yaml", yaml).await;
    assert_eq!(second.is(200).json(), json!({ "created": 2, "updated": 1, "skipped": 0 }));

    let seen = export(&alice, &web, "format=json").await.is(200).json();
    let expected = json!({ "A": "kvc_new", "B": "kvc_b\n", "C": "kvc_lines\nmore\n", "D": "no" });
    assert_eq!(seen, expected);
    let third = import(&alice, &web, "?format=yaml", "text/plain", "A: kvc_x\n").await;
    assert_eq!(third.is(200).json(), json!({ "created": 0, "updated": 0, "skipped": 1 }));
    let fourth = import(&alice, &web, "?format=dotenv", "application/json", "E=kvc_e\n").await;
    assert_eq!(fourth.is(200).json(), json!({ "created": 1, "updated": 0, "skipped": 0 }));
}

async fn a_value_that_is_no_text_is_refused_by_key(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for value in ["1e3", "0x1", "~", "8080", "[kvc_list]", "{kvc_map: kvc_x}", "!!int 1"] {
        let text = format!("FINE: kvc_fine\nKEY: {value}\n");
        let reply = import(&alice, &web, "", "application/yaml", &text).await;
        reply.is(400);
        assert!(!reply.text().contains("kvc_"), "{}", reply.text());
    }
    for value in ["1", "true", "null", "[\"kvc_x\"]", "{\"kvc_a\":1}"] {
        let text = format!("{{\"FINE\":\"kvc_fine\",\"KEY\":{value}}}");
        let reply = import(&alice, &web, "?format=json", "application/json", &text).await;
        let fields = reply.is(400).json()["details"]["fields"].clone();
        let expected = json!([{
            "field": "secrets[1].value", "index": 1, "key": "KEY",
            "message": "must be a string: put it in quotes",
        }]);
        assert_eq!(fields, expected);
    }
    assert_eq!(export(&alice, &web, "").await.json(), json!({ "secrets": [] }));
}

async fn a_document_that_is_no_object_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let bomb = format!("a: &a kvc_x\n{}", "b: [*a,*a,*a,*a]\n".repeat(50));

    for (format, text) in [
        ("json", ""),
        ("json", "[]"),
        ("json", "\"kvc_text\""),
        ("json", "{\"A\":\"kvc_a\"} trailing"),
        ("json", "{\"A\":\"kvc_a\""),
        ("yaml", ""),
        ("yaml", "- kvc_list"),
        ("yaml", "A: kvc_a\n---\nB: kvc_b\n"),
        ("yaml", "A: \"kvc_open\n"),
        ("yaml", &bomb),
        ("json", "{}"),
        ("yaml", "{}"),
    ] {
        let query = format!("?format={format}");
        let reply = import(&alice, &web, &query, "text/plain", text).await;
        reply.is(400);
        assert!(!reply.text().contains("kvc_"), "{}", reply.text());
    }
    import(&alice, &web, "?format=toml", "text/plain", "").await.is(400).names("format");
    let twice = r#"{"A":"kvc_a","A":"kvc_b"}"#;
    import(&alice, &web, "?format=json", "text/plain", twice).await.is(400);
    let bad_key = r#"{"A":"kvc_a","1":"kvc_b"}"#;
    let reply = import(&alice, &web, "?format=json", "text/plain", bad_key).await;
    reply.is(400).code("invalid_key").names("secrets[1].key");
}

in_memory![
    an_export_is_the_bare_text_in_its_own_type,
    an_environment_without_secrets_is_an_empty_text,
    hidden_secrets_are_in_no_text_and_inherited_ones_are,
    an_unknown_format_is_400,
    a_manifest_has_the_requested_name,
    an_unrepresentable_secret_is_refused_by_key_and_rule,
    a_refusal_is_not_recorded_as_an_export,
    objects_are_imported_from_json_and_yaml,
    a_value_that_is_no_text_is_refused_by_key,
    a_document_that_is_no_object_is_400,
];
