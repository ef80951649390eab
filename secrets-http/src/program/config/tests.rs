//! Tests of reading a configuration from arguments, variables and a file that the test provides.

use secrets_core::store::Location;
use std::io::Write as _;

use secrets_core::model::{MemberAccess, Quota};
use secrets_core::scanner::scan;
use tempfile::NamedTempFile;

use super::*;
use crate::program::logs::LogFormat;
use crate::test_folder::test_folder;

mod refusals;

const KEY: &str = "a3ZjX3Jvb3Qta2V5LW9mLXRoaXJ0eS10d28tYnl0ZXM=";
const SECRET: &str = "kvc_a-shared-secret-of-more-than-32-bytes";

/// Reads a configuration from a command line and from environment variables in the form
/// `NAME=value`.
fn configured(line: &str, variables: &[&str]) -> Result<Configured, Failure> {
    let arguments = format!("secrets-http {line}");
    let arguments = arguments.split_whitespace().map(OsString::from).collect();
    let variables = variables.iter().map(|pair| pair.split_once('=').unwrap());
    read_from(arguments, variables.map(|(name, value)| (name.into(), value.into())).collect())
}

/// Returns the smallest set of environment variables with which `serve` starts, in the form
/// `NAME=value`.
fn least() -> Vec<String> {
    vec![
        "SECRETS_DATABASE_URL=memory:".to_owned(),
        format!("SECRETS_ROOT_KEY={KEY}"),
        "SECRETS_JWT_ISSUER=https://issuer.example".to_owned(),
        "SECRETS_JWT_AUDIENCE=secrets".to_owned(),
    ]
}

