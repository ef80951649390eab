//! Tests of the command `secrets scan`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::home::{Ended, Home};
use crate::repository::credential;
use crate::server::Server;

fn found(ended: &Ended) -> Vec<(String, u64)> {
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let place = |finding: &Value| {
        (finding["path"].as_str().unwrap().to_owned(), finding["line"].as_u64().unwrap())
    };
    findings.iter().map(place).collect()
}

#[test]
fn files_are_scanned_except_those_that_gitignore_names() {
    let home = Home::with_repository();
    home.write(".gitignore", "*.log\n");
    home.write(".env", &format!("A=1\nTOKEN={}\n", credential(1)));
    home.write("src/a.rs", &format!("let token = \"{}\";\n", credential(2)));
    home.write("debug.log", &credential(3));
    home.write("allowed.txt", &format!("{} # secrets:allow\n", credential(4)));

    let ended = home.run(&["-o", "json", "scan"]);

    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(found(&ended), [(".env".to_owned(), 2), ("src/a.rs".to_owned(), 1)]);
    home.run(&["scan", "debug.log"]).fails(1, "1 found");
}

#[test]
fn no_report_contains_a_credential() {
    let home = Home::new();
    let credential = credential(1);
    home.write("a", &credential);

    for format in ["text", "json", "sarif", "csv"] {
        let ended = home.run(&["-v", "scan", "--format", format]);

        assert_eq!(ended.code, Some(1));
        assert!(ended.stdout.contains("github-personal-access-token"), "{ended:?}");
        let shown = ended.stdout + &ended.stderr;
        assert!(!shown.contains(&credential[..12]), "{shown}");
    }
}

#[test]
fn a_scan_of_nothing_fails_unless_that_is_allowed() {
    let home = Home::with_repository();

    home.run(&["scan"]).fails(66, "nothing was scanned");
    home.run(&["scan", "--staged"]).fails(66, "--allow-empty");
    home.run(&["scan", "--history"]).fails(66, "nothing was scanned");
    home.run(&["scan", "--stdin"]).fails(66, "nothing was scanned");
    home.ok(&["scan", "--staged", "--allow-empty"]);
    home.run(&["scan", "none"]).fails(66, "none: ");
}

#[test]
fn binary_and_large_files_are_skipped_and_counted() {
    let home = Home::new();
    home.write("binary", &format!("\0{}", credential(1)));
    home.write("large", &format!("{}{}", credential(2), " ".repeat(2_000)));
    home.write("small", "nothing\n");

    let ended = home.run(&["scan", "--max-size", "1k"]);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("1 text scanned, 1 binary, 1 too large"), "{ended:?}");
}

#[test]
fn a_text_that_is_not_utf_8_is_scanned() {
    let home = Home::new();
    std::fs::write(home.path("latin"), [b"\xe9\n", credential(1).as_bytes()].concat()).unwrap();

    assert_eq!(home.run(&["scan"]).code, Some(1));
}

#[test]
fn standard_input_is_scanned() {
    let home = Home::new();

    let ended = home.run_with(&["scan", "--stdin"], &format!("a\nb {}\n", credential(1)));

    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.starts_with("-:2:3: "), "{ended:?}");
    let ended = home.run_with(&["scan", "--stdin", "--max-size", "10"], "0123456789a");
    ended.fails(65, "at most 10 bytes");
}

#[test]
fn only_added_lines_of_the_index_are_scanned() {
    let home = Home::with_repository();
    home.write("old name \"ü\".txt", &format!("first\n{}\nlast\n", credential(1)));
    home.git(&["add", "."]);
    home.git(&["commit", "-qm", "old"]);
    home.write("old name \"ü\".txt", &format!("first\n{}\nlast\nadded\n", credential(1)));
    home.git(&["add", "."]);
    home.write("unstaged", &credential(2));
    home.ok(&["scan", "--staged"]);
    let text = format!("first\n{}\nlast\nadded\n{}\n", credential(1), credential(3));
    home.write("old name \"ü\".txt", &text);
    home.git(&["add", "old name \"ü\".txt"]);
    home.write("old name \"ü\".txt", "changed again\n");

    let ended = home.run(&["-o", "json", "scan", "--staged"]);

    assert_eq!(found(&ended), [("old name \"ü\".txt".to_owned(), 5)]);
}

#[test]
fn added_lines_complete_a_credential_of_several_lines() {
    let home = Home::with_repository();
    let key = |body: &str| {
        format!("-----BEGIN {0} KEY-----\n{body}\n-----END {0} KEY-----\n", "RSA PRIVATE")
    };
    home.write("key", &key("kvc"));
    home.git(&["add", "."]);
    home.git(&["commit", "-qm", "old"]);
    home.write("key", &key(&credential(1).replace('_', "/").repeat(4)));
    home.git(&["add", "."]);

    let ended = home.run(&["-o", "json", "scan", "--staged"]);

    assert_eq!(found(&ended), [("key".to_owned(), 1)], "{ended:?}");
}

