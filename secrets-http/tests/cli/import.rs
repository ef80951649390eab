//! Tests of the command `secrets import`.

use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use secrets_core::crypto::Plaintext;
use secrets_core::formats::Format;
use serde_json::{Map, Value, json};

use crate::project::Project;

/// Returns the path of a fixture: a file that contains exported secrets.
fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/fixtures")
        .join(name)
        .display()
        .to_string()
}

/// Imports a fixture with a detected format, and checks that the format `source` gives the same
/// result. Returns the imported values, and the text on standard error.
fn imported(source: &str, name: &str, options: &[&str]) -> (Value, String) {
    let project = Project::create();
    let file = fixture(name);
    let ended = project.run(&[&["import", &file][..], options].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let named =
        project.run(&[&["import", &file, "--from", source, "--expect-same"][..], options].concat());
    assert_eq!(named.code, Some(0), "{named:?}");
    (project.values("staging"), ended.stderr)
}

#[test]
fn vault_is_read_in_both_versions() {
    let expected = json!({ "DB_PASSWORD": "kvc_vault\nline", "DB_USER": "kvc_user" });

    assert_eq!(imported("vault", "vault-kv2.json", &[]).0, expected);
    assert_eq!(imported("vault", "vault-kv1.json", &[]).0, expected);
}

#[test]
fn numbers_of_vault_are_refused_unless_converted() {
    let project = Project::create();
    let file = fixture("vault-numbers.json");

    let ended = project.run(&["import", &file]);

    ended.fails(65, "2 of 3 entries are refused").fails(65, "DB_PORT: the value must be a text");
    assert_eq!(project.values("staging"), json!({}));
    project.run(&["import", &file, "--stringify"]).fails(65, "DB_OPTIONS: the value must be");
    project.ok(&["import", &file, "--stringify", "--only", "DB_[PU]*"]);
    assert_eq!(project.values("staging"), json!({ "DB_PORT": "5432", "DB_USER": "kvc_user" }));
}

#[test]
fn doppler_is_read_without_its_own_variables() {
    let (values, notes) = imported("doppler", "doppler.json", &[]);

    assert_eq!(values, json!({ "API_KEY": "kvc_doppler", "EMPTY": "" }));
    assert!(notes.contains("DOPPLER_CONFIG, DOPPLER_ENVIRONMENT, DOPPLER_PROJECT"), "{notes}");
}

#[test]
fn infisical_is_read_without_personal_overrides() {
    let (values, notes) = imported("infisical", "infisical.json", &[]);

    assert_eq!(values, json!({ "API_KEY": "kvc_shared", "DB_URL": "kvc_postgres://x" }));
    assert!(notes.contains("personal overrides: API_KEY"), "{notes}");
}

#[test]
fn keyenv_is_read_without_inherited_secrets_unless_asked() {
    let (values, notes) = imported("keyenv", "keyenv.json", &[]);
    assert_eq!(values, json!({ "API_KEY": "kvc_own" }));
    assert!(notes.contains("--flatten"), "{notes}");

    let expected = json!({ "API_KEY": "kvc_own", "DB_URL": "kvc_inherited" });
    assert_eq!(imported("keyenv", "keyenv.json", &["--flatten"]).0, expected);
    assert_eq!(imported("keyenv", "keyenv-data.json", &["--flatten"]).0, expected);
}

#[test]
fn phase_bws_sops_and_csv_are_read() {
    assert_eq!(imported("phase", "phase.json", &[]).0, json!({ "API_KEY": "kvc_phase" }));
    assert_eq!(imported("bws", "bws.json", &[]).0, json!({ "API_KEY": "kvc_bws", "B": "kvc_2" }));
    let sops = json!({ "API_KEY": "kvc_sops", "CERTIFICATE": "kvc_a\nb\n" });
    assert_eq!(imported("sops", "sops.yaml", &[]).0, sops);
    assert_eq!(imported("sops", "sops.json", &[]).0, sops);
    let csv = json!({ "A": "kvc_1", "B": "kvc_\"2\",\nx" });
    assert_eq!(imported("csv", "table.csv", &[]).0, csv);
}

#[test]
fn a_file_that_sops_has_encrypted_is_refused() {
    let project = Project::create();

    project
        .run(&["import", &fixture("sops-encrypted.yaml"), "--from", "sops"])
        .fails(65, "sops -d");
}

#[test]
fn labels_of_1password_are_renamed_by_a_map() {
    let project = Project::create();
    let file = fixture("1password.json");
    project.run(&["import", &file]).fails(65, "API token: the key");
    project.write("map.toml", "\"API token\" = \"API_TOKEN\"\npassword = \"PASSWORD\"\n");

    let ended = project.run(&["import", &file, "--map", "map.toml", "--prefix", "OP_"]);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("skipped fields without a value: notesPlain"), "{ended:?}");
    let expected =
        json!({ "OP_API_TOKEN": "kvc_token", "OP_PASSWORD": "kvc_pw", "OP_username": "kvc_me" });
    assert_eq!(project.values("staging"), expected);
}

