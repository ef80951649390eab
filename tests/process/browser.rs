//! Tests of signing in with a browser and a real OpenID provider.

use std::io::{BufRead as _, BufReader};

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::{Browser, Client};
use serde_json::{Value, json};

use crate::program::{Program, Running, folder};
use crate::provider::{Provider, free_port};

const AUDIENCE: &str = "https://secrets.test";

/// Address of the service under test. It is chosen before the service starts, because the
/// configuration of the OpenID provider contains it too.
struct Site {
    port: u16,
}

impl Site {
    fn new() -> Self {
        Self { port: free_port() }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn provider(&self, auth_method: &str) -> Provider {
        Provider::for_browsers(&format!("http://{}/sign-in/callback", self.host()), auth_method)
    }

    /// Creates a command that starts the service with this provider. `client` is the client ID with
    /// which the service identifies itself to the provider.
    fn program(&self, name: &str, provider: &Provider, client: &str) -> Program {
        Program::serve(name, &folder(name).join("secrets.db"))
            .without("SECRETS_JWT_HS256_SECRET")
            .with("SECRETS_JWT_ISSUER", &provider.issuer())
            .with("SECRETS_JWT_AUDIENCE", AUDIENCE)
            .with("SECRETS_LISTEN", &self.host())
            .with("SECRETS_PUBLIC_URL", &format!("http://{}", self.host()))
            .with("SECRETS_OIDC_CLIENT_ID", client)
    }

    fn confidential(&self, name: &str, provider: &Provider) -> Running {
        self.program(name, provider, "confidential")
            .with("SECRETS_OIDC_CLIENT_SECRET", "a-secret-of-the-test")
            .start()
    }

    fn browser(&self, program: &Running) -> Browser {
        Browser::new(Client::new(program.address, None), &self.host())
    }
}

/// Signs in a user with a browser, and returns the user. To read the user, starts a device login
/// that the browser approves.
async fn sign_in(program: &Running, browser: &mut Browser, provider: &Provider) -> Value {
    let sent = browser.open("/sign-in?return_to=/projects").await;
    let back = provider.sign_in(sent.is(303).header("location").unwrap()).await;
    let page = browser.arrive(&back).await;
    assert!(page.is(200).text().contains("0; url=/projects\""), "{}", page.text());
    let client = Client::new(program.address, None);
    let login = json!({ "client_id": "cli" });
    let login = client.post("/api/v1/auth/cli/device", &login).await.is(200).json();
    let code = login["user_code"].as_str().unwrap();
    browser.submit("/device", &[("user_code", code), ("decision", "approve")]).await.is(200);
    let poll = json!({
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": login["device_code"], "client_id": "cli",
    });
    client.post("/api/v1/auth/cli/token", &poll).await.is(200).json()["user"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_and_a_token_of_the_same_person_have_one_account() {
    let site = Site::new();
    let provider = site.provider("client_secret_basic");
    let program = site.confidential("browser_basic", &provider);
    let client = program.bearer(&provider.token(AUDIENCE).await);
    let synced = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();

    let user = sign_in(&program, &mut site.browser(&program), &provider).await;

    assert_eq!((&user["id"], &user["email"]), (&synced["id"], &json!("alice@example.com")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_that_began_on_one_node_ends_on_another() {
    let store = TestDatabase::create().await;
    let site = Site::new();
    let provider = site.provider("client_secret_basic");
    let node = |name: &str| {
        site.program(name, &provider, "confidential")
            .with("SECRETS_OIDC_CLIENT_SECRET", "a-secret-of-the-test")
            .with("SECRETS_DATABASE_URL", &store.url())
            .with("SECRETS_LISTEN", "127.0.0.1:0")
            .start()
    };
    let (one, other) = (node("browser_one"), node("browser_other"));
    let mut browser = site.browser(&one);

    let sent = browser.open("/sign-in?return_to=/projects").await;
    let back = provider.sign_in(sent.is(303).header("location").unwrap()).await;
    let mut elsewhere = browser.at(Client::new(other.address, None));
    let page = elsewhere.arrive(&back).await;

    assert!(page.is(200).text().contains("0; url=/projects\""), "{}", page.text());
    for node in [&one, &other] {
        let page = elsewhere.at(Client::new(node.address, None)).open("/device").await;
        assert!(page.text().contains("Signed in as alice@example.com"), "{}", page.text());
    }
    // The cookie of the sign-in is deleted. With a copy of the cookie, the provider still refuses
    // the code, also on the first node.
    elsewhere.arrive(&back).await.is(400);
    browser.arrive(&back).await.is(403);
    assert!(browser.cookie("secrets-session").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secret_is_sent_in_the_form_if_the_provider_wants_that() {
    let site = Site::new();
    let provider = site.provider("client_secret_post");
    let program = site.confidential("browser_post", &provider);

    let user = sign_in(&program, &mut site.browser(&program), &provider).await;

    assert_eq!(user["name"], "Alice of the provider");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_public_client_needs_no_secret() {
    let site = Site::new();
    let provider = site.provider("client_secret_basic");
    let program = site.program("browser_public", &provider, "public").start();

    let user = sign_in(&program, &mut site.browser(&program), &provider).await;

    assert_eq!(user["email"], "alice@example.com");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_secret_and_a_used_code_start_no_session() {
    let site = Site::new();
    let provider = site.provider("client_secret_basic");
    let wrong = site.program("browser_wrong", &provider, "confidential");
    let wrong = wrong.with("SECRETS_OIDC_CLIENT_SECRET", "another-secret").start();
    let mut browser = site.browser(&wrong);
    let sent = browser.open("/sign-in").await;
    let back = provider.sign_in(sent.is(303).header("location").unwrap()).await;

    let page = browser.arrive(&back).await;

    assert!(page.is(403).text().contains(page.header("x-request-id").unwrap()));
    assert!(browser.cookie("secrets-session").is_none());
    drop(wrong);
    let program = site.confidential("browser_used", &provider);
    let mut browser = site.browser(&program);
    let sent = browser.open("/sign-in").await;
    let back = provider.sign_in(sent.is(303).header("location").unwrap()).await;
    let mut copy = browser.at(Client::new(program.address, None));
    browser.arrive(&back).await.is(200);
    copy.arrive(&back).await.is(403);
    assert!(copy.cookie("secrets-session").is_none());
}

#[test]
fn a_client_id_without_its_other_settings_is_refused() {
    let start = |variables: &[(&str, &str)]| {
        let program = Program::serve("browser_settings", &folder("browser_settings").join("s.db"));
        let program = program
            .without("SECRETS_JWT_HS256_SECRET")
            .with("SECRETS_JWT_ISSUER", "https://issuer.test");
        let with = |program: Program, (name, value): &(&str, &str)| program.with(name, value);
        let ended = variables.iter().fold(program, with).run();
        assert_eq!(ended.code, Some(78), "{}", ended.stderr);
        ended.stderr
    };
    let id = ("SECRETS_OIDC_CLIENT_ID", "kvc_client");
    let url = ("SECRETS_PUBLIC_URL", "https://secrets.test");

    for (variables, named) in [
        (vec![id], "SECRETS_PUBLIC_URL"),
        (vec![id, ("SECRETS_PUBLIC_URL", "http://secrets.test")], "https://"),
        (vec![url, ("SECRETS_OIDC_CLIENT_SECRET", "kvc_x")], "need SECRETS_OIDC_CLIENT_ID"),
        (vec![id, url, ("SECRETS_OIDC_SCOPES", "email")], "SECRETS_OIDC_SCOPES must be"),
        (vec![id, url, ("SECRETS_JWT_ISSUER", "kvc_name")], "SECRETS_JWT_ISSUER must be"),
        (
            vec![id, url, ("SECRETS_JWT_HS256_SECRET", "kvc_a secret of 32 bytes or more, or so")],
            "SECRETS_JWT_HS256_SECRET",
        ),
    ] {
        let said = start(&variables);
        assert!(said.contains(named) && !said.contains("kvc_"), "{said}");
    }
}

/// Reads the first sign-in link in the output of the command `dev`. Returns the host (with port)
/// and the path of the link.
fn link(lines: impl Iterator<Item = std::io::Result<String>>) -> (String, String) {
    let mut lines = lines.map_while(Result::ok);
    let line = lines.find(|line| line.contains("/sign-in/dev?code=")).unwrap();
    let (host, path) = line.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    (host.to_owned(), format!("/{path}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_prints_a_link_and_another_on_request() {
    let data = folder("dev_link").join("data");
    let data = data.to_str().unwrap();
    let dev = |arguments: &[&str]| {
        let arguments = [&["dev"], arguments, &["--data-dir", data]].concat();
        Program::new("dev_link", &arguments).with("SECRETS_LISTEN", "127.0.0.1:0")
    };
    let ended = dev(&["link"]).run();
    assert_eq!(ended.code, Some(78), "{}", ended.stderr);
    assert!(ended.stderr.contains("no service is running"), "{}", ended.stderr);

    let (mut child, printed) = dev(&[]).pipe();
    let (host, first) = link(BufReader::new(printed).lines());
    let client = Client::new(host.parse().unwrap(), None);
    let mut browser = Browser::new(client.clone(), &host);
    // The service prints the link when it accepts connections.
    browser.open(&first).await.is(200);
    let signed_in = browser.open("/device").await;
    assert!(signed_in.text().contains("Signed in as dev@example.com"), "{}", signed_in.text());
    browser.open(&first).await.is(403);

    let ended = dev(&["link", "--email", "bob@example.com"]).run();
    let (_, second) = link(BufReader::new(ended.stdout.as_bytes()).lines());
    let mut bob = Browser::new(client, &host);
    let page = bob.open("/device").await;
    assert!(!page.text().contains("/sign-in"), "{}", page.text());
    bob.open(&second).await.is(200);
    assert!(bob.open("/device").await.text().contains("Signed in as bob@example.com"));

    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(dev(&["link"]).run().code, Some(78));
}
