//! Memory of large responses: limits on those that are prepared, and on those that wait for their
//! clients to read them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use secrets_core::model::{Error, UserId};
use tokio::sync::Notify;
use tokio::time::timeout;
use warp::http::Extensions;

/// Maximum number of large responses prepared at the same time, in all and for one account.
const MAX_PREPARED: usize = 4;
const MAX_PREPARED_PER_ACCOUNT: usize = 2;

/// Share of the memory budget at which an account waits: a quarter.
const SHARE: u64 = 4;

/// Maximum wait for memory.
const WAIT: Duration = Duration::from_secs(3);

/// Size of the parts in which a body is sent, in bytes.
const PART: usize = 64 * 1024;

/// Large responses in progress.
pub struct Answers {
    /// Memory budget in bytes.
    budget: u64,
    /// Maximum wait for memory.
    wait: Duration,
    usage: Mutex<Usage>,
    released: Notify,
}

#[derive(Default)]
struct Usage {
    all: Share,
    accounts: HashMap<UserId, Share>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Share {
    prepared: usize,
    bytes: u64,
}

/// A large response that is prepared, or that is being sent. Releases its memory when dropped.
pub struct LargeAnswer {
    answers: Arc<Answers>,
    account: UserId,
    share: Share,
}

impl Answers {
    /// Creates limits with a memory budget in bytes.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        Self { budget, wait: WAIT, usage: Mutex::default(), released: Notify::new() }
    }

    /// Waits until another large response of an account may be prepared. Fails after three seconds.
    pub async fn prepare(self: &Arc<Self>, account: UserId) -> Result<LargeAnswer, Error> {
        let prepared = async {
            loop {
                let released = self.released.notified();
                if let Some(answer) = self.try_prepare(account) {
                    return answer;
                }
                released.await;
            }
        };
        let too_many = |_| Error::Unavailable("too many large responses are in progress".into());
        timeout(self.wait, prepared).await.map_err(too_many)
    }