#[test]
fn descriptions_are_imported() {
    let project = Project::create();

    project.ok(&["import", &fixture("bws.json")]);

    assert!(project.ok(&["list"]).contains("for the billing API"));
}

#[test]
fn existing_values_are_kept_unless_overwritten() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_old");
    project.create_secret("staging", "B", "kvc_same");
    project.write("new.env", "A=kvc_new\nB=kvc_same\nC=kvc_new\n");

    let plan = project.run(&["import", "new.env", "--dry-run"]);
    assert_eq!(plan.code, Some(0));
    assert!(plan.stderr.contains("+ C in staging: created"), "{plan:?}");
    assert!(plan.stderr.contains("are kept; --overwrite replaces them: A"), "{plan:?}");
    assert!(!plan.stderr.contains("A in staging"), "{plan:?}");
    assert_eq!(project.values("staging"), json!({ "A": "kvc_old", "B": "kvc_same" }));

    project.ok(&["import", "new.env"]);
    let expected = json!({ "A": "kvc_old", "B": "kvc_same", "C": "kvc_new" });
    assert_eq!(project.values("staging"), expected);
    project.ok(&["import", "new.env", "--overwrite"]);
    let expected = json!({ "A": "kvc_new", "B": "kvc_same", "C": "kvc_new" });
    assert_eq!(project.values("staging"), expected);
}

#[test]
fn an_import_that_would_change_nothing_is_expected_by_option() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.write("same.env", "A=kvc_1\n");
    project.write("other.env", "A=kvc_2\n");

    assert_eq!(project.run(&["import", "same.env", "--expect-same"]).code, Some(0));
    assert_eq!(project.run(&["import", "other.env", "--expect-same"]).code, Some(1));
    assert_eq!(project.values("staging"), json!({ "A": "kvc_1" }));
}

#[test]
fn a_refused_entry_stops_the_whole_import() {
    let project = Project::create();
    for (name, text, rule) in [
        ("twice.env", "A=kvc_1\nB=kvc_1\nA=kvc_2\n", "A: must appear only once"),
        ("line.env", "A=kvc_1\nkvc_nonsense\n", "line 2: must be KEY=value"),
        ("nested.json", "{\"A\": {\"B\": \"kvc_1\"}}", "must be a string"),
        ("list.json", "[1, 2]", "must be one flat object"),
        ("open.csv", "key,value\nA\n", "line 2"),
        ("long.csv", &format!("key,value\nA,kvc_{}\n", "x".repeat(65_536)), "A: the value"),
    ] {
        project.write(name, text);
        let ended = project.run(&["import", name]);
        assert!(!ended.fails(65, rule).stderr.contains("kvc_"), "{ended:?}");
    }
    project.run(&["import", "none.env"]).fails(66, "none.env");
    project.run(&["import"]).fails(65, "nothing to import");
    assert_eq!(project.values("staging"), json!({}));
}

