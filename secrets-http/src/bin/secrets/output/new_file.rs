//! New files for secrets, which only the user can read.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Exit, Failure};

/// New file with mode 0600. The content is written to a temporary file, which is then renamed. So
/// no reader sees incomplete content, and an error leaves no file behind.
#[derive(Debug)]
pub(crate) struct NewFile {
    temporary: NamedTempFile,
    path: PathBuf,
    replaces: bool,
}

impl NewFile {
    /// Prepares a new file. If the file exists, fails unless `replaces` is true.
    pub(crate) fn create(path: &Path, replaces: bool) -> Result<Self, Failure> {
        if !replaces && path.symlink_metadata().is_ok() {
            return Err(failed(path, &ErrorKind::AlreadyExists.into()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let temporary = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
        let temporary = temporary.map_err(|error| failed(path, &error))?;
        Ok(Self { temporary, path: path.to_owned(), replaces })
    }

    /// Writes the content and renames the temporary file to its final path.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<(), Failure> {
        let file = &mut self.temporary;
        let written = file.write_all(bytes).and_then(|()| file.as_file().sync_all());
        written.map_err(|error| failed(&self.path, &error))?;
        let renamed = if self.replaces {
            self.temporary.persist(&self.path)
        } else {
            self.temporary.persist_noclobber(&self.path)
        };
        renamed.map(drop).map_err(|error| failed(&self.path, &error.error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::AlreadyExists => "exists already".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(Exit::CannotCreate, format!("{}: {reason}", path.display()))
}