#[test]
fn attributes_exclude_no_files_of_the_index() {
    let home = Home::with_repository();
    home.write(".gitattributes", "a -diff\nb binary\n");
    home.write("a", &credential(1));
    home.write("b", &credential(2));
    home.git(&["add", "."]);

    let ended = home.run(&["-o", "json", "scan", "--staged"]);

    assert_eq!(found(&ended), [("a".to_owned(), 1), ("b".to_owned(), 1)], "{ended:?}");
}

#[test]
fn each_credential_of_a_long_history_is_found_once_with_its_oldest_commit() {
    const COMMITS: u64 = 10_000;
    let home = Home::with_repository();
    let planted = [7, 500, 1_234, 5_000, 9_998];
    let mut input = String::new();
    for number in 1..=COMMITS {
        let path = format!("folder {}/file{}", number % 7, number % 100);
        let mut text = format!("line\nversion {number}\n");
        if planted.contains(&number) {
            writeln!(text, "token = {}", credential(number)).unwrap();
        }
        writeln!(input, "commit refs/heads/main\ncommitter a <a@b> {} +0000", 1_000_000 + number)
            .unwrap();
        let message = format!("{number}");
        writeln!(input, "data {}\n{message}", message.len()).unwrap();
        writeln!(input, "M 100644 inline {path}\ndata {}\n{text}", text.len()).unwrap();
    }
    home.fast_import(&input);

    let ended = home.run(&["-o", "json", "scan", "--history"]);

    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let messages = findings.iter().map(|finding| {
        home.git(&["log", "-1", "--format=%s", finding["commit"].as_str().unwrap()])
    });
    let messages: Vec<u64> = messages.map(|text| text.trim().parse().unwrap()).collect();
    assert_eq!(messages, planted);
    assert_eq!(report["scanned"]["texts"], COMMITS);
    assert_eq!(ended.code, Some(1));
}

#[test]
fn a_range_limits_the_history() {
    let home = Home::with_repository();
    for number in 1..=3 {
        home.write("file", &credential(number));
        home.git(&["add", "."]);
        home.git(&["commit", "-qm", "next"]);
    }

    let ended = home.run(&["-o", "json", "scan", "--history", "HEAD~2..HEAD"]);
    assert_eq!(found(&ended).len(), 2);
    home.run(&["scan", "--history", "none..HEAD"]).fails(66, "git: ");
    home.run(&["scan", "--history=--output=x"]).fails(64, "must not begin");
    assert!(!home.path("x").exists());
}

#[test]
fn outside_of_a_repository_staged_and_history_fail() {
    let home = Home::new();

    home.run(&["scan", "--staged"]).fails(66, "git: ");
    home.run(&["scan", "--history"]).fails(66, "not a git repository");
}

#[test]
fn a_baseline_accepts_findings_and_has_no_credential() {
    let home = Home::with_repository();
    home.write("secrets-project.toml", "[scan]\nbaseline = \"scan-baseline.json\"\n");
    home.write("a", &credential(1));
    home.run(&["scan"]).fails(66, "--update-baseline");

    home.ok(&["scan", "--update-baseline"]);

    let baseline = std::fs::read_to_string(home.path("scan-baseline.json")).unwrap();
    assert!(!baseline.contains(&credential(1)[..12]));
    home.ok(&["scan"]);
    home.write("a", &format!("moved\n{}\n", credential(1)));
    home.ok(&["scan"]);
    home.write("b", &credential(2));
    assert_eq!(found(&home.run(&["-o", "json", "scan"])), [("b".to_owned(), 1)]);
    home.write("scan-baseline.json", "{}");
    home.run(&["scan"]).fails(65, "must be a baseline");
}

#[test]
fn the_project_file_excludes_files_and_adds_rules() {
    let home = Home::with_repository();
    home.write(
        "secrets-project.toml",
        "[scan]\nexclude = [\"fixtures/**\"]\nrules = \"rules.toml\"\n",
    );
    home.write(
        "rules.toml",
        "[[rules]]\nid = \"own\"\nregex = \"OWN-[0-9]{6}\"\nkeywords = [\"OWN-\"]\n",
    );
    home.write("fixtures/deep/a", &credential(1));
    home.write("b", "OWN-428173\n");
    home.git(&["add", "."]);

    for arguments in [&["-o", "json", "scan"][..], &["-o", "json", "scan", "--staged"]] {
        let ended = home.run(arguments);
        assert_eq!(found(&ended), [("b".to_owned(), 1)]);
        assert!(ended.stdout.contains("\"rule_id\": \"own\""));
    }
    home.write("rules.toml", "[[rules]]\nid = \"own\"\nregex = \"(\"\n");
    home.run(&["scan"]).fails(65, "rules.toml");
}

