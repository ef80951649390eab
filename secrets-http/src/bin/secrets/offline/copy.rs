//! Offline copy of an environment's secrets, as files on this machine.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrets_core::bundle::{BundleError, BundleMetadata, Opener, RecipientKey, Signer, Unlock};
use secrets_core::model::{Clock as _, EnvironmentId, ProjectId, SystemClock, Time};
use secrets_http::atomic_file::{Access, AtomicFile};
use serde::{Deserialize, Serialize};

use crate::credentials::create_private_folder;
use crate::failure::{Exit, Failure};
use crate::run::Values;

const BUNDLE_NAME: &str = "secrets.bundle";
const RECORD_NAME: &str = "record.json";
const SIGNER_NAME: &str = "signer";

/// Offline copy of one environment for one user or service token: a bundle file, and a record about
/// the last bundle that was stored.
#[derive(Debug)]
pub(super) struct CopyFile {
    /// Folder for all copies of one server. If the sign-in has not pinned a signer, the file
    /// `signer` in this folder contains the public key of the first bundle's signer.
    server: PathBuf,
    folder: PathBuf,
    signer: Option<Signer>,
    key: RecipientKey,
}

/// Information about the last stored bundle. With it, an older bundle and a bundle of another
/// environment are refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    etag: Option<String>,
    seq: u64,
    project: ProjectId,
    environment: EnvironmentId,
}

/// Offline copy that was opened: the secrets and the metadata of the bundle.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) values: Values,
    pub(super) metadata: BundleMetadata,
}

impl CopyFile {
    /// Creates a handle to a copy, whose files are in a folder below `state`. `names` are the names
    /// of the server, the project, the environment, and the user or service token.
    pub(super) fn new(
        state: &Path,
        names: [&str; 4],
        key: RecipientKey,
        signer: Option<Signer>,
    ) -> Self {
        let [server, rest @ ..] = names.map(encoded);
        let server = state.join("copies").join(server);
        let folder = rest.iter().fold(server.clone(), |path, name| path.join(name));
        Self { server, folder, signer, key }
    }

    /// Returns the private key that opens the copy.
    pub(super) fn key(&self) -> &RecipientKey {
        &self.key
    }

    /// True if there is a bundle, which perhaps cannot be opened.
    pub(super) fn exists(&self) -> bool {
        self.folder.join(BUNDLE_NAME).exists()
    }

    /// Returns the ETag of the secrets in the bundle; `None` if there is no bundle or no ETag.
    pub(super) fn etag(&self) -> Option<String> {
        self.record().filter(|_| self.exists())?.etag
    }

    /// Opens the copy. If this fails, the message is the reason why the copy cannot be used.
    pub(super) fn open(&self) -> Result<Opened, Failure> {
        let file = match fs::read(self.folder.join(BUNDLE_NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(refused("there is none for this environment and this user"));
            }
            Err(error) => return Err(refused(&error.to_string())),
        };
        let record = self.record().ok_or_else(|| refused("its record is missing or damaged"))?;
        let opened = self.decrypt(&file, record.seq, record.etag.clone())?;
        if (opened.metadata.project, opened.metadata.environment)
            != (record.project, record.environment)
        {
            return Err(refused("it was made for another project or environment"));
        }
        Ok(opened)
    }

    /// Checks a bundle and stores it as the copy. If `login` has not pinned a signer, pins the
    /// signer of the server's first bundle: bundles of other signers are refused from then on.
    pub(super) fn store(
        &self,
        bundle: &[u8],
        signer: Signer,
        etag: Option<String>,
    ) -> Result<(), Failure> {
        create_private_folder(&self.folder).map_err(|error| self.unwritable(&error))?;
        if self.pinned().is_none() {
            self.write(&self.server.join(SIGNER_NAME), signer.to_string().as_bytes())?;
        }
        let last = self.record();
        let seen = last.as_ref().map_or(0, |record| record.seq);
        let BundleMetadata { project, environment, seq, .. } =
            self.decrypt(bundle, seen, None)?.metadata;
        let record = Record { etag, seq, project, environment };
        let record = serde_json::to_vec(&record)
            .map_err(|error| Failure::new(Exit::Defect, format!("{RECORD_NAME}: {error}")))?;
        // The record is written last, because the new bundle can also be opened with an older one.
        self.write(&self.folder.join(BUNDLE_NAME), bundle)?;
        self.write(&self.folder.join(RECORD_NAME), &record)
    }

