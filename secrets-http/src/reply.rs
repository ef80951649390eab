//! Answers.

use bytes::Bytes;
use serde::Serialize;
use serde::ser::SerializeMap as _;
use warp::http::header::CONTENT_TYPE;
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

/// How an operation's output is put into an answer.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// 200, under a name.
    Named(&'static str),
    /// 200, as it is.
    Bare,
    /// 201, under a name.
    CreatedNamed(&'static str),
    /// 201, as it is.
    Created,
    /// 204, without a body.
    Empty,
}

/// Puts an operation's output into an answer: a [`Shape`], or a function where none fits.
pub trait Render<T>: Clone + Send + Sync + 'static {
    /// The answer that holds an output.
    fn render(&self, output: &T) -> Response;
}

impl<T, F: Fn(&T) -> Response + Clone + Send + Sync + 'static> Render<T> for F {
    fn render(&self, output: &T) -> Response {
        self(output)
    }
}

impl<T: Serialize> Render<T> for Shape {
    fn render(&self, output: &T) -> Response {
        match *self {
            Self::Named(name) => json(StatusCode::OK, &Named(name, output)),
            Self::Bare => json(StatusCode::OK, output),
            Self::CreatedNamed(name) => json(StatusCode::CREATED, &Named(name, output)),
            Self::Created => json(StatusCode::CREATED, output),
            Self::Empty => {
                let mut response = Response::default();
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
        }
    }
}

impl Shape {
    /// The status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Named(_) | Self::Bare => StatusCode::OK,
            Self::CreatedNamed(_) | Self::Created => StatusCode::CREATED,
            Self::Empty => StatusCode::NO_CONTENT,
        }
    }
}

/// An answer with a JSON body.
pub fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    // Our types have no maps with other keys than strings and nothing else that JSON cannot hold.
    let body =
        serde_json::to_vec(body).unwrap_or_else(|_| br#"{"error":"internal error"}"#.to_vec());
    let mut response = Response::new(Bytes::from(body).into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer with a text for a body.
pub fn text(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Bytes::from(text).into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

struct Named<'a, T>(&'static str, &'a T);

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, self.1)?;
        map.end()
    }
}
