//! Tests of invalid settings. The errors name the setting and the violated rule, but never contain
//! the value.

use super::*;

/// Returns the failure of `serve` with these arguments, and with the required variables changed by
/// `others`.
fn refusal(line: &str, others: &[&str]) -> Failure {
    served(line, others).map(|settings| format!("{settings:?}")).unwrap_err()
}

fn message(line: &str, others: &[&str]) -> String {
    let failure = refusal(line, others);
    assert_eq!(failure.code, Exit::Configuration, "{failure}");
    assert!(!failure.message.contains("kvc_") && !failure.message.contains('\n'), "{failure}");
    failure.message
}

#[test]
fn missing_required_settings_are_named() {
    let cases = [
        ("SECRETS_DATABASE_URL=", "SECRETS_DATABASE_URL is not set: give sqlite://PATH"),
        ("SECRETS_ROOT_KEY=", "SECRETS_ROOT_KEY is not set: give 32 bytes in base64"),
        ("SECRETS_JWT_ISSUER=", "SECRETS_JWT_ISSUER is not set: give the issuer"),
        ("SECRETS_JWT_AUDIENCE=", "SECRETS_JWT_AUDIENCE is not set: give the audience"),
    ];

    for (without, expected) in cases {
        assert!(message("", &[without]).starts_with(expected), "{without}");
    }
}

