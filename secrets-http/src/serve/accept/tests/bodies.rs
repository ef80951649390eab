//! Tests of request bodies that the handler does not read.

use super::*;

/// Returns the head of a request with a body of `length` bytes.
fn head(path: &str, length: usize, header: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {length}\r\n{header}\r\n")
}

/// Returns options with long timeouts for unread bodies, so that a test notices if a response waits
/// for the end of a body.
fn patient() -> AcceptOptions {
    let long = Duration::from_secs(20);
    AcceptOptions { discard: long, write_stall: long, ..short() }
}

fn closes(answer: &str) -> bool {
    answer.contains("connection: close")
}

/// Checks the case of a client that sends the head and the body in two packets, and is interrupted
/// between the two.
#[tokio::test]
async fn a_body_that_arrives_after_the_handler_has_ended_keeps_the_connection_open() {
    for body in
        ["content-length: 2\r\n\r\n{}", "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"]
    {
        let server = Server::start(patient()).await;
        let mut client = server.connect().await;
        let (first, second) = body.split_at(body.find("{}").unwrap());

        client.send(&format!("POST / HTTP/1.1\r\nhost: test\r\n{first}")).await;
        sleep(Duration::from_millis(100)).await;
        client.send(second).await;
        let answer = client.answer().await;
        let next = client.get("/").await;

        assert_eq!((status(&answer), status(&next)), ("200", "200"), "{body}");
        assert!(!closes(&answer), "{answer}");
    }
}

#[tokio::test]
async fn a_body_of_64_kib_that_is_not_read_keeps_the_connection_open() {
    let server = Server::start(patient()).await;
    let mut client = server.connect().await;

    client.send(&(head("/", 65_536, "") + &"x".repeat(65_536))).await;
    let answer = client.answer().await;
    let next = client.get("/").await;

    assert_eq!((status(&answer), status(&next)), ("200", "200"));
    assert!(!closes(&answer), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_delays_the_response_only_for_a_limited_time() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;
    let start = Instant::now();

    client.send(&head("/", 2, "")).await;
    let answer = client.answer().await;

    assert_eq!(status(&answer), "200");
    assert!(closes(&answer), "{answer}");
    assert!(start.elapsed() >= short().discard, "{:?}", start.elapsed());
    assert_eq!(client.rest().await.0, "");
}

/// Checks that a client can read the response after it has sent a large body, although the server
/// responded before the end of the body.
#[tokio::test]
async fn a_large_body_that_is_not_read_does_not_destroy_the_response() {
    let server = Server::start(patient()).await;
    for text in [head("/", LARGE, ""), head("/", 0, "transfer-encoding: chunked\r\n")] {
        let text = text.replace("content-length: 0\r\n", "");
        let mut client = server.connect().await;
        client.send(&text).await;
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(65_536));
        for _ in 0..LARGE / chunk.len() {
            client.send(&chunk).await;
        }

        let answer = client.answer().await;

        assert_eq!(status(&answer), "200");
        assert!(closes(&answer), "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_sends_slowly_can_read_the_response_at_the_end() {
    let options = AcceptOptions { discard: Duration::from_secs(5), ..patient() };
    let server = Server::start(options.clone()).await;
    let mut client = server.connect().await;
    client.send(&head("/", LARGE, "")).await;
    let start = Instant::now();
    while start.elapsed() < options.discard + Duration::from_secs(1) {
        client.send(&"x".repeat(65_536)).await;
        sleep(Duration::from_millis(50)).await;
    }

    let answer = client.answer().await;

    assert_eq!(status(&answer), "200");
}

/// Checks that the handler's response to an invalid body announces the end of the connection.
#[tokio::test]
async fn a_body_that_is_invalid_ends_the_connection() {
    let server = Server::start(patient()).await;
    let mut client = server.connect().await;
    let text = "POST /read HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n";

    client.send(text).await;
    let answer = client.answer().await;

    assert_eq!(status(&answer), "200");
    assert!(closes(&answer), "{answer}");
}

/// Checks that a second request is answered if the unread body before it has at most 64 KiB, and is
/// not executed if that body is larger.
#[tokio::test]
async fn a_pipelined_request_is_answered_only_if_the_body_before_it_was_received() {
    let server = Server::start(patient()).await;
    let next = "GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    for (length, answers) in [(65_536, 2), (65_537, 1)] {
        let mut client = server.connect().await;

        client.send(&(head("/", length, "") + &"x".repeat(length) + next)).await;
        client.0.shutdown().await.unwrap();
        let (answered, _) = client.rest().await;

        assert_eq!(answered.matches("HTTP/1.1 200").count(), answers, "{length}");
    }
}

#[tokio::test]
async fn data_is_discarded_only_for_a_limited_time() {
    let server = Server::start(short()).await;
    let (mut reading, mut writing) = server.connect().await.0.into_split();
    let start = Instant::now();
    writing.write_all(head("/", usize::MAX >> 1, "").as_bytes()).await.unwrap();
    let endless = tokio::spawn(async move { while writing.write_all(b"xxxx").await.is_ok() {} });

    let mut answer = Vec::new();
    let _ = reading.read_to_end(&mut answer).await;

    assert!(answer.ends_with(b"hello"));
    timeout(Duration::from_secs(20), endless).await.expect("the server reads on").unwrap();
    assert!(start.elapsed() >= short().discard, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_client_that_awaits_permission_to_send_a_body_is_answered_without_delay() {
    let server = Server::start(patient()).await;
    let mut client = server.connect().await;

    client.send(&head("/", 2, "expect: 100-continue\r\n")).await;
    let answer = client.answer().await;

    assert_eq!(status(&answer), "200");
    assert!(closes(&answer), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_read_after_permission_keeps_the_connection_open() {
    let server = Server::start(patient()).await;
    let mut client = server.connect().await;

    client.send(&head("/read", 2, "expect: 100-continue\r\n")).await;
    let mut interim = [0; 25];
    client.0.read_exact(&mut interim).await.unwrap();
    client.send("{}").await;
    let answer = client.answer().await;
    let next = client.get("/").await;

    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!((status(&answer), status(&next)), ("200", "200"));
    assert!(!closes(&answer), "{answer}");
}

/// Checks that a stopping server does not wait for a client that keeps its connection open.
#[tokio::test]
async fn a_stop_does_not_wait_for_bodies_that_do_not_arrive() {
    let server = Server::start(AcceptOptions { drain: Duration::from_secs(20), ..short() }).await;
    let mut client = server.connect().await;
    client.send(&head("/", LARGE, "")).await;
    let answer = client.answer().await;

    let drained = server.stop().await;

    assert_eq!((status(&answer), drained), ("200", Drained { cut: 0 }));
}