    fn try_prepare(self: &Arc<Self>, account: UserId) -> Option<LargeAnswer> {
        let mut usage = self.usage();
        let own = usage.accounts.get(&account).copied().unwrap_or_default();
        let is_free = own.prepared < MAX_PREPARED_PER_ACCOUNT
            && own.bytes < self.budget / SHARE
            && usage.all.prepared < MAX_PREPARED
            && usage.all.bytes < self.budget;
        let share = Share { prepared: 1, bytes: 0 };
        is_free.then(|| {
            usage.add(account, share);
            LargeAnswer { answers: Arc::clone(self), account, share }
        })
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Usage {
    fn add(&mut self, account: UserId, share: Share) {
        for usage in [&mut self.all, self.accounts.entry(account).or_default()] {
            usage.prepared += share.prepared;
            usage.bytes += share.bytes;
        }
    }

    fn remove(&mut self, account: UserId, share: Share) {
        for usage in [&mut self.all, self.accounts.entry(account).or_default()] {
            usage.prepared -= share.prepared;
            usage.bytes -= share.bytes;
        }
        if self.accounts.get(&account) == Some(&Share::default()) {
            self.accounts.remove(&account);
        }
    }
}

impl LargeAnswer {
    /// Returns the permission as an extension of a response, from which [`take`](Self::take) takes it.
    pub fn extensions(answer: Option<Self>) -> Extensions {
        let mut extensions = Extensions::new();
        if let Some(answer) = answer {
            extensions.insert(Arc::new(answer));
        }
        extensions
    }

    /// Takes the permission from the extensions of a response.
    pub fn take(extensions: &mut Extensions) -> Option<Self> {
        Arc::into_inner(extensions.remove::<Arc<Self>>()?)
    }

    /// Counts the body of the response, which is complete, until it was sent.
    #[must_use]
    fn hold(mut self, bytes: u64) -> Self {
        let share = Share { prepared: 0, bytes };
        let mut usage = self.answers.usage();
        usage.add(self.account, share);
        usage.remove(self.account, self.share);
        drop(usage);
        self.share = share;
        self.answers.released.notify_waiters();
        self
    }
}

impl Drop for LargeAnswer {
    fn drop(&mut self) {
        self.answers.usage().remove(self.account, self.share);
        self.answers.released.notify_waiters();
    }
}

/// Body that is sent in parts. Each part is a copy, so that the connection never holds the whole
/// body, and the memory of a response is counted until all of it was sent.
pub struct Parts<B> {
    body: B,
    rest: Bytes,
    _answer: Option<LargeAnswer>,
}

impl<B: Body> Parts<B> {
    /// Wraps the body of a response.
    pub fn new(body: B, answer: Option<LargeAnswer>) -> Self {
        let size = body.size_hint().lower();
        let answer = answer.map(|answer| answer.hold(size));
        Self { body, rest: Bytes::new(), _answer: answer }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Parts<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) if frame.data_ref().is_some_and(|data| data.len() > PART) => {
                    self.rest = frame.into_data().unwrap_or_default();
                }
                next => return Poll::Ready(next),
            }
        }
        let part = Bytes::copy_from_slice(&self.rest[..self.rest.len().min(PART)]);
        self.rest.advance(part.len());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, self.body.size_hint());
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + rest);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::{BodyExt as _, Full};
    use uuid::Uuid;

    use super::*;

    fn account(number: u128) -> UserId {
        Uuid::from_u128(number).into()
    }

    fn prepare(answers: &Arc<Answers>, number: u128) -> Option<LargeAnswer> {
        answers.prepare(account(number)).now_or_never().map(Result::unwrap)
    }

    #[tokio::test]
    async fn two_responses_of_an_account_are_prepared_at_once_and_four_in_all() {
        let answers = Arc::new(Answers::new(1_000));

        let prepared: Vec<_> = [1, 1, 1, 2, 2, 2, 3].map(|number| prepare(&answers, number)).into();

        let is_prepared: Vec<_> = prepared.iter().map(Option::is_some).collect();
        assert_eq!(is_prepared, [true, true, false, true, true, false, false]);
        drop(prepared);
        assert!(prepare(&answers, 3).is_some());
        assert!(answers.usage().accounts.is_empty());
    }

    #[tokio::test]
    async fn an_account_that_does_not_read_waits_for_itself_only() {
        let answers = Arc::new(Answers::new(1_000));
        let unread = prepare(&answers, 1).unwrap().hold(250);

        assert!(prepare(&answers, 1).is_none());
        assert!(prepare(&answers, 2).is_some());
        drop(unread);
        assert!(prepare(&answers, 1).is_some());
    }

    #[tokio::test]
    async fn all_responses_share_the_budget() {
        let answers = Arc::new(Answers::new(1_000));
        let unread: Vec<_> =
            (1..=4).map(|number| prepare(&answers, number).unwrap().hold(250)).collect();

        assert!(prepare(&answers, 5).is_none());
        drop(unread);
        assert!(prepare(&answers, 5).is_some());
    }

    #[tokio::test]
    async fn the_wait_ends_when_memory_is_released_or_after_a_time() {
        let wait = Duration::from_millis(10);
        let answers = Arc::new(Answers { wait, ..Answers::new(1_000) });
        let _unread = prepare(&answers, 1).unwrap().hold(250);
        assert!(matches!(answers.prepare(account(1)).await, Err(Error::Unavailable(_))));

        let answers = Arc::new(Answers::new(1_000));
        let unread = prepare(&answers, 1).unwrap().hold(250);
        let mut waiting = Box::pin(answers.prepare(account(1)));
        assert!((&mut waiting).now_or_never().is_none());
        drop(unread);

        assert!(waiting.now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_body_is_sent_in_parts_and_its_memory_is_held_until_the_end() {
        let answers = Arc::new(Answers::new(1_000_000));
        let text: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let answer = prepare(&answers, 1);
        let mut body = Parts::new(Full::new(Bytes::from(text.clone())), answer);
        assert_eq!(body.size_hint().exact(), Some(200_000));
        assert_eq!(answers.usage().all, Share { prepared: 0, bytes: 200_000 });

        let mut sent = Vec::new();
        while let Some(part) = body.frame().await {
            let part = part.unwrap().into_data().unwrap();
            assert!(part.len() <= PART);
            sent.extend_from_slice(&part);
            assert_eq!(body.size_hint().exact(), Some((200_000 - sent.len()) as u64));
        }

        assert!(sent == text);
        assert!(body.is_end_stream());
        drop(body);
        assert_eq!(answers.usage().all, Share::default());
    }
}