#[test]
fn a_value_that_breaks_its_rule_is_not_repeated() {
    let cases = [
        ("SECRETS_LISTEN=kvc_", "SECRETS_LISTEN must be an address and a port"),
        ("SECRETS_LISTEN=example.com:80", "SECRETS_LISTEN must be an address and a port"),
        ("SECRETS_LISTEN=:8080", "SECRETS_LISTEN must be an address and a port"),
        ("SECRETS_DATABASE_URL=kvc_", "SECRETS_DATABASE_URL must be sqlite://PATH, postgres://"),
        ("SECRETS_DATABASE_URL=mysql://kvc_", "SECRETS_DATABASE_URL must be sqlite://PATH"),
        ("SECRETS_DATABASE_URL=sqlite://", "SECRETS_DATABASE_URL must name a file"),
        (
            "SECRETS_DATABASE_URL=sqlite://a?mode=ro",
            "SECRETS_DATABASE_URL must be sqlite://PATH, without",
        ),
        ("SECRETS_ROOT_KEY=kvc_", "SECRETS_ROOT_KEY must be 32 bytes in standard base64"),
        (
            "SECRETS_PREVIOUS_ROOT_KEY=kvc_",
            "SECRETS_PREVIOUS_ROOT_KEY must be 32 bytes in standard base64",
        ),
        ("SECRETS_ROOT_KEY=a3ZjXw==", "SECRETS_ROOT_KEY must be 32 bytes in standard base64"),
        ("SECRETS_JWT_ISSUER=kvc_", "SECRETS_JWT_ISSUER must be an address that begins with"),
        ("SECRETS_JWT_JWKS_URL=file:///kvc_", "SECRETS_JWT_JWKS_URL must be an address"),
        ("SECRETS_JWT_JWKS_URL=https://u:kvc_@h/", "SECRETS_JWT_JWKS_URL must be an address"),
        ("SECRETS_JWT_HS256_SECRET=kvc_", "SECRETS_JWT_HS256_SECRET must have 32 bytes or more"),
        ("SECRETS_SESSION_HOURS=0", "SECRETS_SESSION_HOURS must be a whole number, 1 to 720"),
        ("SECRETS_SESSION_HOURS=721", "SECRETS_SESSION_HOURS must be a whole number, 1 to 720"),
        ("SECRETS_SESSION_IDLE_MINUTES=4", "SECRETS_SESSION_IDLE_MINUTES must be a whole number"),
        ("SECRETS_SESSION_IDLE_MINUTES=kvc_", "SECRETS_SESSION_IDLE_MINUTES must be a whole"),
        ("SECRETS_METRICS_LISTEN=kvc_", "SECRETS_METRICS_LISTEN must be an address and a port"),
        ("SECRETS_WATCH_LIMIT=3", "SECRETS_WATCH_LIMIT must be a whole number, 4 to 10000"),
        ("SECRETS_RATE_LIMIT_PER_IP=-1", "SECRETS_RATE_LIMIT_PER_IP must be a whole number"),
        ("SECRETS_RATE_LIMIT_PER_PRINCIPAL=kvc_", "SECRETS_RATE_LIMIT_PER_PRINCIPAL must be a"),
        ("SECRETS_TRUSTED_PROXIES=kvc_", "SECRETS_TRUSTED_PROXIES must be networks or addresses"),
        ("SECRETS_PUBLIC_URL=kvc_", "SECRETS_PUBLIC_URL must be a URL such as https://"),
        ("SECRETS_REDIS_URL=http://kvc_", "SECRETS_REDIS_URL must be redis://USER:PASSWORD@HOST"),
        ("SECRETS_REDIS_URL=rediss://kvc_/#insecure", "SECRETS_REDIS_URL must be redis://"),
        ("SECRETS_SMTP_URL=kvc_", "SECRETS_SMTP_URL must be smtps://USER:PASSWORD@HOST"),
        ("SECRETS_SMTP_URL=http://kvc_", "SECRETS_SMTP_URL must be smtps://"),
        ("SECRETS_SMTP_URL=smtp://u:kvc_@h", "SECRETS_SMTP_URL needs SECRETS_SMTP_FROM, and"),
        ("SECRETS_SMTP_FROM=kvc_", "SECRETS_SMTP_FROM must be an address such as"),
        ("SECRETS_DEFAULT_PLAN=kvc_", "SECRETS_DEFAULT_PLAN must name a plan: unlimited, free"),
        ("SECRETS_OPERATORS=ops@example.com,kvc_", "SECRETS_OPERATORS must be e-mail addresses"),
        ("SECRETS_DEFAULT_MEMBER_ROLE=owner", "SECRETS_DEFAULT_MEMBER_ROLE must be none, read"),
        ("SECRETS_AUDIT_READS=maybe", "SECRETS_AUDIT_READS must be on or off"),
        ("SECRETS_LOG=a=kvc_=b", "SECRETS_LOG must be error, warn, info"),
        ("SECRETS_LOG_FORMAT=kvc_", "SECRETS_LOG_FORMAT must be text or json"),
        ("SECRETS_TLS_CERT=/kvc_", "SECRETS_TLS_CERT and SECRETS_TLS_KEY must be given together"),
    ];

    for (variable, expected) in cases {
        let message = message("", &[variable]);
        assert!(message.starts_with(expected), "{variable}: {message}");
    }
}

#[test]
fn the_source_of_an_invalid_value_is_named() {
    let file = file("log_format = 'kvc_'");
    let path = file.path().display();

    let by_file = message(&format!("--config {path}"), &[]);
    let by_flag = message("--log-format kvc_", &[]);

    let rule = "must be text or json";
    assert_eq!(by_file, format!("SECRETS_LOG_FORMAT (given as log_format in {path}) {rule}"));
    assert_eq!(by_flag, format!("SECRETS_LOG_FORMAT (given as --log-format) {rule}"));
}

#[test]
fn settings_that_exclude_each_other_are_refused() {
    let both = message("", &["SECRETS_ROOT_KEY_FILE=/kvc_"]);
    let url = "SECRETS_JWT_JWKS_URL=https://issuer.example/keys";
    let secret = format!("SECRETS_JWT_HS256_SECRET={SECRET}");

    assert_eq!(both, "SECRETS_ROOT_KEY and SECRETS_ROOT_KEY_FILE are both given: keep one");
    let expected = "SECRETS_JWT_JWKS_URL and SECRETS_JWT_HS256_SECRET are both given";
    assert!(message("", &[url, &secret]).starts_with(expected));
}

