//! Tests of root keys that a command prints or a key service holds.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use http::Method;
use secrets_tests::{Client, PythonServer, paths};
use serde_json::Value;

use crate::program::{Ended, Program, folder, jwt, log_path, root_key, sql};

/// Environment variables of a root key, without the prefix `SECRETS_` or `SECRETS_PREVIOUS_`.
type Source = Vec<(&'static str, String)>;

/// Running key services: AWS KMS, and a transit secrets engine of Vault.
struct KeyServices {
    _server: PythonServer,
    transit: String,
    kms: String,
    /// ARN of a key of KMS.
    arn: String,
}

impl KeyServices {
    fn start() -> Self {
        let server = PythonServer::start("process/key_services.py", &[]);
        let started: Value = serde_json::from_str(&server.greeting).unwrap();
        let [transit, kms, arn] =
            ["transit", "kms", "key"].map(|name| started[name].as_str().unwrap().to_owned());
        Self { _server: server, transit, kms, arn }
    }

    fn transit(&self, name: &str) -> Source {
        let url = format!("{}/v1/transit/keys/{name}", self.transit);
        vec![("ROOT_KEY_URL", url), ("ROOT_KEY_TOKEN", "kvc_transit".to_owned())]
    }

    fn kms(&self) -> Source {
        vec![("ROOT_KEY_URL", format!("awskms:///{}", self.arn))]
    }

    fn with_aws(&self, program: Program) -> Program {
        program
            .with("AWS_ENDPOINT_URL", &self.kms)
            .with("AWS_ACCESS_KEY_ID", "tests")
            .with("AWS_SECRET_ACCESS_KEY", "kvc_aws")
            .with("AWS_EC2_METADATA_DISABLED", "true")
    }

    fn client(&self) -> Client {
        let address = self.transit.strip_prefix("http://").unwrap().parse().unwrap();
        Client::new(address, None)
    }
}

fn value() -> Source {
    vec![("ROOT_KEY", root_key(7))]
}

fn command(text: impl Into<String>) -> Source {
    vec![("ROOT_KEY_COMMAND", text.into())]
}

/// Database in a folder of its own, and the key services.
struct Setup {
    name: &'static str,
    database: PathBuf,
    services: KeyServices,
}

impl Setup {
    fn new(name: &'static str) -> Self {
        let _ = fs::remove_file(log_path(name));
        let database = folder(name).join("secrets.db");
        Self { name, database, services: KeyServices::start() }
    }

    fn program(&self, current: &Source, previous: Option<&Source>, arguments: &[&str]) -> Program {
        let serve = Program::serve(self.name, &self.database).without("SECRETS_ROOT_KEY");
        let program = if arguments.is_empty() {
            serve
        } else {
            let url = format!("sqlite://{}", self.database.display());
            Program::new(self.name, arguments).with("SECRETS_DATABASE_URL", &url)
        };
        let mut program = self.services.with_aws(program).with("SECRETS_LOG", "trace");
        for (name, value) in current {
            program = program.with(&format!("SECRETS_{name}"), value);
        }
        for (name, value) in previous.into_iter().flatten() {
            program = program.with(&format!("SECRETS_PREVIOUS_{name}"), value);
        }
        program
    }

    fn serve(&self, current: &Source) -> Program {
        self.program(current, None, &[])
    }

    fn check(&self, current: &Source) -> Program {
        let program = Program::configured(self.name, "check", &self.database);
        let program = program.without("SECRETS_ROOT_KEY");
        let set = |program: Program, (name, value): &(&str, String)| {
            program.with(&format!("SECRETS_{name}"), value)
        };
        current.iter().fold(program, set)
    }

    /// Starts a service with a new database, stores the secret `KEY`, and stops the service. Returns
    /// the path of the project.
    async fn fill(&self, current: &Source) -> String {
        let mut program = self.serve(current).start();
        let alice = program.person("alice").await;
        let project = alice.project("Keys").await;
        alice.secret(&project, "development", "KEY", "kvc_0").await;
        program.terminate(Duration::from_secs(10));
        project
    }

    async fn assert_reads(&self, current: &Source, project: &str) {
        let mut program = self.serve(current).start();
        let alice = program.bearer(&jwt("alice"));
        let path = paths::secret(project, "development", "KEY");
        assert_eq!(alice.get(&path).await.is(200).json()["secret"]["value"], "kvc_0");
        program.terminate(Duration::from_secs(10));
    }

    fn rotate(&self, from: &Source, to: &Source) -> Ended {
        self.program(to, Some(from), &["keys", "rotate-root"]).run()
    }
}

#[track_caller]
fn assert_fails(ended: &Ended, code: i32, message: &str) {
    let lines = ended.stderr.lines().filter(|line| line.starts_with("secrets-http: "));
    let failure = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(ended.code, Some(code), "{message}: {failure}");
    assert!(failure.contains(message), "{message}: {failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_key_moves_between_all_sources() {
    let setup = Setup::new("root_keys_move");
    let file = setup.database.with_file_name("root-key");
    fs::write(&file, root_key(8) + "\n").unwrap();
    let printed = command(format!("cat '{}'", file.display()));
    let services = &setup.services;
    let (one, other) = (services.transit("one"), services.transit("other"));
    let sources = [value(), printed, one, other, services.kms(), value()];
    let project = setup.fill(&sources[0]).await;

    for pair in sources.windows(2) {
        let [from, to] = pair else { unreachable!() };
        assert_fails(&setup.serve(to).run(), 77, "wrong root key");
        let rotated = setup.rotate(from, to);
        assert_eq!(rotated.code, Some(0), "{to:?}: {}", rotated.stderr);
        assert!(rotated.stdout.contains(" replaced "), "{}", rotated.stdout);
        assert_fails(&setup.serve(from).run(), 77, "wrong root key");
        setup.assert_reads(to, &project).await;
    }

    // The instance key is the same at all times. It has been sent to the transit secrets engine.
    let seen = services.client().get("/seen").await.is(200).json();
    let log = fs::read_to_string(log_path(setup.name)).unwrap();
    let keys: Vec<_> =
        seen["seen"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    for secret in [keys[0], "kvc_transit", "kvc_aws", &root_key(7), &root_key(8)] {
        assert!(!log.contains(secret), "the log contains a key or token");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_of_a_transit_key_decrypts_what_the_earlier_one_encrypted() {
    let setup = Setup::new("root_keys_version");
    let source = setup.services.transit("versions");
    let project = setup.fill(&source).await;

    let token = ("X-Vault-Token", "kvc_transit");
    let path = "/v1/transit/keys/versions/rotate";
    setup.services.client().raw(Method::POST, path, &[token], "{}").await.is(200);

    setup.assert_reads(&source, &project).await;
}

/// Checks that a key service decrypts the instance key only for the instance and the version of the
/// key for which it was encrypted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encrypted_key_is_bound_to_its_place_in_every_key_service() {
    let setup = Setup::new("root_keys_context");
    for source in [setup.services.transit("context"), setup.services.kms()] {
        let _ = fs::remove_file(&setup.database);
        setup.fill(&source).await;
        sql(&setup.database, "UPDATE instance SET kek_id = kek_id + 1").await;

        let ended = setup.serve(&source).run();

        assert_fails(&ended, 65, "secrets-http: ");
    }
}

/// Returns a source with one more variable, or with another value of a variable.
fn with(mut source: Source, name: &'static str, value: &str) -> Source {
    source.retain(|(other, _)| *other != name);
    source.push((name, value.to_owned()));
    source
}

fn url(url: &str) -> Source {
    vec![("ROOT_KEY_URL", url.to_owned())]
}

fn with_token(source: Source) -> Source {
    with(source, "ROOT_KEY_TOKEN", "kvc_transit")
}

/// Returns the URL of a transit key at an address where nothing listens: port 1 is never given to a
/// program that asks for any free port.
fn unreachable() -> String {
    "http://127.0.0.1:1/v1/transit/keys/one".to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_settings_of_a_root_key_are_named() {
    let setup = Setup::new("root_keys_settings");
    let file = setup.database.with_file_name("root-key");
    fs::write(&file, root_key(8)).unwrap();
    let in_file = vec![("ROOT_KEY_FILE", file.display().to_string())];
    let (kms, transit) = (setup.services.kms(), setup.services.transit("one"));
    let at = |address: &str| with_token(url(address));
    let cases = [
        (command("true"), "SECRETS_ROOT_KEY_COMMAND: the output of the command must be 32 bytes"),
        (command("echo kvc_short"), "the output of the command must be 32 bytes"),
        (command("cat 'file"), "SECRETS_ROOT_KEY_COMMAND must be a command"),
        (command(" "), "SECRETS_ROOT_KEY_COMMAND must be a command"),
        (
            with(in_file, "ROOT_KEY_COMMAND", "true"),
            "SECRETS_ROOT_KEY_FILE and SECRETS_ROOT_KEY_COMMAND are both given",
        ),
        (
            with(value(), "ROOT_KEY_URL", &unreachable()),
            "SECRETS_ROOT_KEY and SECRETS_ROOT_KEY_URL are both given",
        ),
        (vec![], "SECRETS_ROOT_KEY is not set"),
        (with_token(vec![]), "SECRETS_ROOT_KEY is not set"),
        (with_token(value()), "SECRETS_ROOT_KEY_TOKEN has no effect"),
        (with_token(kms), "SECRETS_ROOT_KEY_TOKEN has no effect"),
        (url(&unreachable()), "SECRETS_ROOT_KEY_TOKEN is not set"),
        (
            at("http://vault.test/v1/transit/keys/one"),
            "SECRETS_ROOT_KEY_URL must begin with https://",
        ),
        (at("https://vault.test/v1/transit/one"), "SECRETS_ROOT_KEY_URL must be https://HOST/v1/"),
        (
            at("https://vault.test/transit/keys/one"),
            "SECRETS_ROOT_KEY_URL must be https://HOST/v1/",
        ),
        (at("https://kvc_u:kvc_p@vault.test/v1/transit/keys/one"), "SECRETS_ROOT_KEY_URL must be "),
        (url("awskms:///"), "SECRETS_ROOT_KEY_URL must be "),
        (with(transit, "ROOT_KEY_TOKEN", "kvc other"), "SECRETS_ROOT_KEY_TOKEN must be a token"),
    ];

    for (source, message) in cases {
        let ended = setup.serve(&source).run();

        assert_fails(&ended, 78, message);
        assert!(!ended.stderr.contains("kvc_"), "{message}");
    }
}

/// Checks that `serve` and `check` report a root key that cannot be used at present, before a
/// database is created.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_key_that_cannot_be_obtained_is_reported_with_its_setting() {
    let setup = Setup::new("root_keys_unavailable");
    let (services, wrong_token) = (&setup.services, "kvc_other");
    let missing_key = services.arn.replace("key/", "key/00");
    let by_command = "SECRETS_ROOT_KEY_COMMAND: the command ";
    let by_service = "the root key is unavailable: SECRETS_ROOT_KEY_URL: ";
    let cases = [
        (command("/missing/program"), by_command, "cannot be started"),
        (command("sh -c 'exit 3'"), by_command, "failed with exit status: 3"),
        (command("head -c 5000 /dev/zero"), by_command, "printed more than 4096 bytes"),
        (command("printf '\\377'"), by_command, "is not text in UTF-8"),
        (
            with(services.transit("one"), "ROOT_KEY_TOKEN", wrong_token),
            by_service,
            "Vault answered 403 Forbidden: permission denied",
        ),
        (with_token(url(&unreachable())), by_service, "Connection refused"),
        (url(&format!("awskms:///{missing_key}")), by_service, "KMS answered NotFoundException: "),
        (
            url("awskms:///alias/secrets"),
            by_service,
            "KMS cannot be called: missing signing region",
        ),
    ];

    for (source, place, message) in cases {
        let served = setup.serve(&source).run();
        let checked = setup.services.with_aws(setup.check(&source)).run();

        for ended in [served, checked] {
            assert_fails(&ended, 75, place);
            assert_fails(&ended, 75, message);
            assert!(!ended.stderr.contains("kvc_"), "{message}");
        }
    }
}

/// Checks that a key which is missing in a key service is not reported as damaged data, and that
/// the host of the key service may change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_service_that_has_lost_the_key_is_reported_as_unavailable() {
    let setup = Setup::new("root_keys_lost");
    setup.fill(&setup.services.transit("one")).await;

    let ended = setup.serve(&KeyServices::start().transit("one")).run();

    assert_fails(&ended, 75, "Vault answered 400 Bad Request: encryption key not found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_for_the_previous_root_key_that_fails_does_not_prevent_a_start() {
    let setup = Setup::new("root_keys_previous");
    let project = setup.fill(&value()).await;

    let mut program = setup.program(&value(), Some(&command("false")), &[]).start();
    let alice = program.bearer(&jwt("alice"));
    alice.get(&paths::secret(&project, "development", "KEY")).await.is(200);
    program.terminate(Duration::from_secs(10));

    let log = fs::read_to_string(log_path(setup.name)).unwrap();
    assert!(log.contains("SECRETS_PREVIOUS_ROOT_KEY_COMMAND: the command failed"), "no warning");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_service_that_does_not_answer_delays_the_start_only_for_a_limited_time() {
    let setup = Setup::new("root_keys_silent");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1/transit/keys/one", silent.local_addr().unwrap());
    let began = Instant::now();

    let ended = setup.serve(&with_token(url(&address))).run();

    assert_fails(&ended, 75, "timeout");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
