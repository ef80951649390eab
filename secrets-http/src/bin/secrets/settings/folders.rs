//! Folders for the program's own files (XDG Base Directory Specification).

use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use crate::failure::Failure;

/// Name of the program's folder in each base folder.
const FOLDER: &str = "secrets";

/// Folders for the program's own files. They are created when a file is written.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    /// Settings of the user.
    pub(crate) config: PathBuf,
    /// Credentials.
    pub(crate) data: PathBuf,
    /// Offline copies.
    pub(crate) state: PathBuf,
    /// Names for completion.
    pub(crate) cache: PathBuf,
}

impl Folders {
    /// Determines the folders from environment variables and the home folder.
    pub(crate) fn locate() -> Result<Self, Failure> {
        let base = etcetera::choose_base_strategy()
            .map_err(|_| Failure::configuration("HOME: must name the home folder"))?;
        Ok(Self {
            config: base.config_dir().join(FOLDER),
            data: base.data_dir().join(FOLDER),
            state: base.state_dir().unwrap_or_else(|| base.data_dir()).join(FOLDER),
            cache: base.cache_dir().join(FOLDER),
        })
    }

    /// Returns the folder of offline copies.
    pub(crate) fn copies(&self) -> PathBuf {
        self.state.join("copies")
    }
}
