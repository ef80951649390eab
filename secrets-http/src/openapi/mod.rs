//! The document of the interface (`OpenAPI` 3.1), made of the table of routes and of the types that
//! requests and answers are made of.

mod doc;
mod document;
mod example;

pub(crate) use doc::Form;
pub use doc::{Answer, Content, Described, Doc};
pub use document::document;
