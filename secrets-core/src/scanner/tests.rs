use serde_json::json;

use super::*;

/// Returns `count` characters of the alphabet in a pseudo-random order, without an obvious
/// repetition.
pub(super) fn draw(alphabet: &str, count: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        letters[(state >> 8) as usize % letters.len()]
    };
    (0..count).map(|_| next()).collect()
}

pub(super) const LETTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn github() -> String {
    format!("ghp_{}", draw(LETTERS, 36))
}

fn ids<'r>(found: &[Match<'r>]) -> Vec<&'r str> {
    found.iter().map(|found| found.rule.id()).collect()
}

fn file(rules: &serde_json::Value) -> RuleFile {
    serde_json::from_value(rules.clone()).unwrap()
}

fn refusal(rules: &serde_json::Value) -> String {
    Rules::with(file(rules)).unwrap_err().to_string()
}

#[test]
fn a_credential_is_found_where_it_is() {
    let text = format!("first\r\nschlüssel = {} # note\nlast", github());

    let found = scan(&text, "a.txt", Rules::built_in());

    assert_eq!(ids(&found), ["github-personal-access-token"]);
    assert_eq!((found[0].line, found[0].column), (2, 13));
    assert_eq!(text[found[0].span.clone()], github());
}

#[test]
fn several_credentials_come_in_the_order_of_the_text() {
    let text = format!("a={} b=sk_live_{} {}", github(), draw(LETTERS, 24), github());

    let found = scan(&text, "", Rules::built_in());

    let expected =
        ["github-personal-access-token", "stripe-live-key", "github-personal-access-token"];
    assert_eq!(ids(&found), expected);
}

#[test]
fn overlapping_matches_are_reported_once_by_the_more_specific_rule() {
    let text = format!("api_token = \"{}\"", github());

    assert_eq!(ids(&scan(&text, "", Rules::built_in())), ["github-personal-access-token"]);
}

#[test]
fn a_line_with_an_allow_comment_is_skipped() {
    for note in ["# secrets:allow", "// gitleaks:allow"] {
        let text = format!("a = {} {note}\nb = {}", github(), github());

        let found = scan(&text, "", Rules::built_in());

        assert_eq!(found.iter().map(|found| found.line).collect::<Vec<_>>(), [2]);
    }
}

#[test]
fn odd_texts_are_scanned_without_a_panic() {
    let long = "é".repeat(5_000) + &github() + &"ü".repeat(5_000);
    let token = "token=".repeat(3_000);
    for text in ["", "\n", "\r\n\r\n", "\0\u{1}", "key", "://", "é", long.as_str(), token.as_str()]
    {
        let found = scan(text, "ünï/日本.env", Rules::built_in());

        assert!(found.iter().all(|found| text.is_char_boundary(found.span.start)));
    }
    let apart = format!("{} {} {}", "é".repeat(5_000), github(), "ü".repeat(5_000));
    assert_eq!(scan(&apart, "", Rules::built_in()).len(), 1);
}

#[test]
fn a_private_key_of_many_lines_is_one_finding() {
    let body = draw(LETTERS, 64);
    let kind = "PRIVATE KEY-----";
    let text = format!("x\n-----BEGIN RSA {kind}\n{body}\n{body}\n-----END RSA {kind}\n");

    let found = scan(&text, "id_rsa", Rules::built_in());

    assert_eq!(ids(&found), ["private-key"]);
    assert_eq!(found[0].line, 2);
}

#[test]
fn a_putty_key_is_found_by_its_private_lines() {
    let lines = format!("{}\n", draw(LETTERS, 64)).repeat(3);
    let head = "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\n";
    let text =
        format!("{head}Public-Lines: 2\nAAAA\nBBBB\nPrivate-Lines: 3\n{lines}Private-MAC: 0");

    assert_eq!(ids(&scan(&text, "", Rules::built_in())), ["putty-private-key"]);
}

#[test]
fn custom_rules_are_added_and_replace_built_in_rules() {
    let rules = Rules::with(file(&json!({ "title": "ours", "rules": [
        { "id": "acme", "description": "Acme", "regex": "acme-([a-z]{4})-x", "keywords": ["ACME"],
          "severity": "high" },
        { "id": "github-personal-access-token", "description": "none", "regex": "nothing-like-it" },
    ] })))
    .unwrap();
    let text = format!("acme-abcd-x {} sk_live_{}", github(), draw(LETTERS, 24));

    let found = scan(&text, "", &rules);

    assert_eq!(ids(&found), ["acme", "stripe-live-key"]);
    assert_eq!(&text[found[0].span.clone()], "abcd");
    assert_eq!(found[0].rule.severity(), Severity::High);
}

