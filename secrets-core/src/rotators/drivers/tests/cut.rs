//! Tests of connections that block, or that are cut while a change is being made.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::servers::{all, apply};
use crate::model::rotations::{PermissionLevel, SslMode};
use crate::ports::rotator::{Fault, Target};

/// Starts a proxy in front of the server on `port`. The proxy cuts the connection when the client
/// sends `word`. If `is_heard`, the server still receives `word`, but the client does not receive
/// the response; otherwise the server does not receive `word`. Returns the proxy's port.
async fn cut_at(port: u16, word: &'static [u8], is_heard: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let between = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (mut said, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
            loop {
                tokio::select! {
                    count = client.read(&mut said) => {
                        let Ok(count @ 1..) = count else { break };
                        let has_word = said[..count].windows(word.len()).any(|part| part == word);
                        if !has_word || is_heard {
                            server.write_all(&said[..count]).await.unwrap();
                        }
                        if has_word {
                            // The server has finished the statement when it responds.
                            if is_heard {
                                let count = server.read(&mut answered).await.unwrap();
                                assert!(count > 0, "the server has closed the connection");
                            }
                            break;
                        }
                    }
                    count = server.read(&mut answered) => {
                        let Ok(count @ 1..) = count else { break };
                        client.write_all(&answered[..count]).await.unwrap();
                    }
                }
            }
        }
    });
    between
}

#[tokio::test]
async fn a_change_without_an_answer_has_an_unknown_outcome() {
    for server in all() {
        for is_heard in [true, false] {
            let target = server.database("cut").await;
            let apply = apply(PermissionLevel::Read);
            let word: &[u8] = if server.is_postgres() { b"COMMIT" } else { b"ALTER USER" };
            let port = cut_at(target.port, word, is_heard).await;
            // Sends MySQL the full password, so that the password is in its cache.
            server.rotator.test(&target).await.unwrap();
            let cut = Target { port, ssl_mode: SslMode::Disable, ..target.clone() };

            let error = server.rotator.apply(&cut, &apply).await.unwrap_err();

            assert_eq!(error.fault, Fault::Interrupted);
            let verified = server.rotator.verify(&target, &apply.login, apply.level).await;
            assert_eq!(verified.is_ok(), is_heard);
            server.rotator.apply(&target, &apply).await.unwrap();
            server.rotator.verify(&target, &apply.login, apply.level).await.unwrap();
            server.clear(&target, &[&apply]).await;
        }
    }
}

#[tokio::test]
async fn a_held_lock_is_not_waited_for_long() {
    for server in all() {
        let target = server.database("busy").await;
        let apply = apply(PermissionLevel::Read);
        let rotation = apply.fence.rotation;
        let hold = if server.is_postgres() {
            format!("SELECT pg_advisory_lock(hashtextextended('kv:{rotation}', 0))")
        } else {
            format!("SELECT GET_LOCK('kv:{rotation}', 0)")
        };

        let outcome = server.holding(&target, &hold, server.rotator.apply(&target, &apply)).await;

        assert_eq!(outcome.unwrap_err().fault, Fault::Busy);
        server.rotator.apply(&target, &apply).await.unwrap();
        server.clear(&target, &[&apply]).await;
    }
}
