//! The `OpenAPI` 3.1 document of the API, generated from the table of routes and the types of
//! requests and responses.

mod doc;
mod document;
mod example;

pub(crate) use doc::Form;
pub use doc::{Answer, Content, Described, Doc};
pub use document::document;