#[test]
fn options_replace_the_rules_and_the_baseline_of_the_project_file() {
    let home = Home::with_repository();
    let file = "[scan]\nrules = \"none.toml\"\nbaseline = \"none.json\"\n";
    home.write("secrets-project.toml", file);
    let rule = "[[rules]]\nid = \"own\"\nregex = \"OWN-[0-9]{6}\"\nkeywords = [\"OWN-\"]\n";
    home.write("rules.toml", rule);
    home.write("b", "OWN-428173\n");
    let options = ["-o", "json", "scan", "--rules", "rules.toml", "--baseline", "accepted.json"];

    home.run(&["scan", "--rules", "rules.toml"]).fails(66, "none.json");
    home.run(&["scan", "--baseline", "accepted.json"]).fails(66, "none.toml");
    home.run(&options).fails(66, "accepted.json");
    home.ok(&[&options[..], &["--update-baseline"]].concat());

    home.ok(&options);
    home.write("c", "OWN-550912\n");
    assert_eq!(found(&home.run(&options)), [("c".to_owned(), 1)]);
    assert!(!home.path("none.json").exists());
}

#[test]
fn paths_are_relative_to_the_repository() {
    let home = Home::with_repository();
    home.write("folder/a", &credential(1));
    let mut command = home.command(["-o", "json", "scan", "."]);
    command.current_dir(home.path("folder"));

    let ended = crate::home::ended(command, "");

    assert_eq!(found(&ended), [("folder/a".to_owned(), 1)]);
}

#[test]
fn a_sarif_report_has_the_required_structure() {
    let home = Home::new();
    home.write("a b/ü", &format!("{}\n{}\n", credential(1), credential(2)));

    let ended = home.run(&["scan", "--format", "sarif"]);

    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["version"], "2.1.0");
    let run = &report["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "secrets");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 1);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for (line, result) in (1..).zip(results) {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].is_string());
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%BC");
        assert_eq!(place["region"], json!({ "startLine": line, "startColumn": 1 }));
    }
    let fingerprints: BTreeSet<_> =
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect();
    assert_eq!(fingerprints.len(), 2);
    home.write("a b/ü", "nothing\n");
    let empty: Value = serde_json::from_str(&home.ok(&["scan", "--format", "sarif"])).unwrap();
    assert_eq!(empty["runs"][0]["results"], json!([]));
}

#[test]
fn own_values_are_found_by_the_service() {
    let server = Server::start();
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    let value = "kvc_9876543210abcdefghijkl";
    let secrets = "/projects/web/environments/staging/secrets";
    home.api("POST", secrets, &json!({ "key": "PASSWORD", "value": value }));
    home.write("notes.txt", &format!("one\ntwo {value}\n"));
    home.ok(&["scan"]);

    let ended = home.run(&["-o", "json", "scan", "--own-values"]);

    assert_eq!(found(&ended), [("notes.txt".to_owned(), 2)], "{ended:?}");
    assert!(ended.stdout.contains("\"secret_key\": \"PASSWORD\""));
    assert!(ended.stderr.contains("are sent to http://127.0.0.1"), "{ended:?}");
    assert!(!ended.stdout.contains("kvc_"));
}

#[test]
fn only_added_lines_are_sent_to_the_service() {
    let server = Server::start();
    let repository = Home::with_repository();
    let home = repository.with("SECRETS_URL", &server.url).with("SECRETS_TOKEN", &server.token);
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    let secrets = "/projects/web/environments/staging/secrets";
    home.api("POST", secrets, &json!({ "key": "OLD", "value": "kvc_0123401234abcdefghijkl" }));
    home.api("POST", secrets, &json!({ "key": "NEW", "value": "kvc_9876543210abcdefghijkl" }));
    home.write("a", "kvc_0123401234abcdefghijkl\n");
    home.git(&["add", "."]);
    home.git(&["commit", "-qm", "old"]);
    home.write("a", "kvc_0123401234abcdefghijkl\nkvc_9876543210abcdefghijkl\n");
    home.git(&["add", "."]);

    let ended = home.run(&["-o", "json", "scan", "--staged", "--own-values"]);

    assert_eq!(found(&ended), [("a".to_owned(), 2)], "{ended:?}");
    assert!(ended.stdout.contains("NEW"));
}

#[test]
fn the_progress_of_the_history_is_shown_on_a_terminal_only() {
    let home = Home::with_repository();
    home.write("a", "text\n");
    home.git(&["add", "."]);
    home.git(&["commit", "-qm", "first"]);
    let program = env!("CARGO_BIN_EXE_secrets");

    let piped = home.run(&["scan", "--history"]);
    let command = format!("{program} scan --history");
    let home = home.with("TERM", "xterm");
    let terminal = home.program("script", ["-qec", &command, "/dev/null"]);
    let terminal = crate::home::ended(terminal, "");

    assert_eq!(piped.stderr, "1 text scanned\n");
    assert_eq!(terminal.code, Some(0), "{terminal:?}");
    assert!(terminal.stdout.contains("/1 commits"), "{terminal:?}");
}
