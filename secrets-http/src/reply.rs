//! Answers.

use bytes::Bytes;
use serde::Serialize;
use serde::ser::SerializeMap as _;
use serde_json::Value;
use utoipa::ToSchema;
use warp::http::header::CONTENT_TYPE;
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

use crate::openapi::{Answer, Content, Described};

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

/// Under which names clients find what an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Envelope {
    /// The name that the interface gives it.
    #[default]
    Named,
    /// That one and `data`; a parent environment also as `inherits_from_id`. Published clients read
    /// one or the other.
    Both,
}

/// Puts an operation's output into an answer: a [`Shape`], or a function where none fits.
pub trait Render<T>: Clone + Send + Sync + 'static {
    /// The answer that holds an output.
    fn render(&self, output: &T, envelope: Envelope) -> Response;

    /// What the document tells of it.
    fn answers(&self) -> Vec<Answer> {
        Vec::new()
    }
}

impl<T, F: Fn(&T) -> Response + Clone + Send + Sync + 'static> Render<T> for F {
    fn render(&self, output: &T, _: Envelope) -> Response {
        self(output)
    }
}

impl<T: Serialize + ToSchema> Render<T> for Shape {
    fn render(&self, output: &T, envelope: Envelope) -> Response {
        match *self {
            Self::Named(name) | Self::CreatedNamed(name) => match envelope {
                Envelope::Named => json(self.status(), &Named(&[name], output)),
                Envelope::Both => json(self.status(), &widened(&Named(&[name, "data"], output))),
            },
            Self::Bare | Self::Created => match envelope {
                Envelope::Named => json(self.status(), output),
                Envelope::Both => json(self.status(), &widened(output)),
            },
            Self::Empty => {
                let mut response = Response::default();
                *response.status_mut() = self.status();
                response
            }
        }
    }

    fn answers(&self) -> Vec<Answer> {
        let described = || Described::of::<T>();
        let contents = match *self {
            Self::Named(name) | Self::CreatedNamed(name) => {
                vec![Content::json(described().under(name))]
            }
            Self::Bare | Self::Created => vec![Content::json(described())],
            Self::Empty => Vec::new(),
        };
        vec![Answer::new(self.status().as_u16(), contents)]
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

/// The same under each name.
struct Named<'a, T>(&'a [&'static str], &'a T);

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for name in self.0 {
            map.serialize_entry(name, self.1)?;
        }
        map.end()
    }
}

/// An output with the parents of its environments under their other name as well.
fn widened(output: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(output).unwrap_or_default();
    widen(&mut value);
    value
}

fn widen(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(widen),
        Value::Object(fields) => {
            fields.values_mut().for_each(widen);
            if let Some(parent) = fields.get("inherits_from").cloned() {
                fields.insert("inherits_from_id".to_owned(), parent);
            }
        }
        _ => {}
    }
}
