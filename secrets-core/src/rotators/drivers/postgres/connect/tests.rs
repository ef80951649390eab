//! Tests of unencrypted connections to a PostgreSQL server.

use tokio::net::TcpListener;

use super::*;
use crate::model::rotations::DatabaseKind;
use crate::rotators::drivers::tests::plaintext::{PUBLIC, dialers, target};

#[tokio::test]
async fn postgres_is_sent_nothing_in_plaintext_unless_it_is_listed() {
    let target = target(DatabaseKind::POSTGRESQL);
    let mut outcomes = Vec::new();
    for dialer in dialers() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let rotator = PostgresRotator::new(dialer);
        let guard = rotator.protect(&target, (stream, PUBLIC), Trust::Plain, Arc::default()).await;
        outcomes.push(guard.map(drop).map_err(|error| error.fault));

        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"");
    }

    assert_eq!(outcomes, [Err(Fault::NotAllowed), Ok(()), Ok(())]);
}