#[test]
fn a_secret_is_not_taken_from_the_command_line() {
    for line in
        ["--root-key kvc_", "--root-key=kvc_", "--jwt-hs256-secret kvc_", "--jwt-hs256-secret=kvc_"]
    {
        let failure = refusal(line, &[]);
        assert_eq!(failure.code, Exit::Usage);
        assert!(!failure.message.contains("kvc_"), "{failure}");
    }
    let message_for_mail = message("--smtp-url smtps://u:kvc_p@mail.example", &[]);
    assert!(
        message_for_mail.starts_with("SECRETS_SMTP_URL (given as --smtp-url) holds a password")
    );
    let for_redis = message("--redis-url redis://:kvc_p@cache", &[]);
    assert!(for_redis.starts_with("SECRETS_REDIS_URL (given as --redis-url) holds a password"));
    for url in ["postgres://u:kvc_p@db/s", "postgres://db/s?user=u&password=kvc_p"] {
        let message = message(&format!("--database-url {url}"), &["SECRETS_DATABASE_URL="]);
        let expected = "SECRETS_DATABASE_URL (given as --database-url) holds a password";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn an_unreadable_path_that_may_be_a_secret_is_not_repeated() {
    let message = message("", &["SECRETS_ROOT_KEY=", &format!("SECRETS_ROOT_KEY_FILE={KEY}")]);

    assert!(message.starts_with("SECRETS_ROOT_KEY_FILE must name a file that can be read"));
    assert!(!message.contains(KEY));
}

#[test]
fn a_file_that_does_not_exist_is_named_if_its_folder_exists() {
    let folder = tempfile::tempdir_in(test_folder()).unwrap();
    let path = folder.path().join("root-key");

    let message =
        message("", &["SECRETS_ROOT_KEY=", &format!("SECRETS_ROOT_KEY_FILE={}", path.display())]);

    let rule = "SECRETS_ROOT_KEY_FILE must name a file that can be read";
    assert_eq!(message, format!("{rule}: {}: it does not exist", path.display()));
}

#[test]
fn all_missing_settings_are_named_after_misspelled_ones() {
    let failure = configured("serve", &["SECRETS_DATABSE_URL=memory:", "SECRETS_NONSENSE=kvc_"]);

    let message = failure.map(|_| ()).unwrap_err().message;
    let starts = [
        "SECRETS_DATABSE_URL is not a setting of this version: did you mean SECRETS_DATABASE_URL?",
        "SECRETS_NONSENSE is not a setting of this version",
        "SECRETS_DATABASE_URL is not set",
        "SECRETS_ROOT_KEY is not set",
        "SECRETS_JWT_ISSUER is not set",
        "SECRETS_JWT_AUDIENCE is not set",
    ];
    assert_eq!(message.lines().count(), starts.len(), "{message}");
    for (line, start) in message.lines().zip(starts) {
        assert!(line.starts_with(start), "{message}");
    }
}

#[test]
fn misspelled_variables_are_named_before_an_unreadable_file() {
    let failure = configured("serve --config /nonexistent", &["SECRETS_DATABSE_URL=memory:"]);

    let message = failure.map(|_| ()).unwrap_err().message;
    assert!(message.starts_with("SECRETS_DATABSE_URL is not a setting"), "{message}");
    assert!(message.lines().nth(1).is_some_and(|line| line.contains("/nonexistent")), "{message}");
}

#[test]
fn a_file_of_settings_is_read_strictly() {
    let cases = [
        ("rootkey = 'kvc_'", "has an unknown key: rootkey"),
        ("redis_uri = 'redis://kvc_'", "has an unknown key: redis_uri"),
        ("listen_file = 'kvc_'", "has an unknown key: listen_file"),
        ("log = 'info'\nroot_key = kvc_", "is not TOML: line 2"),
        ("root_key = 'kvc_\n", "is not TOML: line 1"),
        ("log = 'info'\nlog = 'kvc_'", "is not TOML: line 2"),
        ("[listen]\nkvc_ = 1", "must give listen as text, a number, true or false"),
        ("listen = ['kvc_', 1]", "must give listen as text, a number, true or false"),
        ("rate_limit_per_ip = 1.5", "must give rate_limit_per_ip as text, a number"),
    ];

    for (text, expected) in cases {
        let file = file(text);
        let message = message(&format!("--config {}", file.path().display()), &[]);
        assert!(message.contains(expected), "{message}");
    }
    let missing = message("--config /missing.toml", &[]);
    assert_eq!(missing, "the file /missing.toml cannot be read: it does not exist");
}

#[test]
fn a_command_line_that_means_nothing_is_a_usage_error() {
    for line in ["", "start", "serve --color red", "serve extra", "dev token", "dev --jwt-issuer x"]
    {
        assert_eq!(configured(line, &[]).map(|_| ()).unwrap_err().code, Exit::Usage, "{line}");
    }
    let failure = configured("dev token --email bob", &[]).map(|_| ()).unwrap_err();
    assert_eq!(failure, Failure::new(Exit::Usage, "--email must be an e-mail address"));
}

#[test]
fn dev_is_for_this_machine_only() {
    for (line, variables) in
        [("dev --listen 0.0.0.0:8080", vec![]), ("dev", vec!["SECRETS_LISTEN=192.0.2.1:80"])]
    {
        let failure = configured(line, &variables).map(|_| ()).unwrap_err();
        assert_eq!(failure.code, Exit::Usage);
        assert!(failure.message.starts_with("`dev` listens on loopback addresses only"));
    }
    assert!(configured("dev --listen [::1]:0", &[]).is_ok());
}

#[test]
fn a_bad_rule_for_scans_is_named() {
    let cases = [
        ("[[rules]]\nid = 'acme'\nregex = '('", "rule acme: the expression is not valid: unclosed"),
        ("[[rules]]\nid = 'acme'", "rule acme: has neither regex nor path"),
        ("[[rules]]\nregex = 'a'", "rule number 1: has no id"),
        ("[[rules]]\nid = 'acme'\nentropy = 'much'", "line 3: invalid type"),
        ("[[rules]\n", "line 1: "),
    ];

    for (text, expected) in cases {
        let file = file(text);
        let path = file.path().display();
        let message = message(&format!("--scan-rules {path}"), &[]);
        let start = format!("SECRETS_SCAN_RULES ({path}): {expected}");
        assert!(message.starts_with(&start), "{message}");
    }
    let missing = message("", &["SECRETS_SCAN_RULES=/missing.toml"]);
    assert!(missing.starts_with("SECRETS_SCAN_RULES (/missing.toml): "), "{missing}");
}

#[test]
fn a_plan_that_makes_no_sense_is_named() {
    let cases = [
        (
            "[plans.small]\nenvironments = 2",
            "plans.small.environments as a whole number, 3 or more",
        ),
        ("[plans.small]\nmembers = 0", "plans.small.members as a whole number, 1 or more"),
        ("[plans.small]\nsecrets = -1", "plans.small.secrets as a whole number, 0 or more"),
        ("[plans.small]\nsecrets = 'kvc_'", "plans.small.secrets as a whole number, 0 or more"),
        ("[plans.small]\naudit_days = 0", "plans.small.audit_days as a whole number, 1 to 36500"),
        ("[plans.small]\naudit_days = 36501", "plans.small.audit_days as a whole number, 1 to"),
        ("[plans.small]\nseats = 1", "an unknown key: plans.small.seats"),
        ("[plans.'A B']\nsecrets = 1", "a plan whose name must be"),
        ("[plans]\nsmall = 1", "plans.small as a table"),
        ("plans = 1", "plans as tables: [plans.NAME]"),
    ];

    for (text, expected) in cases {
        let file = file(text);
        let message = message(&format!("--config {}", file.path().display()), &[]);
        assert!(message.contains(expected), "{text}: {message}");
    }
}