    /// Deletes the bundle of the copy. The record stays, so that an older bundle is still
    /// recognized.
    pub(super) fn delete(&self) -> Result<(), Failure> {
        match fs::remove_file(self.folder.join(BUNDLE_NAME)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.unwritable(&error)),
            _ => Ok(()),
        }
    }

    fn decrypt(&self, bundle: &[u8], seen: u64, etag: Option<String>) -> Result<Opened, Failure> {
        let key = self.key.reveal().parse().map_err(|_| refused("the private key is invalid"))?;
        let options = Opener {
            unlock: Unlock::Private(key),
            signer: self.pinned(),
            at_least: seen,
            now: now(),
        };
        let opened = options.open_bytes(bundle).map_err(|error| refused(reason(&error)))?;
        let metadata = opened.metadata().clone();
        let secrets: Result<_, _> =
            opened.map(|secret| secret.map(|secret| (secret.key, secret.value))).collect();
        let secrets = secrets.map_err(|error| refused(reason(&error)))?;
        Ok(Opened { values: Values { secrets, etag }, metadata })
    }

    /// Returns the pinned signer, the only one whose bundles are accepted: the signer that the
    /// service reported at the sign-in, or else the signer of the first bundle. `None` before.
    fn pinned(&self) -> Option<Signer> {
        self.signer.or_else(|| fs::read_to_string(self.server.join(SIGNER_NAME)).ok()?.parse().ok())
    }

    fn record(&self) -> Option<Record> {
        let text = fs::read(self.folder.join(RECORD_NAME)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes a file that only its owner can read.
    fn write(&self, path: &Path, contents: &[u8]) -> Result<(), Failure> {
        AtomicFile::create(path, Access::Private)
            .and_then(|file| file.replace(contents))
            .map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::new(Exit::CannotCreate, format!("{}: {error}", self.folder.display()))
    }
}

impl Opened {
    /// True if less than half of the bundle's lifetime has passed. Otherwise, the copy is renewed
    /// even if the secrets are unchanged.
    pub(super) fn is_fresh(&self) -> bool {
        let BundleMetadata { created_at, expires_at, .. } = self.metadata;
        expires_at.is_none_or(|end| now() < created_at + (end - created_at) / 2)
    }
}

/// Deletes the copies in the folder of all copies, except those of the servers with the origins
/// `kept`. Files and folders that belong to no server are deleted too.
pub(crate) fn delete_copies(folder: &Path, kept: &[String]) -> io::Result<()> {
    let kept: Vec<OsString> = kept.iter().map(|origin| encoded(origin).into()).collect();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if kept.contains(&entry.file_name()) {
            continue;
        }
        let deleted = entry.file_type().and_then(|kind| {
            if kind.is_dir() {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            }
        });
        // Another process may delete copies at the same time.
        if let Err(error) = deleted
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Returns the current time.
pub(super) fn now() -> Time {
    SystemClock.now()
}

/// Returns the failure for a copy that cannot be used, with the reason.
pub(super) fn refused(reason: &str) -> Failure {
    Failure::new(Exit::Data, format!("the offline copy cannot be used: {reason}"))
}

fn reason(error: &BundleError) -> &'static str {
    match error {
        BundleError::Untrusted => "it is signed by another service than the one signed in to",
        BundleError::Stale => "it is older than a copy that was seen before",
        BundleError::Expired => "it has expired",
        BundleError::NoRecipient => "it was made for another sign-in",
        BundleError::Tampered | BundleError::Malformed(_) => "it was changed or is incomplete",
        BundleError::Unsupported(_) => "its version is not supported",
        BundleError::Unreadable(_) => "it cannot be read",
    }
}

/// Converts a name to a folder name: everything except letters and digits is percent-encoded.
fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}
