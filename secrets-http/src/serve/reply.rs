//! Rendering of responses.

use bytes::Bytes;
use serde::Serialize;
use serde::ser::SerializeMap as _;
use utoipa::ToSchema;
use warp::http::header::CONTENT_TYPE;
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

use crate::openapi::{Answer, Content, Described};

/// Shape of a successful response: its status, and the position of the operation's output in its
/// body.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// 200, with the output in a field with this name.
    Named(&'static str),
    /// 200, with the output as the whole body.
    Bare,
    /// 200, with the output as the whole body. The field `data` is never added.
    Unwrapped,
    /// 201, with the output in a field with this name.
    CreatedNamed(&'static str),
    /// 201, with the output as the whole body.
    Created,
    /// 204, without a body.
    Empty,
}

/// Envelope setting: the field names in which responses contain the output of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Envelope {
    /// The output is in a field with the name that the API specification gives, such as `secrets`.
    #[default]
    Named,
    /// The output is contained twice: as the API specification says, and in the field `data`,
    /// because published clients use one or the other. A response has no field `data` if it is a
    /// list, or if no published client expects the field there.
    Both,
}

/// Marker in the extensions of a response: the content at this path never changes, so clients may
/// cache the response.
#[derive(Debug, Clone, Copy)]
pub struct Immutable;

/// Renders the output of an operation as a response. Implemented by [`Shape`] and by functions.
pub trait Render<T>: Clone + Send + Sync + 'static {
    /// Renders the output of an operation as a response with this envelope setting.
    fn render(&self, output: &T, envelope: Envelope) -> Response;

    /// Returns all possible responses, for the OpenAPI document.
    fn answers(&self) -> Vec<Answer> {
        Vec::new()
    }
}

impl<T, F: Fn(&T, Envelope) -> Response + Clone + Send + Sync + 'static> Render<T> for F {
    fn render(&self, output: &T, envelope: Envelope) -> Response {
        self(output, envelope)
    }
}

impl<T: Serialize + ToSchema> Render<T> for Shape {
    fn render(&self, output: &T, envelope: Envelope) -> Response {
        match *self {
            Self::Named(name) | Self::CreatedNamed(name) => match envelope {
                Envelope::Named => json(self.status(), &Named(&[name], output)),
                Envelope::Both => json(self.status(), &Named(&[name, DATA], output)),
            },
            Self::Bare | Self::Created => object(self.status(), output, envelope),
            Self::Unwrapped => json(self.status(), output),
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
            Self::Unwrapped => vec![Content::json(described().unwrapped())],
            Self::Empty => Vec::new(),
        };
        vec![Answer::new(self.status().as_u16(), contents)]
    }
}

impl Shape {
    /// Returns the status of the response.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Named(_) | Self::Bare | Self::Unwrapped => StatusCode::OK,
            Self::CreatedNamed(_) | Self::Created => StatusCode::CREATED,
            Self::Empty => StatusCode::NO_CONTENT,
        }
    }
}

/// Name of the field that [`Envelope::Both`] adds to responses.
pub const DATA: &str = "data";

/// Creates a response with a JSON body. With [`Envelope::Both`], an object is repeated in its own
/// field `data`.
pub fn object<T: Serialize>(status: StatusCode, body: &T, envelope: Envelope) -> Response {
    let text = to_json(body);
    match envelope {
        Envelope::Named => json_response(status, text),
        Envelope::Both => json_response(status, with_data(text)),
    }
}

/// Creates a response with a JSON body.
pub fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    json_response(status, to_json(body))
}

/// Length in bytes that the bodies of most responses about one object do not exceed.
const USUAL_LENGTH: usize = 512;

fn to_json<T: Serialize>(body: &T) -> Vec<u8> {
    // Serialization does not fail: the types contain nothing that JSON cannot represent, such as
    // maps with keys other than strings.
    let mut text = Vec::with_capacity(USUAL_LENGTH);
    match serde_json::to_writer(&mut text, body) {
        Ok(()) => text,
        Err(_) => br#"{"error":"internal error"}"#.to_vec(),
    }
}

fn json_response(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Bytes::from(body).into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Adds the field `data`, which repeats the whole object, to the JSON text of an object. The JSON
/// text of any other value stays unchanged.
fn with_data(text: Vec<u8>) -> Vec<u8> {
    let Some(fields) = text.strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}")) else {
        return text;
    };
    let separator: &[u8] = if fields.is_empty() { b"" } else { b"," };
    [b"{", fields, separator, b"\"data\":", &text, b"}"].concat()
}

/// Creates a response with a text body of this media type.
pub fn text(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Bytes::from(text).into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Object that is serialized with one field for each of these names. All fields have the same
/// value.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_also_in_its_own_data_field() {
        for (text, expected) in [
            (r#"{"id":1,"name":"{}"}"#, r#"{"id":1,"name":"{}","data":{"id":1,"name":"{}"}}"#),
            ("{}", r#"{"data":{}}"#),
        ] {
            assert_eq!(with_data(text.into()), expected.as_bytes());
        }
    }

    #[test]
    fn a_list_has_no_data_field() {
        for text in ["[]", r#"[{"id":1}]"#, "null"] {
            assert_eq!(with_data(text.into()), text.as_bytes());
        }
    }
}
