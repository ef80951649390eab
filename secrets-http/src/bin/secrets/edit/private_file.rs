//! Private file that an editor opens. It is in a private folder, which is in memory if the system
//! has a file system in memory.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;

/// Maximum size of the edited file, in bytes: 64 MiB.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// File that an editor opens. When dropped, the file and all files that the editor has created
/// beside it are overwritten and removed.
#[derive(Debug)]
pub(crate) struct PrivateFile {
    folder: TempDir,
    path: PathBuf,
}

impl PrivateFile {
    /// Creates the file with mode 0600 in a folder with mode 0700.
    pub(crate) fn create(cx: &Invocation, text: &str) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::new(Exit::CannotCreate, format!("file for the editor: {error}"))
        };
        let folder = folder(cx)?;
        let path = folder.path().join("secrets.env");
        let file = Self { folder, path };
        let mut created = new_file(&file.path).map_err(failed)?;
        created.write_all(text.as_bytes()).map_err(failed)?;
        Ok(file)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the text that the editor has saved.
    pub(crate) fn read(&self) -> Result<Zeroizing<String>, Failure> {
        let failed = |reason: &str| {
            Failure::new(Exit::Data, format!("the edited file {reason}; nothing was changed"))
        };
        let file = fs::File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("was removed"),
            _ => failed(&format!("cannot be read: {error}")),
        })?;
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| failed(&format!("cannot be read: {error}")))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(failed("is larger than 64 MiB"));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| failed("is not text in UTF-8"))?;
        Ok(Zeroizing::new(text.to_owned()))
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // The folder is removed in any case. An editor may have left further copies in it.
        for entry in fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let _ = overwrite(&entry.path());
            }
        }
    }
}

/// Creates the private folder in the first place that works: the user's file system in memory
/// (`XDG_RUNTIME_DIR`), the system's file system in memory (`/dev/shm`), or the folder for
/// temporary files.
fn folder(cx: &Invocation) -> Result<TempDir, Failure> {
    let runtime = cx.settings.variables.get("XDG_RUNTIME_DIR")?.map(PathBuf::from);
    let in_memory = runtime.into_iter().chain([PathBuf::from("/dev/shm")]);
    for place in in_memory.filter(|place| place.is_dir()) {
        if let Ok(folder) = private_folder(&place) {
            return Ok(folder);
        }
    }
    cx.output.hint("no file system in memory: the edited text is on disk while the editor runs");
    private_folder(&std::env::temp_dir()).map_err(|error| {
        Failure::new(Exit::CannotCreate, format!("folder for the editor's file: {error}"))
    })
}

#[cfg(unix)]
fn private_folder(place: &Path) -> io::Result<TempDir> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut builder = tempfile::Builder::new();
    builder.prefix("secrets-").permissions(fs::Permissions::from_mode(0o700)).tempdir_in(place)
}

#[cfg(not(unix))]
fn private_folder(place: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("secrets-").tempdir_in(place)
}

fn new_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Replaces the content of a file by zeros.
fn overwrite(path: &Path) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    let length = file.metadata()?.len();
    io::copy(&mut io::repeat(0).take(length), &mut file)?;
    file.sync_all()
}
