//! The file `credentials.toml`: one entry for each origin (scheme, host and port of a service).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use secrets_http::atomic_file::{Access, AtomicFile};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Credential, CredentialMetadata, StoreKind};
use crate::failure::{Exit, Failure};
use crate::settings::Folders;

const FILE_NAME: &str = "credentials.toml";
const LOCK_NAME: &str = "credentials.lock";

/// Maximum time to wait while another process is changing the credential file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The file `credentials.toml`, readable by its owner only. Has one entry for each origin (scheme,
/// host and port) of a server.
#[derive(Debug)]
pub(crate) struct CredentialFile {
    folder: PathBuf,
}

/// Entry of one origin in the file. The token and the private key are absent if the keychain holds
/// them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) store: StoreKind,
    #[serde(flatten)]
    pub(super) metadata: CredentialMetadata,
    token: Option<Zeroizing<String>>,
    private_key: Option<Zeroizing<String>>,
}

type Entries = BTreeMap<String, Entry>;

impl Entry {
    pub(super) fn new(credential: &Credential, store: StoreKind) -> Self {
        let metadata = credential.metadata.clone();
        match store {
            StoreKind::Keychain => Self { store, metadata, token: None, private_key: None },
            StoreKind::File => {
                let (token, private_key) =
                    (Some(credential.token.clone()), credential.private_key.clone());
                Self { store, metadata, token, private_key }
            }
        }
    }

    pub(super) fn into_credential(self) -> Result<Credential, Failure> {
        let token = self.token.ok_or_else(|| {
            Failure::configuration(format!("{FILE_NAME}: an entry has no token; sign in again"))
        })?;
        Ok(Credential { token, metadata: self.metadata, private_key: self.private_key })
    }
}

impl CredentialFile {
    /// Returns the file in the data folder. The file need not exist.
    pub(crate) fn of(folders: &Folders) -> Self {
        Self { folder: folders.data.clone() }
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// Returns the origins that have an entry, in alphabetical order.
    pub(crate) fn origins(&self) -> Result<Vec<String>, Failure> {
        Ok(self.read()?.into_keys().collect())
    }

    /// Returns the kind of storage of an origin's credential, and its metadata; `None` if no
    /// credential is stored. The keychain is not accessed.
    pub(crate) fn metadata(
        &self,
        origin: &str,
    ) -> Result<Option<(StoreKind, CredentialMetadata)>, Failure> {
        Ok(self.entry(origin)?.map(|entry| (entry.store, entry.metadata)))
    }

    /// Loads the entry of an origin; `None` if there is none.
    pub(super) fn entry(&self, origin: &str) -> Result<Option<Entry>, Failure> {
        Ok(self.read()?.remove(origin))
    }

    /// Replaces the entry of an origin, or removes it if `entry` is `None`. Returns the earlier
    /// entry, if any. A lock file prevents processes from overwriting each other's changes.
    pub(super) fn set(&self, origin: &str, entry: Option<Entry>) -> Result<Option<Entry>, Failure> {
        create_private_folder(&self.folder).map_err(|error| self.unusable(&error))?;
        let _lock = self.lock()?;
        let mut entries = self.read()?;
        let previous = match entry {
            Some(entry) => entries.insert(origin.to_owned(), entry),
            None => entries.remove(origin),
        };
        let text = toml::to_string(&entries)
            .map(Zeroizing::new)
            .map_err(|error| Failure::new(Exit::Defect, format!("{FILE_NAME}: {error}")))?;
        AtomicFile::create(&self.path(), Access::Private)
            .and_then(|file| file.replace(text.as_bytes()))
            .map_err(|error| self.unusable(&error))?;
        Ok(previous)
    }

    fn read(&self) -> Result<Entries, Failure> {
        let path = self.path();
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Entries::new()),
            Err(error) => return Err(self.unusable(&error)),
            Ok(file) => file,
        };
        let mut text = Zeroizing::new(String::new());
        let metadata = file.metadata().map_err(|error| self.unusable(&error))?;
        check_mode(&path, &metadata)?;
        file.read_to_string(&mut text).map_err(|error| self.unusable(&error))?;
        // The parser's message would quote the line, which may contain a credential.
        toml::from_str(&text).map_err(|_| {
            let path = path.display();
            Failure::configuration(format!("{path}: cannot be read; delete it and sign in again"))
        })
    }

    fn lock(&self) -> Result<File, Failure> {
        let path = self.folder.join(LOCK_NAME);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| self.unusable(&error))?;
        let until = Instant::now() + LOCK_TIMEOUT;
        while file.try_lock().is_err() {
            if Instant::now() >= until {
                let message = format!("{}: held by another process", path.display());
                return Err(Failure::new(Exit::Conflict, message));
            }
            std::thread::sleep(LOCK_POLL_INTERVAL);
        }
        Ok(file)
    }

    fn unusable(&self, error: &io::Error) -> Failure {
        Failure::configuration(format!("{}: {error}", self.path().display()))
    }
}

/// Creates a folder that only its owner can enter.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &fs::Metadata) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt as _;
    const OF_OTHERS: u32 = 0o077;
    if metadata.mode() & OF_OTHERS == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::configuration(format!(
        "{path}: must be accessible by its owner only; repair it with chmod 600 {path}"
    )))
}

#[cfg(not(unix))]
fn check_mode(_path: &Path, _metadata: &fs::Metadata) -> Result<(), Failure> {
    Ok(())
}
