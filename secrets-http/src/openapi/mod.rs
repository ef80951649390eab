//! The `OpenAPI` 3.1 document of the API, generated from the table of routes and the types of
//! requests and responses.

mod doc;
mod document;
mod errors;
mod example;
mod headers;
mod names;
mod optional;
mod rules;
mod schema;
mod tags;

pub(crate) use doc::Form;
pub use doc::{Answer, Content, Doc};
pub use document::document;
pub use schema::Described;
pub(crate) use schema::Variant;
