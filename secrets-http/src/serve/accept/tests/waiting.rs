//! Tests of the timeouts for every wait for a client.

use super::*;

/// Returns options with a long idle timeout, so that only the timeout for the head of a request
/// ends a silent connection soon.
fn only_heads() -> AcceptOptions {
    AcceptOptions { idle: Duration::from_mins(1), ..short() }
}

/// True if a connection was open for about the time `expected`: at least 90 percent of it, and less
/// than 30 seconds, because a busy machine may notice the end late.
fn about(elapsed: Duration, expected: Duration) -> bool {
    (expected * 9 / 10..Duration::from_secs(30)).contains(&elapsed)
}

#[tokio::test]
async fn a_silent_client_is_cut() {
    let server = Server::start(only_heads()).await;
    let mut client = server.connect().await;

    let (answer, elapsed) = client.rest().await;

    assert_eq!(answer, "");
    assert!(about(elapsed, short().head), "{elapsed:?}");
}

#[tokio::test]
async fn a_client_that_does_not_finish_a_head_is_cut() {
    let server = Server::start(only_heads()).await;
    let mut client = server.connect().await;
    client.send("GET / HTTP/1.1\r\nhost: te").await;

    let (_, elapsed) = client.rest().await;

    assert!(about(elapsed, short().head), "{elapsed:?}");
}

#[tokio::test]
async fn a_client_that_writes_a_head_byte_by_byte_is_cut() {
    let server = Server::start(only_heads()).await;
    let (mut reading, mut writing) = server.connect().await.0.into_split();
    let start = Instant::now();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    });

    let mut nothing = Vec::new();
    let _ = reading.read_to_end(&mut nothing).await;

    assert!(about(start.elapsed(), short().head), "{:?}", start.elapsed());
    dripping.abort();
}

#[tokio::test]
async fn a_connection_may_rest_for_longer_than_a_head_may_take() {
    let server = Server::start(only_heads()).await;
    let mut client = server.connect().await;
    client.get("/").await;

    sleep(short().head * 3).await;

    assert_eq!(status(&client.get("/").await), "200");
}

#[tokio::test]
async fn a_connection_that_rests_too_long_is_closed() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;
    client.get("/").await;

    let (answer, elapsed) = client.rest().await;

    assert_eq!(answer, "");
    assert!(about(elapsed, short().idle), "{elapsed:?}");
}

#[tokio::test]
async fn a_second_request_must_be_written_as_quickly_as_the_first() {
    let server = Server::start(only_heads()).await;
    let mut client = server.connect().await;
    client.get("/").await;
    sleep(short().head).await;
    client.send("GET / HT").await;

    let (_, elapsed) = client.rest().await;

    assert!(about(elapsed, short().head), "{elapsed:?}");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut() {
    let server = Server::start(AcceptOptions { idle: Duration::from_mins(1), ..short() }).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut client = Client(socket.connect(server.address).await.unwrap());
    client.send("GET /large HTTP/1.1\r\nhost: test\r\n\r\n").await;

    sleep(short().write_stall * 3).await;

    let (answer, _) = client.rest().await;
    assert!(answer.starts_with("HTTP/1.1 200"));
    assert!(answer.len() < LARGE, "{} bytes", answer.len());
}

#[tokio::test]
async fn a_client_that_takes_too_long_is_cut_although_it_reads() {
    let server = Server::start(AcceptOptions { idle: Duration::from_mins(1), ..short() }).await;
    let mut client = server.connect().await;
    client.send("GET /large HTTP/1.1\r\nhost: test\r\n\r\n").await;

    // Each read lets the server make progress, but the whole would take a minute.
    let (mut received, mut buffer) = (0, vec![0; 64 * 1024]);
    for _ in 0..24 {
        sleep(short().write_stall / 4).await;
        received += client.0.read(&mut buffer).await.unwrap_or_default();
    }

    received += client.0.read_to_end(&mut Vec::new()).await.unwrap_or_default();
    assert!(received < LARGE, "{received} bytes");
}

#[tokio::test]
async fn a_client_that_reads_slowly_gets_all_of_its_answer() {
    let write_stall = Duration::from_secs(5);
    let server = Server::start(AcceptOptions { write_stall, ..only_heads() }).await;
    let mut client = server.connect().await;
    client.send("GET /large HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").await;

    let mut received = 0;
    let mut buffer = vec![0; LARGE / 8];
    // Together longer than a stall may last.
    for _ in 0..4 {
        sleep(write_stall * 3 / 10).await;
        received += client.0.read_exact(&mut buffer).await.unwrap();
    }
    received += client.0.read_to_end(&mut Vec::new()).await.unwrap();

    assert!(received > LARGE, "{received} bytes");
}
