//! Editing the secrets of an environment as a text file. The modules contain the document, the
//! private file that holds the text while the editor runs, the editor, and the changes between the
//! environment and the edited text.

pub(crate) mod document;
mod editor;
mod environment;
mod plan;
mod private_file;

pub(crate) use editor::Editor;
pub(crate) use environment::Environment;
pub(crate) use plan::{changes, discard, merge, with_marks};
pub(crate) use private_file::PrivateFile;
