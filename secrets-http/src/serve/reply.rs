//! Rendering of responses.

use bytes::Bytes;
use serde::Serialize;
use serde::ser::SerializeMap as _;
use serde_json::Value;
use utoipa::ToSchema;
use warp::http::header::CONTENT_TYPE;
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

use crate::openapi::{Answer, Content, Described};

/// Shape of a response: its status, and the position of the operation's output in the body.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// 200, with the output in a field of this name.
    Named(&'static str),
    /// 200, with the output as body.
    Bare,
    /// 201, with the output in a field of this name.
    CreatedNamed(&'static str),
    /// 201, with the output as body.
    Created,
    /// 204, without a body.
    Empty,
}

/// Field names that wrap the output in responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Envelope {
    /// The output in a field with the name in the API specification, such as `secrets`.
    #[default]
    Named,
    /// The output twice: in the specified field and in `data`; and a parent environment also as
    /// `inherits_from_id`. Published clients use either of the two names.
    Both,
}

/// Renders the output of an operation as a response. Implemented by [`Shape`] and by functions.
pub trait Render<T>: Clone + Send + Sync + 'static {
    /// Renders the output.
    fn render(&self, output: &T, envelope: Envelope) -> Response;

    /// Returns the possible responses, for the OpenAPI document.
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
                Envelope::Both => {
                    json(self.status(), &with_parent_alias(&Named(&[name, "data"], output)))
                }
            },
            Self::Bare | Self::Created => match envelope {
                Envelope::Named => json(self.status(), output),
                Envelope::Both => json(self.status(), &with_parent_alias(output)),
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
    /// Status of the response.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Named(_) | Self::Bare => StatusCode::OK,
            Self::CreatedNamed(_) | Self::Created => StatusCode::CREATED,
            Self::Empty => StatusCode::NO_CONTENT,
        }
    }
}

/// Creates a response with a JSON body.
pub fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    // Serialization does not fail: the types contain nothing that JSON cannot represent, such as
    // maps with keys other than strings.
    let body =
        serde_json::to_vec(body).unwrap_or_else(|_| br#"{"error":"internal error"}"#.to_vec());
    let mut response = Response::new(Bytes::from(body).into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Creates a response with a text body of this media type.
pub fn text(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Bytes::from(text).into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Serializes an object with one field for each of the names, all with the same value.
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

/// Serializes an output, with `inherits_from` duplicated as `inherits_from_id`.
fn with_parent_alias(output: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(output).unwrap_or_default();
    add_parent_alias(&mut value);
    value
}

fn add_parent_alias(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(add_parent_alias),
        Value::Object(fields) => {
            fields.values_mut().for_each(add_parent_alias);
            if let Some(parent) = fields.get("inherits_from").cloned() {
                fields.insert("inherits_from_id".to_owned(), parent);
            }
        }
        _ => {}
    }
}
