//! New files for secrets, which only the user can read.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use secrets_http::atomic_file::{Access, AtomicFile};

use crate::failure::{Exit, Failure};

/// New file with mode 0600, which is written atomically.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: AtomicFile,
    path: PathBuf,
    replaces: bool,
}

impl NewFile {
    /// Prepares a new file. If the file exists, fails unless `replaces` is true.
    pub(crate) fn create(path: &Path, replaces: bool) -> Result<Self, Failure> {
        if !replaces && path.symlink_metadata().is_ok() {
            return Err(failed(path, &ErrorKind::AlreadyExists.into()));
        }
        let file = AtomicFile::create(path, Access::Private);
        let file = file.map_err(|error| failed(path, &error))?;
        Ok(Self { file, path: path.to_owned(), replaces })
    }

    /// Writes the content.
    pub(crate) fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        let written =
            if self.replaces { self.file.replace(bytes) } else { self.file.write_new(bytes) };
        written.map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::AlreadyExists => "exists already".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(Exit::CannotCreate, format!("{}: {reason}", path.display()))
}
