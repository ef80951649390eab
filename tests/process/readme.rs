//! Tests that the commands of the README, of `docs/http.md` and of the guide for operators work
//! unchanged for an ordinary user. Only folders and ports are replaced. Blocks with the language
//! `text` are not run, because their commands install software or need other machines.

use std::fs;
use std::path::Path;

use secrets_tests::targets::Target;

use crate::ordinary_user::OrdinaryUser;
use crate::program::{ISSUER_SECRET, Program, jwt_of};
use crate::provider::free_port;

/// Returns the blocks of shell commands (`sh`) in a Markdown file, in order.
fn blocks(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let text = fs::read_to_string(path).unwrap();
    let blocks =
        text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap().to_owned());
    blocks.collect()
}

/// Starts the service as an ordinary user on a free port, and runs the blocks of shell commands as
/// this user. Environment variables contain the address of the service, a token, and the address
/// and the credentials of a PostgreSQL server. Returns the user and the output.
fn walk(name: &str, blocks: &[String]) -> (OrdinaryUser, String) {
    let user = OrdinaryUser::new(name);
    let program = Program::of_user(&user, name, &["dev", "--listen", "127.0.0.1:0"]).start();
    let email = ["dev", "token", "--email", "dev@example.com"];
    let token = Program::of_user(&user, name, &email).run().stdout;
    let server = Target::postgres();
    let script = format!(
        "export SECRETS_URL=http://{}\nexport SECRETS_TOKEN={}\n\
         PGHOST={} PGPORT={} PGUSER={} PGPASSWORD={}\n{}",
        program.address,
        token.trim(),
        server.host,
        server.port,
        server.user,
        server.password,
        blocks.concat()
    );
    let stdout = user.run(&script);
    // The commands leave this file with secret values, which the test runner would report.
    fs::remove_file(user.folder.join("example.env")).unwrap();
    (user, stdout)
}

#[test]
fn the_readme_works_unchanged() {
    let blocks = blocks("README.md");
    let (run, commands) = blocks.split_first().unwrap();
    let (test, commands) = commands.split_last().unwrap();
    assert_eq!(run.trim(), "cargo run --release -- dev");
    assert_eq!(test.trim(), "./tests/run");

    let (_user, stdout) = walk("readme", commands);

    let mut lines = stdout.lines();
    for expected in [
        "log level: info",
        "the environments differ",
        "postgres://app:kvc_s3cr3t@db.internal/app",
        "secret.read",
        "postgres://kv_",
        "success",
        "API_KEY='kvc_abc 123'",
        "MAIN_DB_USERNAME='kv_",
        "the configuration is valid",
    ] {
        assert!(lines.any(|line| line.contains(expected)), "{expected} is not in\n{stdout}");
    }
}

