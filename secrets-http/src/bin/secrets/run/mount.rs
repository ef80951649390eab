//! File with secrets that `secrets run --mount` writes and the program reads.

use std::fs;
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrets_core::crypto::Plaintext;
use secrets_core::formats::{Format, ObjectName};
use secrets_core::model::SecretKey;
use secrets_http::atomic_file::{Access, AtomicFile};
use tokio::time::{Instant, sleep_until};

use crate::failure::{Exit, Failure};

/// Path and format of the file that the option `--mount` creates.
#[derive(Debug, Clone)]
pub(crate) struct MountPoint {
    path: PathBuf,
    format: Format,
}

/// File with the secrets, which only its owner can read. The file is deleted when this value is
/// dropped.
#[derive(Debug)]
pub(super) struct Mount {
    point: MountPoint,
}

/// Time after which a failed write of the file is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Secrets of the file, each with its key.
type Secrets = Vec<(SecretKey, Plaintext)>;

/// File with the secrets, and the secrets that it contains.
#[derive(Debug)]
pub(super) struct Mounted {
    mount: Mount,
    secrets: Secrets,
    /// Secrets that could not be written to the file, and the time of the next attempt.
    unwritten: Option<(Instant, Secrets)>,
}

impl MountPoint {
    /// Parses the argument `PATH[:FORMAT]` of `--mount`. A path that begins with `@` is in the
    /// folder `$XDG_RUNTIME_DIR`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (path, format) = match text.rsplit_once(':') {
            Some((path, format)) => (path, format.parse().map_err(str::to_owned)?),
            None => (text, Format::Dotenv),
        };
        let path = match path.strip_prefix('@') {
            Some(name) => {
                let folder =
                    std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
                Path::new(&folder.ok_or("@ needs the variable XDG_RUNTIME_DIR")?).join(name)
            }
            None => PathBuf::from(path),
        };
        Ok(Self { path, format })
    }
}

impl Mount {
    /// Creates the file with these secrets. Fails if the file exists.
    pub(super) fn create(
        point: MountPoint,
        secrets: &[(SecretKey, Plaintext)],
    ) -> Result<Self, Failure> {
        let text = render(&point, secrets)?;
        create(&point)
            .and_then(|file| file.write_new(text.as_bytes()))
            .map_err(|error| failed(&point, &error))?;
        Ok(Self { point })
    }

    /// Replaces the file by a new file with these secrets.
    pub(super) fn replace(&self, secrets: &[(SecretKey, Plaintext)]) -> Result<(), Failure> {
        let text = render(&self.point, secrets)?;
        create(&self.point)
            .and_then(|file| file.replace(text.as_bytes()))
            .map_err(|error| failed(&self.point, &error))
    }
}

impl Mounted {
    /// Creates the value for a file that contains these secrets.
    pub(super) fn new(mount: Mount, secrets: Secrets) -> Self {
        Self { mount, secrets, unwritten: None }
    }

    /// Writes these secrets to the file. Returns true if the file has changed. If the file cannot
    /// be written, [`retry`](Self::retry) tries again.
    pub(super) fn write(&mut self, secrets: Secrets) -> Result<bool, Failure> {
        self.unwritten = None;
        if secrets == self.secrets {
            return Ok(false);
        }
        if let Err(failure) = self.mount.replace(&secrets) {
            // Secrets that the format cannot represent cannot be written later either.
            if failure.exit == Exit::CannotCreate {
                self.unwritten = Some((Instant::now() + RETRY_INTERVAL, secrets));
            }
            return Err(failure);
        }
        self.secrets = secrets;
        Ok(true)
    }

    /// Writes the secrets that could not be written. Returns true if the file has changed.
    pub(super) fn retry(&mut self) -> bool {
        let unwritten = self.unwritten.take();
        unwritten.is_some_and(|(_, secrets)| self.write(secrets).unwrap_or(false))
    }

    /// Waits until secrets must be written again. Waits forever if the file has the current
    /// secrets.
    pub(super) async fn wait_for_retry(mounted: Option<&Self>) {
        match mounted.and_then(|mounted| mounted.unwritten.as_ref()) {
            Some((time, _)) => sleep_until(*time).await,
            None => pending().await,
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // The program may have deleted the file.
        let _ = fs::remove_file(&self.point.path);
    }
}

fn create(point: &MountPoint) -> io::Result<AtomicFile> {
    // Not synced: the secrets of a short run may then never reach a disk.
    AtomicFile::create(&point.path, Access::Private).map(AtomicFile::without_sync)
}

fn render(
    point: &MountPoint,
    secrets: &[(SecretKey, Plaintext)],
) -> Result<zeroize::Zeroizing<String>, Failure> {
    const OBJECT_NAME: &str = "secrets";
    let name: ObjectName = OBJECT_NAME
        .parse()
        .map_err(|_| Failure::new(Exit::Defect, "invalid name of a Kubernetes object"))?;
    point
        .format
        .render(secrets, &name)
        .map_err(|error| Failure::new(Exit::Run, format!("{}: {error}", point.path.display())))
}

fn failed(point: &MountPoint, error: &io::Error) -> Failure {
    Failure::new(Exit::CannotCreate, format!("{}: {error}", point.path.display()))
}
