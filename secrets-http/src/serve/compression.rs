//! Compression of responses with gzip.
//!
//! Responses with secret values are never compressed: the length of a compressed response depends
//! on its content, so an attacker who can observe lengths could guess values (BREACH).

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt as _;
use warp::Filter as _;
use warp::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, VARY};
use warp::http::{HeaderMap, HeaderValue, StatusCode};
use warp::reply::Response;

use crate::serve::memory::PART;
use crate::serve::request::Head;
use crate::serve::router::Route;

/// Minimum size of a response that is compressed, in bytes.
const MIN_SIZE: usize = 1_024;

impl Route {
    /// Makes a route compress its responses for clients that accept gzip. The responses must not
    /// contain values of secrets.
    pub(crate) fn compressed(self) -> Self {
        let head = warp::ext::get::<Arc<Head>>();
        let filter = head.and(self.filter).then(compressed).boxed();
        Self { filter, ..self }
    }
}

async fn compressed(request: Arc<Head>, response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    head.headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if head.status != StatusCode::OK || !accepts_gzip(&request.headers) {
        return Response::from_parts(head, body);
    }
    // The body is in memory, so collecting it neither waits nor fails.
    let Ok(body) = body.collect().await else {
        head.status = StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(head, Vec::new().into());
    };
    let body = body.to_bytes();
    if body.len() < MIN_SIZE {
        return Response::from_parts(head, body.into());
    }
    let small = gzip_in_parts(&body).await;
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    if let Some(tag) = head.headers.get(ETAG).and_then(weak) {
        head.headers.insert(ETAG, tag);
    }
    Response::from_parts(head, small.into())
}

/// Converts an ETag to a weak ETag, because a strong ETag may belong to only one content coding
/// (RFC 9110, section 8.8.3.3). Returns `None` if the ETag is not visible ASCII text.
fn weak(tag: &HeaderValue) -> Option<HeaderValue> {
    let tag = tag.to_str().ok()?;
    HeaderValue::from_str(&format!("W/{}", tag.trim_start_matches("W/"))).ok()
}

/// Compresses a response part by part, so that other requests can run between the parts. Uses the
/// fastest compression level, with which a comparison of environments is already ten times smaller.
async fn gzip_in_parts(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for part in content.chunks(PART) {
        // Writing to memory does not fail.
        encoder.write_all(part).unwrap_or_default();
        tokio::task::yield_now().await;
    }
    encoder.finish().map(Bytes::from).unwrap_or_default()
}

/// Compresses data in one step, at this compression level. Used for the files of the dashboard.
pub(crate) fn gzip(content: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    // Writing to memory does not fail.
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.map(Bytes::from).unwrap_or_default()
}

/// True if the client accepts responses compressed with gzip (RFC 9110, section 12.5.3).
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().trim_start_matches("q=").trim_end_matches(['0', '.']);
        name.trim().eq_ignore_ascii_case("gzip") && (coding == name || !weight.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_only_where_it_is_accepted() {
        let cases = [
            ("gzip, deflate, br", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=1.0", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("br", false),
            ("x-gzip", false),
            ("", false),
        ];

        for (value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_strong_tag_becomes_weak() {
        for (tag, expected) in [("\"a\"", "W/\"a\""), ("W/\"a\"", "W/\"a\"")] {
            assert_eq!(weak(&HeaderValue::from_static(tag)).unwrap(), expected);
        }
    }
}