#[test]
fn the_http_guide_works_unchanged() {
    let (_user, stdout) = walk("http", &blocks("docs/http.md"));

    let lines: Vec<_> = stdout.lines().collect();
    assert!(lines[0].contains(r#""slug":"web-api""#), "{stdout}");
    assert_eq!(lines[1], r#"{"created":3,"updated":0,"skipped":0}"#);
    assert!(lines[3].contains(r#""key":"LOG_LEVEL""#), "{stdout}");
    assert!(lines[4].contains(r#""hidden":true"#), "{stdout}");
    assert!(lines[5].contains("kvc_debug") && !lines[5].contains("API_KEY"), "{stdout}");
    assert_eq!(
        lines[6],
        r#"{"secrets":{"DATABASE_URL":"postgres://app:kvc_s3cr3t@db.internal/app","LOG_LEVEL":"kvc_debug"}}"#
    );
    assert_eq!(lines[7], r#"{"value":"postgres://app:kvc_s3cr3t@db.internal/app"}"#);
    assert!(lines[8].contains(r#""action":"eso.secret_read""#), "{stdout}");
    assert!(lines[9].contains(r#""status":"active""#), "{stdout}");
    for entry in [lines[10], lines[12]] {
        assert!(entry.contains(r#""status":"success""#), "{stdout}");
    }
    for line in [lines[11], lines[13]] {
        assert!(line.contains(r#""value":"postgres://kv_"#), "{stdout}");
    }
    assert_ne!(lines[11], lines[13]);
    assert!(lines[14].starts_with('['), "{stdout}");
    assert_eq!(lines[15], "API_KEY='kvc_abc 123'");
    assert!(stdout.contains("\nMAIN_DB_USERNAME='kv_"), "{stdout}");
}

/// Shell functions that imitate commands which exist only on a real server and which the guide
/// uses, such as `systemctl`.
const SERVER: &str = r#"
trap 'kill $server' EXIT
await() { until curl -fs "http://127.0.0.1:$port/health/live" >/dev/null; do kill -0 "$server"; sleep 0.1; done; }
systemctl() {
    case $1 in
        start) secrets-http serve --config etc/secrets.toml 2>>"$log" & server=$!; await ;;
        stop) kill "$server"; wait "$server" ;;
    esac
}
sudo() { shift 2; "$@"; }
"#;

/// Shell commands that start and stop the service once with a new PostgreSQL database, so that its
/// encryption keys exist.
const SEED: &str = r#"
SECRETS_DATABASE_URL=$DATABASE secrets-http serve --config etc/secrets.toml 2>>"$log" & server=$!; await
systemctl stop
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_for_operators_works_unchanged() {
    let user = OrdinaryUser::new("guide");
    let folder = &user.folder;
    user.run("mkdir etc var backup");
    let script = "examples/python/follow_audit.py";
    fs::create_dir_all(folder.join(script).parent().unwrap()).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::copy(examples.join(script), folder.join(script)).unwrap();
    let (server, port) = (Target::postgres(), free_port().to_string());
    let database = server.database().await;
    let address =
        format!("postgres://{}:{}@{}:{}", server.user, server.password, server.host, server.port);
    let blocks: Vec<_> = blocks("docs/operating.md")
        .into_iter()
        .map(|block| {
            let places = [
                ("/etc/secrets", "etc"),
                ("/var/lib/secrets", "var"),
                ("/var/backups/secrets", "backup"),
            ];
            let block = block.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"));
            // Later blocks use the session of an earlier block again.
            let block = block.replace("accept-restore", "accept-restore --keep-credentials");
            places.into_iter().fold(block, |block, (place, name)| {
                block.replace(place, folder.join(name).to_str().unwrap())
            })
        })
        .collect();
    let (configure, walk) = blocks.split_at(2);
    let script = format!(
        "port={port} log=$PWD/log\n\
         export DATABASE={address}/{name} RESTORED={address}/{name}_restored\n\
         export SECRETS_JWT_HS256_SECRET='{ISSUER_SECRET}' ACCESS_TOKEN={}\n\
         {SERVER}{}{SEED}{}",
        jwt_of("https://login.example.com", "alice"),
        configure.concat(),
        walk.concat(),
        name = database.name,
    );

    let stdout = user.run(&script);

    assert!(stdout.contains("`serve` will create the database"), "{stdout}");
    assert!(stdout.contains("https://secrets.example.com/device?user_code="), "{stdout}");
    assert!(stdout.contains(r#"{"status":"approved"}"#), "{stdout}");
    assert_eq!(stdout.matches(r#""email":"alice@example.com""#).count(), 2, "{stdout}");
    assert_eq!(stdout.matches(r#"{"created":100,"#).count(), 2, "{stdout}");
    assert_eq!(stdout.matches(r#"{"created":50,"#).count(), 1, "{stdout}");
    assert_eq!(stdout.matches("chains verified").count(), 3, "{stdout}");
    assert!(stdout.contains("the earlier database is"), "{stdout}");
    assert!(stdout.contains("the configuration, the keys and the database are valid"), "{stdout}");
    assert!(stdout.contains(r#""action": "user.created""#), "{stdout}");
    assert_eq!(stdout.matches(r#""action": "cli.authorized""#).count(), 1, "{stdout}");
    server.run(&format!("DROP DATABASE {}_restored", database.name)).await;
}
