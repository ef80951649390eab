//! Copy of the epoch in a file.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::crypto::random;
use crate::model::Cause;
use crate::ports::epochs::{Epoch, EpochStore};

/// Maximum number of bytes that are read from the file.
const MAX_BYTES: u64 = 256;

/// File with the copy of an epoch: the instance ID and the number, separated by a space. A new copy
/// replaces the file, so a crash leaves the earlier or the new one.
pub struct EpochFile {
    path: PathBuf,
}

impl EpochFile {
    /// Creates the store for the file with this path. The file need not exist; its folder must
    /// exist and be writable.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }
}

#[async_trait]
impl EpochStore for EpochFile {
    async fn load(&self) -> Result<Option<Epoch>, Cause> {
        let path = self.path.clone();
        let text = spawn_blocking(move || read(&path).map_err(|error| named(&path, &error)));
        text.await??.map(|text| parse(&text).ok_or_else(|| invalid(&self.path))).transpose()
    }

    async fn save(&self, epoch: Epoch) -> Result<(), Cause> {
        let path = self.path.clone();
        let text = format!("{} {}\n", epoch.instance, epoch.number);
        spawn_blocking(move || replace(&path, &text).map_err(|error| named(&path, &error))).await?
    }
}

/// Reads the file, at most [`MAX_BYTES`]. Returns `None` if the folder exists but the file does
/// not.
fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && folder(path).is_dir() => {
            return Ok(None);
        }
        file => file?,
    };
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Writes a new file and then renames it to `path`, so that a crash leaves the earlier file or the
/// new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}", u64::from_be_bytes(random())));
    let new = PathBuf::from(name);
    let written = write(&new, text).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written?;
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn parse(text: &str) -> Option<Epoch> {
    let (instance, number) = text.strip_suffix('\n')?.split_once(' ')?;
    Some(Epoch { instance: instance.parse::<Uuid>().ok()?.into(), number: number.parse().ok()? })
}

fn named(path: &Path, error: &io::Error) -> Cause {
    format!("{}: {error}", path.display()).into()
}

fn invalid(path: &Path) -> Cause {
    format!("{}: not a copy of an epoch", path.display()).into()
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::testing::folder;

    fn epoch(number: u64) -> Epoch {
        Epoch { instance: Uuid::from_u128(7).into(), number }
    }

    #[tokio::test]
    async fn an_epoch_is_stored_in_a_file() {
        let folder = tempfile::tempdir_in(folder()).unwrap();
        let file = EpochFile::new(folder.path().join("epoch"));

        assert_eq!(file.load().await.unwrap(), None);
        for number in [3, u64::MAX, 0] {
            file.save(epoch(number)).await.unwrap();
            assert_eq!(file.load().await.unwrap(), Some(epoch(number)));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_file_with_something_else_is_refused() {
        let folder = tempfile::tempdir_in(folder()).unwrap();
        let path = folder.path().join("epoch");
        let file = EpochFile::new(path.clone());
        let id = Uuid::from_u128(7);

        let long = format!("{id} 1\n{}", "x".repeat(300));
        for text in ["", "\n", "1\n", &format!("{id} 1"), &format!("{id} -1\n"), &long] {
            fs::write(&path, text).unwrap();
            let refused = file.load().await.unwrap_err().to_string();
            assert!(refused.ends_with("epoch: not a copy of an epoch"), "{refused}");
        }
        fs::write(&path, [0xff]).unwrap();
        assert!(file.load().await.is_err());
        let missing = EpochFile::new(folder.path().join("none/epoch"));
        assert!(missing.load().await.is_err());
        assert!(missing.save(epoch(1)).await.is_err());
    }
}