/// Returns the variables `least` changed by the variables `others`: a variable is replaced, or
/// removed if its new value is empty.
fn least_but<'a>(least: &'a [String], others: &[&'a str]) -> Vec<&'a str> {
    let name = |pair: &str| pair.split_once('=').unwrap().0.to_owned();
    let replaced = others.iter().map(|pair| name(pair)).collect::<Vec<_>>();
    let kept = least.iter().map(String::as_str).filter(|pair| !replaced.contains(&name(pair)));
    kept.chain(others.iter().copied()).collect()
}

fn served(line: &str, others: &[&str]) -> Result<Settings, Failure> {
    match configured(&format!("serve {line}"), &least_but(&least(), others))?.command {
        Command::Serve(settings) => Ok(*settings),
        other => panic!("{other:?}"),
    }
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new_in(test_folder()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn printed(line: &str) -> String {
    match configured(line, &[]).unwrap().command {
        Command::Print(text) => text,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_root_key(source: &RootKeySource) {
    let RootKeySource::Value(key) = source else { panic!("{source:?}") };
    assert_eq!(key.reveal().as_slice(), b"kvc_root-key-of-thirty-two-bytes");
}

#[test]
fn rules_for_scans_are_read_as_gitleaks_writes_them() {
    let text = concat!(
        "title = \"rules\"\n[extend]\nuseDefault = true\n",
        "[[rules]]\nid = \"acme\"\ndescription = \"Acme\"\nregex = \'\'\'acme-([a-z]{8})\'\'\'\n",
        "entropy = 2\nsecretGroup = 1\nkeywords = [\"acme\"]\ntags = [\"key\"]\n",
        "[[rules.allowlists]]\nregexTarget = \"line\"\nregexes = [\'\'\'^#\'\'\']\n",
    );
    let file = file(text);

    let settings = served(&format!("--scan-rules {}", file.path().display()), &[]).unwrap();

    let rules = settings.service.options.scan_rules.unwrap();
    let found = scan("# acme-abcdefgi\nacme-abcdefgh", "", &rules);
    assert_eq!(found.iter().map(|found| found.line).collect::<Vec<_>>(), [2]);
    assert!(rules.iter().count() > 100);
}

#[test]
fn lifetimes_of_browser_sessions_are_settings() {
    let line = "--session-hours 2 --session-idle-minutes 5";
    let sessions = served(line, &[]).unwrap().service.options.sessions;

    assert_eq!((sessions.absolute.num_minutes(), sessions.idle.num_minutes()), (120, 5));
}

#[test]
fn missing_settings_have_defaults() {
    let settings = served("", &[]).unwrap();

    let service = settings.service;
    assert_eq!(service.listen.to_string(), "127.0.0.1:8080");
    assert_eq!((service.rates.per_address, service.rates.per_principal), (100, 60));
    assert_eq!(service.options.rate_limit_per_team, 600);
    assert!(service.trusted_proxies.is_empty());
    assert_eq!(service.public_url, None);
    assert!(service.mail.is_none());
    assert_eq!(service.options.plans.default_plan().name.as_str(), "unlimited");
    assert_eq!(service.options.member_access, MemberAccess::Write);
    assert!(service.options.audit_reads);
    assert!(matches!(settings.database.location, Location::Memory));
    assert_root_key(&settings.root_keys.current);
    assert_eq!(settings.tls, None);
    assert_eq!(settings.logs, Logs { filter: "info".into(), format: LogFormat::Text });
    let TokenIssuer::Provider(issuer) = settings.issuer else { panic!() };
    assert_eq!(issuer.expectations.issuer, "https://issuer.example");
    assert_eq!(issuer.expectations.audience, "secrets");
    assert_eq!(issuer.jwks_url, None);
}

#[test]
fn every_setting_can_be_a_variable() {
    let settings = served(
        "",
        &[
            "SECRETS_LISTEN=[::]:0",
            "SECRETS_DATABASE_URL=postgres://u:kvc_p@db/secrets",
            "SECRETS_JWT_JWKS_URL=http://issuer.internal/keys",
            "SECRETS_RATE_LIMIT_PER_IP=0",
            "SECRETS_RATE_LIMIT_PER_PRINCIPAL=1000",
            "SECRETS_TRUSTED_PROXIES=10.0.0.0/8, ::1",
            "SECRETS_PUBLIC_URL=https://secrets.example/",
            "SECRETS_SMTP_URL=smtps://u:kvc_p@mail.example",
            "SECRETS_SMTP_FROM=Secrets <secrets@secrets.example>",
            "SECRETS_REDIS_URL=redis://:kvc_p@cache:6380/1",
            "SECRETS_DEFAULT_PLAN=team",
            "SECRETS_OPERATORS=ops@example.com, root@example.com",
            "SECRETS_DEFAULT_MEMBER_ROLE=none",
            "SECRETS_AUDIT_READS=off",
            "SECRETS_TLS_CERT=/tls/cert.pem",
            "SECRETS_TLS_KEY=/tls/key.pem",
            "SECRETS_LOG=warn,secrets_http=debug",
            "SECRETS_LOG_FORMAT=json",
        ],
    )
    .unwrap();

    assert!(settings.redis.is_some());
    let service = settings.service;
    assert_eq!(service.listen.to_string(), "[::]:0");
    assert_eq!((service.rates.per_address, service.rates.per_principal), (0, 1000));
    assert_eq!(service.options.rate_limit_per_team, 10_000);
    assert!(service.trusted_proxies.contain("10.1.1.1".parse().unwrap()));
    let mail = service.mail.unwrap();
    assert_eq!(mail.url.reveal().as_str(), "smtps://u:kvc_p@mail.example");
    assert_eq!(mail.from.email.to_string(), "secrets@secrets.example");
    assert_eq!(mail.links, *service.public_url.as_ref().unwrap());
    assert_eq!(service.public_url.unwrap().as_str(), "https://secrets.example");
    assert_eq!(service.options.plans.default_plan().name.as_str(), "team");
    assert_eq!(service.options.member_access, MemberAccess::None);
    assert_eq!(service.options.operators, ["ops@example.com", "root@example.com"]);
    assert!(!service.options.audit_reads);
    let Location::Postgres(url) = settings.database.location else { panic!() };
    assert_eq!(url.as_str(), "postgres://u:kvc_p@db/secrets");
    assert_eq!(settings.tls.unwrap().key.to_str(), Some("/tls/key.pem"));
    assert_eq!(settings.logs.filter, "warn,secrets_http=debug");
    assert_eq!(settings.logs.format, LogFormat::Json);
    let TokenIssuer::Provider(issuer) = settings.issuer else { panic!() };
    assert_eq!(issuer.jwks_url.unwrap(), "http://issuer.internal/keys");
}

#[test]
fn a_flag_goes_before_a_variable_and_a_variable_before_the_file() {
    let file = file("listen = '127.0.0.1:3'\nrate_limit_per_ip = 3\nrate_limit_per_principal = 3");
    let line = format!("--config {} --listen 127.0.0.1:1", file.path().display());
    let variables = ["SECRETS_LISTEN=127.0.0.1:2", "SECRETS_RATE_LIMIT_PER_IP=2"];

    let service = served(&line, &variables).unwrap().service;

    assert_eq!(service.listen.port(), 1);
    assert_eq!((service.rates.per_address, service.rates.per_principal), (2, 3));
}

#[test]
fn a_file_may_hold_everything() {
    let text = format!(
        "listen = 'localhost:0'\naudit_reads = false\ntrusted_proxies = ['10.0.0.0/8', '::1']\n\
         database_url = 'sqlite://data/secrets.db'\nroot_key = '{KEY}'\n\
         jwt_issuer = 'us'\njwt_audience = 'secrets'\njwt_hs256_secret = '{SECRET}'"
    );
    let file = file(&text);

    let configured = configured(&format!("check --config {}", file.path().display()), &[]);

    let Command::Check(settings) = configured.unwrap().command else { panic!() };
    assert_eq!(settings.service.listen.to_string(), "127.0.0.1:0");
    assert!(!settings.service.options.audit_reads);
    assert!(settings.service.trusted_proxies.contain("::1".parse().unwrap()));
    let Location::Sqlite(path) = settings.database.location else { panic!() };
    assert_eq!(path.to_str(), Some("data/secrets.db"));
    assert!(matches!(settings.issuer, TokenIssuer::Shared(..)));
}

#[test]
fn a_secret_may_be_in_a_file_of_its_own() {
    let (key, url) = (file(&format!("{KEY}\n")), file("postgres://u:kvc_p@db/secrets\r\n"));
    let (key, url) = (key.path().display(), url.path().display());
    let key_file = format!("SECRETS_ROOT_KEY_FILE={key}");
    let url_file = format!("SECRETS_DATABASE_URL_FILE={url}");

    let by_variable =
        served("", &["SECRETS_ROOT_KEY=", &key_file, "SECRETS_DATABASE_URL=", &url_file]).unwrap();
    let by_flag = served(&format!("--root-key-file {key} --database-url-file {url}"), &[]).unwrap();

    for settings in [by_variable, by_flag] {
        assert_root_key(&settings.root_keys.current);
        let Location::Postgres(url) = settings.database.location else { panic!() };
        assert_eq!(url.as_str(), "postgres://u:kvc_p@db/secrets");
    }
}

#[test]
fn a_database_is_a_file_a_server_or_nothing() {
    let database =
        |url: &str| served(&format!("--database-url {url}"), &[]).unwrap().database.location;

    assert!(
        matches!(database("sqlite:///var/lib/s.db"), Location::Sqlite(path) if path.is_absolute())
    );
    assert!(matches!(database("postgresql://db/secrets"), Location::Postgres(_)));
    assert!(matches!(database("memory:"), Location::Memory));
}

#[test]
fn dev_needs_nothing() {
    let configured = configured("dev", &["SECRETS_RATE_LIMIT_PER_IP=0"]).unwrap();

    let Command::Dev(dev) = configured.command else { panic!() };
    assert_eq!(dev.data_dir.to_str(), Some("./.secrets"));
    assert_eq!(dev.service.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(dev.service.rates.per_address, 0);
}

#[test]
fn dev_signs_tokens_for_others() {
    let token = DevToken { data_dir: "./elsewhere".into(), email: "bob@example.com".into() };

    for line in [
        "dev token --email bob@example.com --data-dir ./elsewhere",
        "dev --data-dir ./elsewhere token --email bob@example.com",
    ] {
        let Command::DevToken(given) = configured(line, &[]).unwrap().command else { panic!() };
        assert_eq!(given, token);
    }
}

#[test]
fn migrate_needs_a_database_only() {
    let configured = configured("migrate --database-url sqlite://s.db", &[]).unwrap();

    let Command::Migrate(migrate) = configured.command else { panic!() };
    assert!(matches!(migrate.database.location, Location::Sqlite(_)));
}

#[test]
fn unknown_variables_are_reported() {
    let variables = [
        "SECRETS_ROOTKEY=x",
        "SECRETS_REDDIS_URL=redis://",
        "SECRETS_listen=x",
        "SECRETS_PORT=tcp://10.0.0.1:80",
        "SECRETS_SERVICE_HOST=10.0.0.1",
        "SECRETS_URL=http://localhost:8080",
        "SECRETS_TOKEN=kvc_token",
        "SECRETS_TOKEN_FILE=/run/token",
        "SECRETS_PROJECT=web-api",
        "SECRETS_ENVIRONMENT=production",
        "SECRETS_OFFLINE=on",
        "SECRETS_CA_FILE=/etc/ssl/ca.pem",
        "SECRETS_EDITOR=vim",
        "PATH=/bin",
    ];

    let unknown = configured("dev", &variables).unwrap().unknown;

    assert_eq!(unknown, ["SECRETS_ROOTKEY", "SECRETS_REDDIS_URL", "SECRETS_listen"]);
}

#[test]
fn the_help_names_every_setting() {
    let (top, serve) = (printed("--help"), printed("serve --help"));

    for setting in settings_table::all() {
        assert!(serve.contains(&setting.variable()), "{}", setting.name);
        assert!(
            !setting.has_file() || serve.contains(&settings_table::variable(&setting.file_name()))
        );
    }
    for text in ["dev token --email", "serve --database-url", "Exit codes", "78", "openssl rand"] {
        assert!(top.contains(text), "{text}");
    }
    assert!(printed("dev --help").contains("--data-dir"));
    assert!(!printed("dev --help").contains("--jwt-issuer"));
    assert_eq!(printed("--version"), concat!("secrets-http ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn nothing_secret_is_printed() {
    let others = [
        "SECRETS_DATABASE_URL=postgres://u:kvc_p@db/secrets",
        "SECRETS_SMTP_URL=smtps://u:kvc_p@mail.example",
        "SECRETS_SMTP_FROM=secrets@secrets.example",
        "SECRETS_REDIS_URL=redis://:kvc_p@cache:6380/1",
        "SECRETS_PUBLIC_URL=https://secrets.example",
        &format!("SECRETS_JWT_HS256_SECRET={SECRET}"),
    ];

    let printed = format!("{:?}", served("", &others).unwrap());

    assert!(!printed.contains("kvc_"), "{printed}");
    assert!(!printed.contains("107, 118, 99"), "{printed}");
}

#[test]
fn the_file_describes_plans_of_its_own() {
    let file = file(
        "default_plan = 'small'
         [plans.small]
         members = 2
         environments = 3
         projects = 0
         bytes = 1000
         history_bytes = 0
         versions = 1
         audit_days = 9
         [plans.free]
         secrets = 7",
    );
    let line = format!("--config {}", file.path().display());

    let plans = served(&line, &[]).unwrap().service.options.plans;

    let small = plans.default_plan();
    assert_eq!(small.name.as_str(), "small");
    let limits = [Quota::Members, Quota::Environments, Quota::Projects, Quota::Secrets]
        .map(|quota| small.limit(quota));
    assert_eq!(limits, [Some(2), Some(3), Some(0), None]);
    assert_eq!(small.limit(Quota::Bytes), Some(1_000));
    assert_eq!((small.history_bytes, small.versions, small.audit_days), (0, 1, 9));
    let free = plans.find("free").unwrap();
    assert_eq!(free.limit(Quota::Bytes), Some(16 << 20));
    assert_eq!((free.history_bytes, free.versions), (64 << 20, 100));
    assert_eq!((free.limit(Quota::Secrets), free.limit(Quota::Projects)), (Some(7), None));
    assert!(plans.find("enterprise").is_some());
    let flagged = served(&format!("{line} --default-plan team"), &[]).unwrap();
    assert_eq!(flagged.service.options.plans.default_plan().name.as_str(), "team");
}