#[test]
fn built_in_rules_can_be_turned_off() {
    let text = format!("{} sk_live_{}", github(), draw(LETTERS, 24));
    let own = json!([{ "id": "acme", "regex": "acme" }]);
    let alone = json!({ "rules": own.clone(), "extend": { "useDefault": false } });
    let without = json!({ "extend": { "disabledRules": ["stripe-live-key"] } });

    assert_eq!(ids(&scan(&text, "", &Rules::with(file(&alone)).unwrap())), [""; 0]);
    let found = Rules::with(file(&without)).unwrap();
    assert_eq!(ids(&scan(&text, "", &found)), ["github-personal-access-token"]);
}

#[test]
fn a_rule_may_ask_for_entropy_a_group_and_a_path() {
    let own = json!({ "extend": { "useDefault": false }, "rules": [
        { "id": "random", "regex": "(k)=(\\w{8})", "secretGroup": 2, "entropy": 2.5 },
        { "id": "env", "regex": "plain", "path": "\\.env$" },
        { "id": "keystore", "path": "\\.p12$" },
    ] });
    let rules = Rules::with(file(&own)).unwrap();

    assert_eq!(ids(&scan("k=aaaaaaaa k=a1b2c3d4 plain", "a.txt", &rules)), ["random"]);
    assert_eq!(ids(&scan("plain", "conf/.env", &rules)), ["env"]);
    assert_eq!(ids(&scan("", "store.p12", &rules)), ["keystore"]);
}

#[test]
fn allowlisted_matches_are_ignored() {
    let rule = |allowlist| {
        json!({ "extend": { "useDefault": false }, "rules": [
            { "id": "r", "regex": "key=(\\w+)", "allowlists": [allowlist] },
        ] })
    };
    let cases = [
        (json!({ "regexes": ["^abc$"] }), true),
        (json!({ "regexes": ["^key=abc$"], "regexTarget": "match" }), true),
        (json!({ "regexes": ["# ok$"], "regexTarget": "line" }), true),
        (json!({ "stopwords": ["AB"] }), true),
        (json!({ "paths": ["^test/"] }), true),
        (json!({ "paths": ["^test/"], "stopwords": ["ab"], "condition": "AND" }), true),
        (json!({ "paths": ["^src/"], "stopwords": ["ab"], "condition": "AND" }), false),
        (json!({ "regexes": ["^key=abc$"] }), false),
        (json!({}), false),
    ];

    for (allowlist, is_left_out) in cases {
        let rules = Rules::with(file(&rule(allowlist.clone()))).unwrap();
        let found = scan("x\nkey=abc # ok\ny", "test/a", &rules);
        assert_eq!(found.is_empty(), is_left_out, "{allowlist}");
    }
    let everywhere = json!({ "allowlist": { "paths": ["^test/"] } });
    let rules = Rules::with(file(&everywhere)).unwrap();
    assert!(scan(&github(), "test/a", &rules).is_empty());
    assert_eq!(scan(&github(), "src/a", &rules).len(), 1);
}

#[test]
fn a_bad_rule_is_named() {
    let one = |rule| json!({ "rules": [rule] });
    let cases = [
        (json!({ "regex": "a" }), "rule number 1: has no id"),
        (json!({ "id": "r" }), "rule r: has neither regex nor path"),
        (json!({ "id": "r", "regex": "(" }), "rule r: the expression is not valid: unclosed group"),
        (json!({ "id": "r", "regex": "\\w{1000}{1000}" }), "rule r: the expression is too large"),
        (
            json!({ "id": "r", "regex": "a", "secretGroup": 1 }),
            "rule r: secretGroup is not a group of its regex",
        ),
    ];

    for (rule, message) in cases {
        assert_eq!(refusal(&one(rule)), message);
    }
    let twice = json!({ "rules": [{ "id": "r", "regex": "a" }, { "id": "r", "regex": "b" }] });
    assert_eq!(refusal(&twice), "rule r: is defined twice");
    let backtracking = one(json!({ "id": "r", "regex": "(a)\\1" }));
    assert!(refusal(&backtracking).starts_with("rule r: the expression is not valid:"));
}

#[test]
fn a_credential_anywhere_on_a_long_line_is_found_whole() {
    for distance in [0, 500, 2_000, 4_060, 4_096, 5_000, 9_000] {
        let text = format!("ghp_ {} {}", "token ".repeat(distance / 6), github());

        let found = scan(&text, "", Rules::built_in());

        assert_eq!(found.len(), 1, "{distance}");
        assert_eq!(text[found[0].span.clone()], github(), "{distance}");
    }
}
