//! Tests of the options of the command `secrets rotation`.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::home::Home;
use crate::server::Server;
use crate::service::Scripted;

/// Returns the arguments that create a rotation of this type, with these further options. Its
/// database does not exist.
pub(crate) fn create<'a>(kind: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let rotation = ["rotation", "create", "db", "--type", kind];
    let database = ["--host", "127.0.0.1", "--port", "1", "--database", "app"];
    [&rotation[..], &database, &["--admin-username", "admin"], options].concat()
}

/// Returns the arguments that create a MySQL rotation, with these further options, and print it as
/// JSON.
fn create_mysql<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let rotation = create("mysql", &["--password-file=password"]);
    [&["-o", "json"], &rotation[..], options].concat()
}

/// Options for a connection through an AWS Lambda function.
const LAMBDA: [&str; 5] = [
    "--lambda-arn",
    "arn:aws:lambda:eu-central-1:123456789012:function:rotate",
    "--region",
    "eu-central-1",
    "--shared-secret-file=shared",
];

/// Options for the keys of the secrets, each with its key.
const KEYS: [(&str, &str); 6] = [
    ("--url-key", "APP_URL"),
    ("--username-key", "APP_USER"),
    ("--password-key", "APP_PASSWORD"),
    ("--host-key", "APP_HOST"),
    ("--port-key", "APP_PORT"),
    ("--database-key", "APP_NAME"),
];

fn home(server: &Server) -> Home {
    let home = server.home().with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging");
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    with_files(&home);
    home
}

fn with_files(home: &Home) {
    home.write("password", "kvc_password\n");
    home.write("shared", &format!("kvc_shared_{}\n", "x".repeat(40)));
}

/// Creates the rotation with further options, and returns it.
fn created(home: &Home, options: &[&str]) -> Value {
    let printed = home.ok(&create_mysql(options));
    assert!(!printed.contains("kvc_"), "{printed}");
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn the_options_of_a_new_rotation_are_sent() {
    let service = Scripted::start(|_, _| (201, "{}".to_owned()));
    let home = service.home();
    with_files(&home);
    home.write("ca.pem", "the certificate\n");
    let options = [
        "--interval-days",
        "7",
        "--permission-level",
        "read_write",
        "--ssl-mode",
        "verify-ca",
        "--ca-certificate",
        "ca.pem",
        "--rotate-immediately",
    ];
    let keys: Vec<_> = KEYS.iter().flat_map(|(option, key)| [*option, *key]).collect();

    created(&home, &[&options[..], &LAMBDA, &keys].concat());

    let received = service.received();
    let (_, body) = received.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "name": "db",
            "integration_type": "mysql",
            "connection_method": "proxied",
            "connection": {
                "host": "127.0.0.1", "port": 1, "database": "app", "admin_username": "admin",
                "admin_password": "kvc_password", "ssl_mode": "verify-ca",
                "ca_certificate": "the certificate\n",
            },
            "proxy": {
                "lambda_arn": LAMBDA[1], "region": "eu-central-1",
                "shared_secret": format!("kvc_shared_{}", "x".repeat(40)),
            },
            "rotation_interval_days": 7,
            "permission_level": "read_write",
            "rotate_immediately": true,
            "secret_mapping": {
                "url": "APP_URL", "username": "APP_USER", "password": "APP_PASSWORD",
                "host": "APP_HOST", "port": "APP_PORT", "database": "APP_NAME",
            },
        })
    );
}

#[test]
fn the_keys_of_a_rotation_are_options() {
    let server = Server::start();
    let home = home(&server);
    let keys: Vec<_> = KEYS.iter().flat_map(|(option, key)| [*option, *key]).collect();

    created(&home, &keys);

    for (_, key) in KEYS {
        let secret = format!("{key}=kvc_mine");
        home.run(&["set", &secret]).fails(65, "is written by a rotation of this environment");
    }
    home.ok(&["set", "DB_URL=kvc_mine"]);
}

#[test]
fn a_rotation_through_a_function_needs_all_its_options() {
    let server = Server::start();
    let home = home(&server);

    for missing in ["--region", "--shared-secret-file"] {
        let given = LAMBDA.chunks(2).filter(|option| !option[0].starts_with(missing));
        let given: Vec<_> = given.flatten().copied().collect();
        home.run(&create_mysql(&given)).fails(64, missing);
    }
    home.run(&create_mysql(&LAMBDA[2..4])).fails(64, "--lambda-arn");

    assert_eq!(created(&home, &LAMBDA)["connection_method"], "proxied");
}

#[test]
fn a_rotation_is_due_after_the_interval_or_immediately() {
    let server = Server::start();
    let home = home(&server);
    let time = |value: &Value| -> DateTime<Utc> { value.as_str().unwrap().parse().unwrap() };
    let days = |rotation: &Value| {
        let due = time(&rotation["next_rotation_at"]) - time(&rotation["created_at"]);
        (due + TimeDelta::hours(12)).num_days()
    };

    let immediate = created(&home, &["--rotate-immediately"]);
    home.ok(&["rotation", "delete", "db", "--yes"]);
    let scheduled = created(&home, &["--interval-days", "7"]);

    assert_eq!((days(&immediate), days(&scheduled)), (0, 7));
}

#[test]
fn the_users_of_a_deleted_rotation_are_disabled_only_if_asked() {
    let server = Server::start();
    let home = home(&server);
    let revoked = || home.ok(&["-o", "name", "audit", "--action", "rotation.revoked"]);

    created(&home, &[]);
    home.ok(&["rotation", "delete", "db", "--yes"]);
    assert_eq!(revoked(), "");
    created(&home, &[]);
    home.run(&["rotation", "delete", "db", "--revoke"]).fails(64, "--yes");
    let ended = home.run(&["rotation", "delete", "db", "--revoke", "--yes"]);

    // The database cannot be reached, so the rotation stays, and the command can be repeated.
    ended.fails(69, "not available");
    assert_eq!(revoked().lines().count(), 1);
    let shown = home.ok(&["-o", "json", "rotation", "show", "db"]);
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["status"], "disabled");
}

#[test]
fn a_rotation_without_a_result_has_started_if_the_service_responds_otherwise() {
    let running = Scripted::start(|request, _| {
        if request.ends_with("/rotate") {
            loop {
                std::thread::park();
            }
        }
        (200, json!({ "name": "db" }).to_string())
    });

    let ended = running.home().run(&["rotation", "rotate", "db"]);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("started; "), "{ended:?}");
    let unreachable = running.home().with("SECRETS_URL", "http://127.0.0.1:1");
    unreachable.run(&["rotation", "rotate", "db"]).fails(69, "");
}

#[test]
fn a_refused_rotation_has_the_exit_code_of_the_refusal() {
    for (status, code) in [(429, 75), (403, 77), (404, 68)] {
        let service = Scripted::start_with_headers(move |request, _| {
            let status = if request.ends_with("/rotate") { status } else { 200 };
            (status, "retry-after: 30\r\n".to_owned(), json!({ "error": "refused" }).to_string())
        });

        service.home().run(&["rotation", "rotate", "db"]).fails(code, "refused");

        assert_eq!(service.requests().len(), 2);
    }
}
