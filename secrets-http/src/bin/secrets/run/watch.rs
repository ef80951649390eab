//! Watch for changes of an environment's secrets: reads the server-sent events of the service
//! (`…/watch`).

use std::time::Duration;

use reqwest::Method;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::values::{Values, fetch};
use crate::failure::{Exit, Failure};
use crate::invocation::Place;
use crate::service::{Request, Service};

/// Time without a further change after which a series of changes counts as complete.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Maximum time to wait for the end of a series of changes.
const MAX_SERIES: Duration = Duration::from_secs(5);

/// Time without an event or a keep-alive comment after which the connection counts as lost. The
/// service sends comments every 15 seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);

const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_mins(1);

/// Maximum number of bytes of an event.
const MAX_EVENT: usize = 64 * 1024;

/// Message from a [`Watch`] to the supervisor of the running program.
#[derive(Debug)]
pub(super) enum Message {
    /// The secrets have new values.
    Changed(Values),
    /// Changes cannot be read, for example because the service is unreachable. Sent once for each
    /// outage.
    Interrupted(Failure),
    /// The credential may no longer read the environment. Sent once.
    Revoked(Failure),
}

/// Subscription to the service's events about changed secrets. It ends when the receiver of its
/// messages is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    service: Service,
    place: Place,
    /// ETag of the secrets that the running program has.
    etag: Option<String>,
    /// Revision in the last event: a value that changes with every change of the environment's
    /// secrets. The secrets of the running program are at least as new as this revision.
    revision: Option<String>,
    splay: Duration,
    messages: mpsc::Sender<Message>,
    outage: Outage,
}

/// Delay and sent messages of a series of failures, reset when a connection works again.
#[derive(Debug)]
struct Outage {
    /// Time to wait before the next connection.
    backoff: Duration,
    /// True if [`Message::Interrupted`] was sent.
    is_interrupted: bool,
    /// True if [`Message::Revoked`] was sent.
    is_revoked: bool,
}

impl Default for Outage {
    fn default() -> Self {
        Self { backoff: MIN_BACKOFF, is_interrupted: false, is_revoked: false }
    }
}

impl Watch {
    /// Starts watching an environment. Each change is reported after a random delay of up to
    /// `splay`.
    pub(super) fn start(
        service: Service,
        place: Place,
        etag: Option<String>,
        splay: Duration,
    ) -> mpsc::Receiver<Message> {
        let (messages, receiver) = mpsc::channel(1);
        let (revision, outage) = (None, Outage::default());
        let watch = Self { service, place, etag, revision, splay, messages, outage };
        tokio::spawn(watch.run());
        receiver
    }

