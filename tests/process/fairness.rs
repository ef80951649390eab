//! Tests with an account that causes as much load as its limits allow: the service still responds
//! to other accounts.

use std::io::{Write as _, stderr};
use std::time::Instant;

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::{Person, paths, until};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::program::{Program, Running, folder, jwt};

/// Signs in a user and creates a project with a secret. Returns the user, the path of the project
/// and the path of the secret.
async fn tenant(program: &Running, name: &str) -> (Person, String, String) {
    let client = program.bearer(&jwt(name));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let person = Person::new(client, &user);
    let project = person.project("Web").await;
    person.secret(&project, "production", "KEY", "kvc_value").await;
    let key = paths::secret(&project, "production", "KEY");
    (person, project, key)
}

/// Returns a request body that imports a hundred secrets. The keys begin with `prefix`, and each
/// value has `size` bytes.
fn import(prefix: &str, size: usize) -> Value {
    let value = "x".repeat(size);
    let secrets =
        (0..100).map(|number| json!({ "key": format!("{prefix}_{number}"), "value": value }));
    json!({ "secrets": secrets.collect::<Vec<_>>(), "overwrite": true })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_exports_do_not_delay_other_accounts() {
    let file = folder("unread_exports").join("secrets.db");
    let program =
        Program::serve("unread_exports", &file).with("SECRETS_MEMORY_BUDGET", "16").start();
    let (alice, project, _) = tenant(&program, "alice").await;
    let (bob, _, key) = tenant(&program, "bob").await;
    let secrets = paths::secrets(&project, "production");
    alice.post(&format!("{secrets}/bulk"), &import("KEY", 40_000)).await.is(200);
    let export = format!("{secrets}/export");
    let request = format!(
        "GET {export} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        jwt("alice")
    );

    let mut unread = Vec::new();
    for _ in 0..35 {
        let socket = TcpSocket::new_v4().unwrap();
        // A small buffer, so that the operating system does not accept the whole response.
        socket.set_recv_buffer_size(16_384).unwrap();
        let mut socket = socket.connect(program.address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        if unread.is_empty() {
            // The first response has begun, so memory of the account is reserved for it.
            let mut head = [0; 12];
            assert!(socket.peek(&mut head).await.unwrap() > 0);
        }
        unread.push(socket);
    }

    until("the account has its share", async || alice.get(&export).await.status == 503).await;

    bob.get(&key).await.is(200);
    bob.get(&export.replace(&project, &bob.project("Api").await)).await.is(200);

    drop(unread);
    until("the memory is released", async || alice.get(&export).await.status == 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_announced_and_not_sent_do_not_delay_other_accounts() {
    let file = folder("announced_bodies").join("secrets.db");
    let program =
        Program::serve("announced_bodies", &file).with("SECRETS_MEMORY_BUDGET", "16").start();
    let (bob, project, _) = tenant(&program, "bob").await;
    let bulk = format!("{}/bulk", paths::secrets(&project, "production"));

    // Together, the accounts announce twice the budget.
    let mut slow = Vec::new();
    for number in 0..8 {
        let name = format!("slow-{number}");
        let (_, project, _) = tenant(&program, &name).await;
        let mut socket = TcpStream::connect(program.address).await.unwrap();
        let request = format!(
            "POST {}/bulk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: 4194304\r\nExpect: 100-continue\r\n\r\n",
            paths::secrets(&project, "production"),
            jwt(&name)
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        // The service waits for the body.
        let mut line = [0; 25];
        socket.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
        socket.write_all(b"{").await.unwrap();
        slow.push(socket);
    }

    bob.post(&bulk, &import("KEY", 10_000)).await.is(200);
}

/// Sends imports with twenty tokens of one account, and asserts that another account can read a
/// secret in the meantime.
async fn reads_beside_imports(program: Running) {
    let (alice, project, _) = tenant(&program, "alice").await;
    let (bob, _, key) = tenant(&program, "bob").await;
    let bulk = format!("{}/bulk", paths::secrets(&project, "production"));
    let mut tokens = Vec::new();
    for _ in 0..20 {
        let token = json!({ "permissions": ["read", "write"], "all_projects": true });
        tokens.push(program.bearer(&alice.token(&token).await));
    }

    let mut imports = JoinSet::new();
    for number in 0..40 {
        let (token, bulk) = (tokens[number % 20].clone(), bulk.clone());
        imports.spawn(async move {
            let import = import(&format!("K{}", number % 5), 1_024);
            // A closed connection counts as 503: on a busy machine, the service may close a
            // connection of this client.
            token.try_post(&bulk, &import).await.map_or(503, |reply| reply.status)
        });
    }
    let mut times = Vec::new();
    while !imports.is_empty() {
        let begun = Instant::now();
        bob.get(&key).await.is(200);
        times.push(begun.elapsed());
        bob.get("/health").await.is(200);
        while let Some(status) = imports.try_join_next() {
            assert!(matches!(status.unwrap(), 200 | 503));
        }
    }

    times.sort();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    let _ = writeln!(stderr(), "{} reads, median {median:?}, longest {longest:?}", times.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imports_do_not_delay_reads_of_other_accounts_on_sqlite() {
    let file = folder("imports_sqlite").join("secrets.db");
    reads_beside_imports(Program::serve("imports_sqlite", &file).start()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imports_do_not_delay_reads_of_other_accounts_on_postgres() {
    let store = TestDatabase::create().await;
    let program = Program::serve("imports_postgres", "unused".as_ref())
        .with("SECRETS_DATABASE_URL", &store.url());
    reads_beside_imports(program.start()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_watches_is_a_setting() {
    let file = folder("watch_limit").join("secrets.db");
    let program = Program::serve("watch_limit", &file).with("SECRETS_WATCH_LIMIT", "4").start();
    let (alice, of_alice, _) = tenant(&program, "alice").await;
    let path = format!("{of_alice}/watch");

    let watch = alice.watch(&path, &[]).await;
    assert_eq!(watch.status(), 200);
    // A team may have a quarter of the event streams.
    alice.watch(&path, &[]).await.into_reply().await.is(429).code("rate_limited");

    let mut others = Vec::new();
    for name in ["bob", "carol", "dave"] {
        let (person, project, _) = tenant(&program, name).await;
        others.push(person.watch(&format!("{project}/watch"), &[]).await);
    }
    assert!(others.iter().all(|watch| watch.status() == 200));
    let (eve, project, _) = tenant(&program, "eve").await;
    let refused = eve.watch(&format!("{project}/watch"), &[]).await.into_reply().await;
    refused.is(503).code("unavailable");
}
