//! Event streams of a test server: responses that have no end.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use crate::Reply;

/// Open event stream, whose events a test reads as they arrive.
pub struct Watch {
    response: Response<Incoming>,
    text: String,
}

/// Event of an event stream, as a test received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// ID of the event; empty if the event has none.
    pub id: String,
    /// Data of the event, parsed from JSON.
    pub data: Value,
}

impl Watch {
    pub(crate) fn new(response: Response<Incoming>) -> Self {
        Self { response, text: String::new() }
    }

    /// Returns the status code of the response.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Converts the response into a reply. The reply to a successful request has an empty body,
    /// because the event stream has no end.
    pub async fn into_reply(self) -> Reply {
        let (parts, body) = self.response.into_parts();
        let is_ok = parts.status.is_success();
        let body = if is_ok { Bytes::new() } else { body.collect().await.unwrap().to_bytes() };
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Returns the lines of the next event or comment, unparsed; `None` at the end of the stream.
    /// Panics if nothing arrives within this number of seconds.
    pub async fn next(&mut self, seconds: u64) -> Option<String> {
        let within = Duration::from_secs(seconds);
        timeout(within, self.block()).await.unwrap_or_else(|_| panic!("no event: {}", self.text))
    }

    /// Returns the lines of the next event, unparsed; `None` at the end of the stream. Skips
    /// comments, which only keep the connection open. Panics if neither comes within this number of
    /// seconds.
    pub async fn next_event(&mut self, seconds: u64) -> Option<String> {
        let event = async {
            loop {
                let block = self.block().await;
                if !block.as_ref().is_some_and(|block| block.starts_with(':')) {
                    return block;
                }
            }
        };
        let within = Duration::from_secs(seconds);
        timeout(within, event).await.unwrap_or_else(|_| panic!("no event: {}", self.text))
    }

    /// Parses the lines of an event, which [`next`](Self::next) returned.
    #[track_caller]
    #[must_use]
    pub fn parse(block: Option<String>) -> Event {
        let block = block.unwrap();
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let id = field("id:").unwrap_or_default().trim().to_owned();
        let data = field("data:").unwrap_or_else(|| panic!("no data in {block:?}"));
        Event { id, data: serde_json::from_str(data).unwrap() }
    }

    /// Returns true if no event arrives for this number of seconds. Comments, which only keep the
    /// connection open, do not count.
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
