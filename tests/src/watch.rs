//! Answers that do not end by themselves.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use crate::Reply;

/// An answer of events, read as they come.
pub struct Watch {
    response: Response<Incoming>,
    text: String,
}

/// What came next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// Its data.
    pub data: Value,
}

impl Watch {
    pub(crate) fn new(response: Response<Incoming>) -> Self {
        Self { response, text: String::new() }
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The reply; without the body, if that is one of events.
    pub async fn into_reply(self) -> Reply {
        let (parts, body) = self.response.into_parts();
        let is_ok = parts.status.is_success();
        let body = if is_ok { Bytes::new() } else { body.collect().await.unwrap().to_bytes() };
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// The next event or comment, which comes within so many seconds; `None` at the end.
    pub async fn next(&mut self, seconds: u64) -> Option<String> {
        let within = Duration::from_secs(seconds);
        timeout(within, self.block())
            .await
            .unwrap_or_else(|_| panic!("nothing came: {}", self.text))
    }

    /// What came, as an event.
    #[track_caller]
    #[must_use]
    pub fn parse(block: Option<String>) -> Event {
        let block = block.unwrap();
        let field = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name} in {block:?}")).trim().to_owned()
        };
        Event { id: field("id:"), data: serde_json::from_str(&field("data:")).unwrap() }
    }

    /// Whether no event comes for so many seconds; comments, which keep the connection alive, may.
    pub async fn is_silent(&mut self, seconds: u64) -> bool {
        let event =
            async { while self.block().await.is_some_and(|block| block.starts_with(':')) {} };
        timeout(Duration::from_secs(seconds), event).await.is_err()
    }

    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let frame = self.response.body_mut().frame().await?.ok()?;
            self.text.push_str(std::str::from_utf8(frame.data_ref()?).unwrap());
        }
    }
}
