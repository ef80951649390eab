//! Load generator: several connections, each of which sends one request after another and checks
//! every response.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use hyper::StatusCode;
use tokio::task::JoinSet;

use crate::Failure;
use crate::http::{Call, Connection};
use crate::server::Server;

/// Series of similar requests, and the response that each request must get.
pub(crate) struct Work {
    /// Function that returns the request with this number. No number is used twice, so that each
    /// request can create a different object.
    pub(crate) call: Box<dyn Fn(u64) -> Call + Send + Sync>,
    pub(crate) status: StatusCode,
    /// String that the body of each response must contain.
    pub(crate) text: &'static str,
    pub(crate) connections: u64,
    /// Function that returns true for requests whose latency is recorded.
    pub(crate) is_timed: fn(&Call) -> bool,
}

/// Measurements of one run of a series of requests.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// Responses per second.
    pub(crate) rate: f64,
    /// CPU time of the server per response, in microseconds.
    pub(crate) cpu: f64,
    /// Median latency of a request, in microseconds.
    pub(crate) p50: f64,
    /// 99th percentile of the latency of a request, in microseconds.
    pub(crate) p99: f64,
}

/// Sends requests on all connections for `warm_up`, which is not measured, and then for `time`.
/// Returns the measurements. Fails if a response is not as expected.
pub(crate) async fn run(
    server: &Server,
    work: &std::sync::Arc<Work>,
    numbers: &std::sync::Arc<std::sync::atomic::AtomicU64>,
    warm_up: Duration,
    time: Duration,
) -> Result<Sample, Failure> {
    let begin = Instant::now() + warm_up;
    let end = begin + time;
    let mut tasks = JoinSet::new();
    for _ in 0..work.connections {
        let mut connection = Connection::open(server.address).await?;
        let (work, numbers) = (work.clone(), numbers.clone());
        tasks.spawn(async move {
            let mut latencies = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)?;
            let mut requests = 0_u32;
            loop {
                let number = numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let call = (work.call)(number);
                let sent = Instant::now();
                if sent >= end {
                    return Ok::<_, Failure>((latencies, requests));
                }
                let (status, body) = connection.answer(&call).await?;
                check(&work, &call, status, &body)?;
                let received = Instant::now();
                if sent >= begin && received <= end {
                    requests += 1;
                }
                if sent >= begin && received <= end && (work.is_timed)(&call) {
                    let micros = received.duration_since(sent).as_micros();
                    latencies.record(u64::try_from(micros)?.max(1))?;
                }
            }
        });
    }
    tokio::time::sleep_until(begin.into()).await;
    let before = server.cpu()?;
    tokio::time::sleep_until(end.into()).await;
    let cpu = server.cpu()?.saturating_sub(before);
    let mut latencies = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)?;
    let mut requests = 0.0;
    while let Some(task) = tasks.join_next().await {
        let (those, number) = task??;
        latencies.add(those)?;
        requests += f64::from(number);
    }
    if requests == 0.0 {
        return Err("no response came in time".into());
    }
    Ok(Sample {
        rate: requests / time.as_secs_f64(),
        cpu: cpu.as_secs_f64() * 1e6 / requests,
        p50: latencies.value_at_quantile(0.5) as f64,
        p99: latencies.value_at_quantile(0.99) as f64,
    })
}

fn check(work: &Work, call: &Call, status: StatusCode, body: &Bytes) -> Result<(), Failure> {
    let contains =
        |text: &[u8]| text.is_empty() || body.windows(text.len()).any(|part| part == text);
    if status == work.status && contains(work.text.as_bytes()) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(300)]);
    Err(format!("{} {}: {status} {text}", call.method, call.path).into())
}
