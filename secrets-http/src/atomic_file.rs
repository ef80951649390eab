//! Atomic writes of files: a reader sees either the old or the new content.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Permissions of a written file. The umask may remove some of them.
#[derive(Debug, Clone, Copy)]
pub enum Access {
    /// Mode 0600: accessible by the owner only.
    Private,
    /// Mode 0666: readable and writable by everybody, like the files of other programs.
    Shared,
    /// Mode 0755: readable and executable by everybody.
    Executable,
}

/// File that is written atomically. The content is written to a temporary file in the same folder,
/// which is then renamed. An error leaves the path unchanged and no temporary file behind.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
    path: PathBuf,
    is_synced: bool,
}

impl AtomicFile {
    /// Creates the temporary file for a write to `path`.
    pub fn create(path: &Path, access: Access) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        set_mode(&mut options, access);
        // Not `tempfile_in`: its error messages contain the name of the temporary file.
        let temporary =
            tempfile::Builder::new().make_in(folder(path), |name| options.open(name))?;
        Ok(Self { temporary, path: path.to_owned(), is_synced: true })
    }

    /// Disables the sync to disk. A power failure may then leave a damaged file.
    #[must_use]
    pub fn without_sync(mut self) -> Self {
        self.is_synced = false;
        self
    }

    /// Writes the content, and replaces the file at the path. A symbolic link is replaced, not
    /// followed.
    pub fn replace(self, content: &[u8]) -> io::Result<()> {
        self.write(content, true)
    }

    /// Writes the content to a new file. If the path exists, even as a symbolic link without a
    /// target, fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    pub fn write_new(self, content: &[u8]) -> io::Result<()> {
        self.write(content, false)
    }

    fn write(mut self, content: &[u8], replaces: bool) -> io::Result<()> {
        let file = self.temporary.as_file_mut();
        file.write_all(content)?;
        if self.is_synced {
            file.sync_all()?;
        }
        // Closed before it is renamed: a file that is open for writing cannot be executed.
        let temporary = self.temporary.into_temp_path();
        if replaces {
            temporary.persist(&self.path)?;
        } else {
            temporary.persist_noclobber(&self.path)?;
        }
        if self.is_synced {
            // An error is ignored: the file is complete, and some file systems cannot sync folders.
            let _ = File::open(folder(&self.path)).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}

/// Returns the folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn set_mode(options: &mut OpenOptions, access: Access) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(match access {
        Access::Private => 0o600,
        Access::Shared => 0o666,
        Access::Executable => 0o755,
    });
}

#[cfg(not(unix))]
fn set_mode(_options: &mut OpenOptions, _access: Access) {}