    async fn run(mut self) {
        while !self.messages.is_closed() {
            if let Err(failure) = self.follow().await {
                self.report(failure).await;
            }
            let backoff = self.outage.backoff;
            sleep(backoff / 2 + random(backoff / 2)).await;
            self.outage.backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    /// Reports a failure, unless a failure of the same kind was reported in this outage.
    async fn report(&mut self, failure: Failure) {
        let revoked = is_revocation(&failure);
        let outage = &mut self.outage;
        let is_sent = if revoked { &mut outage.is_revoked } else { &mut outage.is_interrupted };
        if !std::mem::replace(is_sent, true) {
            let message =
                if revoked { Message::Revoked(failure) } else { Message::Interrupted(failure) };
            self.send(message).await;
        }
    }

    /// Handles the events of one connection until it ends. An outage ends when a change is fetched,
    /// or when the service has sent more than the first event, which it sends immediately.
    async fn follow(&mut self) -> Result<(), Failure> {
        let mut events = Events::open(self).await?;
        let mut is_working = false;
        while events.read().await? {
            while let Some(revision) = take_revision(&mut events.buffer) {
                if self.revision.as_ref() != Some(&revision) {
                    let revision = events.settle(revision).await?;
                    sleep(random(self.splay)).await;
                    self.refresh().await?;
                    // A change that could not be fetched is announced again by the next connection.
                    self.revision = Some(revision);
                    is_working = true;
                }
            }
            if std::mem::replace(&mut is_working, true) {
                self.outage = Outage::default();
            }
        }
        Ok(())
    }

    async fn refresh(&mut self) -> Result<(), Failure> {
        if let Some(values) = fetch(&self.service, &self.place, self.etag.as_deref()).await? {
            self.etag.clone_from(&values.etag);
            self.send(Message::Changed(values)).await;
        }
        Ok(())
    }

    async fn send(&self, message: Message) {
        // Without a receiver, the program has ended.
        let _ = self.messages.send(message).await;
    }
}

/// Server-sent events of one connection.
struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl Events {
    async fn open(watch: &Watch) -> Result<Self, Failure> {
        let path = watch.place.path(&["watch"]);
        let mut request = Request::new(Method::GET, &path).header("accept", "text/event-stream");
        if let Some(revision) = &watch.revision {
            request = request.header("last-event-id", revision);
        }
        let response = watch.service.stream(&request).await?;
        Ok(Self { response, buffer: Vec::new() })
    }

    /// Waits for the next event and returns its revision. Returns `None` at the end of the
    /// connection.
    async fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            if let Some(revision) = take_revision(&mut self.buffer) {
                return Ok(Some(revision));
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// Waits until a series of changes is complete, and returns the revision of the last change.
    async fn settle(&mut self, mut revision: String) -> Result<String, Failure> {
        let end = Instant::now() + MAX_SERIES;
        loop {
            let until = end.min(Instant::now() + QUIET_TIME);
            match timeout_at(until, self.next()).await {
                Ok(Ok(Some(later))) => revision = later,
                Ok(Err(failure)) => return Err(failure),
                // The connection has ended, or no event arrived within the quiet time.
                Ok(Ok(None)) | Err(_) => return Ok(revision),
            }
        }
    }

    async fn read(&mut self) -> Result<bool, Failure> {
        let lost = |reason: String| Failure::new(Exit::Unavailable, reason);
        let chunk = timeout(IDLE_TIMEOUT, self.response.chunk())
            .await
            .map_err(|_| lost("no event in time".to_owned()))?
            .map_err(|_| lost("the connection was lost".to_owned()))?;
        let Some(chunk) = chunk else { return Ok(false) };
        self.buffer.extend_from_slice(&chunk);
        if self.buffer.len() > MAX_EVENT {
            return Err(lost("an event is too large".to_owned()));
        }
        Ok(true)
    }
}

/// Removes the first complete event from the buffer, and returns its ID; `None` if there is none.
/// Comments and events without a valid ID are skipped.
fn take_revision(buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        let end = buffer.windows(2).position(|pair| pair == b"\n\n")?;
        let event: Vec<u8> = buffer.drain(..end + 2).collect();
        let text = String::from_utf8_lossy(&event);
        let id = text.lines().find_map(|line| line.strip_prefix("id:")).map(str::trim);
        // Other characters cannot be sent back, as `Last-Event-ID`.
        if let Some(id) = id.filter(|id| id.chars().all(|c| c.is_ascii_graphic())) {
            return Some(id.to_owned());
        }
    }
}

fn is_revocation(failure: &Failure) -> bool {
    matches!(failure.exit, Exit::NotSignedIn | Exit::Forbidden | Exit::NotFound)
}

/// Returns a random duration between zero and `limit`.
fn random(limit: Duration) -> Duration {
    let mut bytes = [0; 4];
    // If no random numbers are available, the duration is zero.
    let _ = getrandom::fill(&mut bytes);
    limit.mul_f64(f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_complete_after_an_empty_line() {
        let mut buffer = b":\n\nid:\x1b\n\nid:r1\ndata:{}\n\nid: r2\nda".to_vec();

        assert_eq!(take_revision(&mut buffer).as_deref(), Some("r1"));
        assert_eq!(take_revision(&mut buffer), None);
        buffer.extend_from_slice(b"ta:{}\n\n");
        assert_eq!(take_revision(&mut buffer).as_deref(), Some("r2"));
        assert!(buffer.is_empty());
    }
}
