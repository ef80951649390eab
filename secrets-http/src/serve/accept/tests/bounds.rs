//! Tests of the limits on the size of requests and the number of connections.

use std::process::Command;

use super::*;
use crate::serve::descriptors::raise_limit;

/// Environment variable that is set in a child process with a low limit on open files, which runs
/// the same test program.
const FEW_FILES: &str = "SECRETS_TEST_FEW_FILES";

fn with_headers(count: usize) -> String {
    let lines = "x: x\r\n".repeat(count - 1);
    format!("GET / HTTP/1.1\r\nhost: test\r\n{lines}\r\n")
}

#[tokio::test]
async fn a_head_of_too_many_lines_is_answered_431() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;
    let mut greedy = server.connect().await;

    client.send(&with_headers(64)).await;
    greedy.send(&with_headers(65)).await;

    assert_eq!(status(&client.answer().await), "200");
    assert_eq!(status(&greedy.rest().await.0), "431");
}

#[tokio::test]
async fn a_head_of_too_many_bytes_is_answered_431() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;
    let mut greedy = server.connect().await;
    let with = |bytes| format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(bytes));

    client.send(&with(31 * 1024)).await;
    greedy.send(&with(33 * 1024)).await;

    assert_eq!(status(&client.answer().await), "200");
    assert_eq!(status(&greedy.rest().await.0), "431");
}

#[tokio::test]
async fn a_connection_over_the_limit_waits_for_another_to_end() {
    let server = Server::start(AcceptOptions { connections: 2, ..short() }).await;
    let mut first = server.connect().await;
    let mut second = server.connect().await;
    first.get("/").await;
    second.get("/").await;

    let mut third = server.connect().await;
    let waited = timeout(Duration::from_millis(400), third.get("/")).await;
    drop(first);
    let answer = third.answer().await;

    assert!(waited.is_err());
    assert_eq!(status(&answer), "200");
}

#[tokio::test]
async fn the_connections_of_an_address_are_limited() {
    let (counted, head) = (Networks::default(), Duration::from_mins(1));
    let options = AcceptOptions { connections_per_address: 2, uncounted: counted, head, ..short() };
    let server = Server::start(options).await;
    let mut first = server.connect().await;
    let mut second = server.connect().await;
    first.get("/").await;
    second.get("/").await;

    let refused = server.connect().await.rest().await;
    drop(first);
    // Give the server time to notice the closed connection.
    sleep(Duration::from_millis(100)).await;
    let mut again = server.connect().await;

    assert_eq!(refused.0, "");
    assert!(refused.1 < head, "{:?}", refused.1);
    assert_eq!(status(&again.get("/").await), "200");
}

#[tokio::test]
async fn connections_of_this_machine_are_not_counted() {
    let server = Server::start(AcceptOptions { connections_per_address: 1, ..short() }).await;
    let mut first = server.connect().await;
    let mut second = server.connect().await;

    assert_eq!(status(&first.get("/").await), "200");
    assert_eq!(status(&second.get("/").await), "200");
}

#[test]
fn the_addresses_of_an_ipv6_network_share_their_limit() {
    let options = AcceptOptions::default();
    let places = |address: &str| options.places(address.parse().unwrap());

    assert_eq!(places("2001:db8::1"), places("2001:db8::2"));
    assert_ne!(places("2001:db8::1"), places("2001:db8:0:1::1"));
    assert_ne!(places("192.0.2.1"), places("192.0.2.2"));
}

#[test]
fn the_number_of_connections_follows_the_number_of_files() {
    let numbers = |files| {
        let options = AcceptOptions::default().within_files(files);
        (options.connections, options.connections_per_address)
    };

    assert_eq!(numbers(None), (8_192, 1_024));
    assert_eq!(numbers(Some(1_048_576)), (8_192, 1_024));
    assert_eq!(numbers(Some(1_024)), (768, 96));
    assert_eq!(numbers(Some(256)), (64, 8));
    assert_eq!(numbers(Some(4)), (1, 1));
}

/// Runs a test again in a child process with another soft limit on open files.
fn run_with_files(test: &str, limit: &str) {
    let child = Command::new("sh")
        .args(["-c", r#"ulimit $2 && exec "$0" --exact --nocapture "$1""#])
        .arg(std::env::current_exe().unwrap())
        .arg(format!("serve::accept::tests::bounds::{test}"))
        .arg(limit)
        .env(FEW_FILES, "1")
        .output()
        .unwrap();

    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{child:?}");
    eprintln!("{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
fn running_out_of_files_does_not_end_the_loop() {
    if std::env::var_os(FEW_FILES).is_some() {
        return out_of_files();
    }
    run_with_files("running_out_of_files_does_not_end_the_loop", "-n 40");
}

/// Checks that silent connections do not use up all connections. The soft limit of the child
/// process, 512 open files, is too low for the configured number of connections.
#[test]
fn silent_connections_leave_room_for_others() {
    if std::env::var_os(FEW_FILES).is_some() {
        return silent_connections();
    }
    run_with_files("silent_connections_leave_room_for_others", "-S -n 512");
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections() {
    let files = raise_limit();
    assert!(files.is_none_or(|files| files > 512), "{files:?}");
    // Both ends of a connection are files of this process.
    let silent = files.map_or(2_000, |files| (files / 4).min(2_000));
    let patient = AcceptOptions { head: Duration::from_mins(1), ..short() };
    let server = Server::start(patient.within_files(files)).await;
    let mut connections = Vec::new();
    let mut worst = Duration::ZERO;

    for number in 0..silent {
        connections.push(server.connect().await);
        if number % 50 == 0 {
            let start = Instant::now();
            assert_eq!(status(&server.connect().await.get("/").await), "200");
            worst = worst.max(start.elapsed());
        }
    }

    eprintln!("worst of a healthy client beside {silent} silent connections: {worst:?}");
    for mut connection in connections {
        assert_eq!(status(&connection.get("/").await), "200");
    }
}

/// Checks that the server recovers when no file descriptor is left. The clients use up all
/// descriptors before the server accepts a connection: they connect without awaiting, on the thread
/// that the server shares.
#[tokio::main(flavor = "current_thread")]
async fn out_of_files() {
    let patient = AcceptOptions { head: Duration::from_secs(20), ..short() };
    let server = Server::start(patient).await;
    let mut clients = Vec::new();
    while let Ok(client) = std::net::TcpStream::connect(server.address) {
        clients.push(client);
    }
    assert!(clients.len() > 5, "{} connections", clients.len());

    let last = clients.pop().unwrap();
    last.set_nonblocking(true).unwrap();
    let mut last = Client(TcpStream::from_std(last).unwrap());
    let starved = timeout(Duration::from_millis(200), last.get("/")).await;
    drop(clients);
    sleep(ACCEPT_RETRY_DELAY * 2).await;

    assert!(starved.is_err(), "the file descriptors were not exhausted: {starved:?}");
    assert_eq!(status(&server.connect().await.get("/").await), "200");
}
