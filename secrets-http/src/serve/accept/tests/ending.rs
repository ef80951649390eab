//! Tests of the graceful shutdown: running requests finish within the grace period.

use super::*;

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_end() {
    let server = Server::start(AcceptOptions { drain: Duration::from_mins(1), ..short() }).await;
    let mut client = server.connect().await;
    client.send("GET /slow HTTP/1.1\r\nhost: test\r\n\r\n").await;
    sleep(Duration::from_millis(50)).await;

    let drained = server.stop().await;

    assert_eq!(drained, Drained { cut: 0 });
    let (answer, _) = client.rest().await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("connection: close"));
}

#[tokio::test]
async fn a_connection_at_rest_is_closed_at_once() {
    // A connection that is not closed at once is open for a minute.
    let minute = Duration::from_mins(1);
    let options = AcceptOptions { head: minute, idle: minute, drain: minute, ..short() };
    let server = Server::start(options).await;
    let mut rested = server.connect().await;
    let mut fresh = server.connect().await;
    rested.get("/").await;
    sleep(Duration::from_millis(50)).await;

    let start = Instant::now();
    let drained = server.stop().await;

    assert_eq!(drained, Drained { cut: 0 });
    assert!(start.elapsed() < minute / 2, "{:?}", start.elapsed());
    assert_eq!(rested.rest().await.0, "");
    assert_eq!(fresh.rest().await.0, "");
}

/// Checks that a connection still gets a response if the server had not accepted it when it was
/// stopped. The clients connect and send without awaiting, so that the server, on the same thread,
/// cannot accept the connections before.
#[tokio::test]
async fn a_connection_that_was_not_accepted_yet_is_answered() {
    let server = Server::start(AcceptOptions { linger: Duration::from_secs(20), ..short() }).await;
    let waiting: Vec<_> = (0..64)
        .map(|_| {
            let mut client = std::net::TcpStream::connect(server.address).unwrap();
            io::Write::write_all(&mut client, b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").unwrap();
            client.set_nonblocking(true).unwrap();
            Client(TcpStream::from_std(client).unwrap())
        })
        .collect();

    let drained = server.stop().await;

    assert_eq!(drained, Drained { cut: 0 });
    for mut client in waiting {
        let (answer, _) = client.rest().await;
        assert_eq!(status(&answer), "200");
        assert!(answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn a_request_on_an_idle_connection_is_answered_for_a_moment() {
    let server = Server::start(AcceptOptions { linger: Duration::from_secs(20), ..short() }).await;
    let address = server.address;
    let mut client = server.connect().await;
    client.get("/").await;

    let ended = tokio::spawn(server.stop());
    // The listener is closed after the response to each request closes its connection.
    while TcpStream::connect(address).await.is_ok() {
        sleep(Duration::from_millis(1)).await;
    }
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n").await;

    let (answer, _) = client.rest().await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(ended.await.unwrap(), Drained { cut: 0 });
}

#[tokio::test]
async fn a_request_that_does_not_end_is_cut_at_the_deadline() {
    let server = Server::start(short()).await;
    let mut client = server.connect().await;
    client.send("GET /endless HTTP/1.1\r\nhost: test\r\n\r\n").await;
    sleep(Duration::from_millis(50)).await;

    let start = Instant::now();
    let drained = server.stop().await;

    assert_eq!(drained, Drained { cut: 1 });
    assert!(start.elapsed() >= short().drain);
    // The request itself takes a minute.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(client.rest().await.0, "");
}

#[tokio::test]
async fn no_new_connection_is_accepted() {
    let server = Server::start(AcceptOptions { drain: Duration::from_mins(1), ..short() }).await;
    let address = server.address;
    let mut client = server.connect().await;
    client.send("GET /slow HTTP/1.1\r\nhost: test\r\n\r\n").await;
    sleep(Duration::from_millis(50)).await;

    let ended = tokio::spawn(server.stop());
    sleep(Duration::from_millis(50)).await;

    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(ended.await.unwrap(), Drained { cut: 0 });
}
