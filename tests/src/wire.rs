//! Function that sends a request as raw bytes, for requests that an HTTP client would never send.

use std::net::SocketAddr;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{App, Reply};

impl App {
    /// Sends the raw bytes of a request in pieces, and reads until the server closes the
    /// connection. The request must contain `Connection: close`, unless the server closes the
    /// connection anyway.
    pub async fn wire(&self, pieces: &[&[u8]]) -> Reply {
        exchange(self.address, pieces).await
    }
}

async fn exchange(address: SocketAddr, pieces: &[&[u8]]) -> Reply {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let mut answer = Vec::new();
    let send = async {
        for piece in pieces {
            // The server may already have closed the connection.
            if to.write_all(piece).await.is_err() {
                break;
            }
        }
    };
    let ((), read) = tokio::join!(send, from.read_to_end(&mut answer));
    assert!(!answer.is_empty(), "no answer: {read:?}");
    parse(&answer)
}

fn parse(answer: &[u8]) -> Reply {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&answer[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    }
    Reply { status, headers, body: answer[end + 4..].to_vec().into() }
}