#[test]
fn a_byte_order_mark_before_a_file_of_any_format_is_ignored() {
    let project = Project::create();
    project.write("marked.env", "\u{feff}A=kvc_1\nB=kvc_2\n");
    project.ok(&["import", "marked.env"]);

    for (source, text) in [
        ("auto", r#"{"A":"kvc_1","B":"kvc_2"}"#),
        ("json", r#"{"A":"kvc_1","B":"kvc_2"}"#),
        ("yaml", "A: kvc_1\nB: kvc_2\n"),
        ("csv", "key,value\nA,kvc_1\nB,kvc_2\n"),
        ("docker", "A=kvc_1\nB=kvc_2\n"),
        ("shell", "export A=kvc_1\nexport B=kvc_2\n"),
        ("vault", r#"{"data":{"data":{"A":"kvc_1","B":"kvc_2"},"metadata":{}}}"#),
    ] {
        let marked = format!("\u{feff}{text}");

        let ended = project.run_with(&["import", "--from", source, "--expect-same"], &marked);

        assert_eq!(ended.code, Some(0), "{source}: {ended:?}");
    }
}

#[test]
fn shell_syntax_other_than_assignments_is_refused() {
    let project = Project::create();
    for (text, rule) in [
        ("export A=kvc_1; export B=kvc_2\n", "line 1: must have no commands but"),
        ("export A=kvc_1\nexport B=$'kvc_x\\ny'\n", "line 2: must have no quotes after `$`"),
        ("export A=kvc_1\necho kvc_2\n", "line 2: must have no commands but"),
    ] {
        let ended = project.run_with(&["import", "--from", "shell"], text);
        assert!(!ended.fails(65, rule).stderr.contains("kvc_"), "{ended:?}");
    }
    assert_eq!(project.values("staging"), json!({}));

    let text = "export A=kvc_$HOME\r\nexport B='kvc_x\r\ny'\r\n";
    assert_eq!(project.run_with(&["import", "--from", "shell"], text).code, Some(0));
    assert_eq!(project.values("staging"), json!({ "A": "kvc_$HOME", "B": "kvc_x\ny" }));
}

#[test]
fn more_changes_than_a_set_holds_are_announced() {
    let project = Project::create();
    let lines: Vec<_> = (0..1_001).map(|number| format!("K{number}=kvc_{number}")).collect();

    let ended = project.run_with(&["import", "-"], &lines.join("\n"));

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("1001 changes are sent as 2 sets"), "{}", ended.stderr);
    assert_eq!(project.values("staging").as_object().unwrap().len(), 1_001);
}

#[test]
fn an_export_of_any_format_is_imported_unchanged() {
    let project = Project::create();
    let mut runner = TestRunner::deterministic();
    for format in Format::ALL {
        for case in 0..3 {
            let secrets = secrets(format).new_tree(&mut runner).unwrap().current();
            let (from, to) = (format!("{format}-from-{case}"), format!("{format}-to-{case}"));
            for name in [&from, &to] {
                project.api("POST", "/projects/web/environments", &json!({ "name": name }));
            }
            let given = Value::Object(secrets);
            let input = given.to_string();
            assert_eq!(project.run_with(&["-e", &from, "import"], &input).code, Some(0));

            let text = project.ok(&["-e", &from, "export", "--format", format.as_str()]);
            let ended = project.run_with(&["-e", &to, "import", "--from", format.as_str()], &text);

            assert_eq!(ended.code, Some(0), "{format}: {ended:?}\n{text}");
            assert_eq!(project.values(&to), given, "{format}\n{text}");
        }
    }
}

/// Generates sets of secrets that the format can represent, with values that are difficult to
/// parse.
fn secrets(format: Format) -> impl Strategy<Value = Map<String, Value>> {
    let pieces = prop::sample::select(vec![
        "'", "\"", "`", "$", "${A}", "\\", "\\n", "#", " #", "\n", "\r", "\t", " ", "=", ": ",
        "- ", "no", "null", "1e3", "é", "日本", "😀", "\u{2028}", "\u{feff}", "a", "B", "0",
    ]);
    let value =
        prop::collection::vec(pieces, 0..8).prop_map(|pieces| format!("kvc_{}", pieces.concat()));
    let fits = move |key: &String, value: &String| {
        let secret = (key.parse().unwrap(), Plaintext::new(value.clone()).unwrap());
        format.write(&[secret], &"x".parse().unwrap()).is_ok()
    };
    prop::collection::btree_map("[A-Z]{1,2}[A-Z0-9_]{2,8}", value, 10..30).prop_map(move |map| {
        let map = map.into_iter().filter(|(key, value)| fits(key, value));
        let mut map: Map<_, _> = map.map(|(key, value)| (key, Value::String(value))).collect();
        map.insert("ALWAYS".to_owned(), Value::from("kvc_1"));
        map
    })
}
