//! Folders for this program's own files (XDG Base Directory Specification).

use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use crate::failure::Failure;

/// Name of this program's folder in each base folder of the user, such as `~/.config`.
const FOLDER: &str = "secrets";

/// Folders for this program's own files. A folder is created when a file is written to it.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    /// Folder for the user's settings.
    pub(crate) config: PathBuf,
    /// Folder for stored credentials.
    pub(crate) data: PathBuf,
    /// Folder for offline copies: encrypted bundles of secrets, used if the service is unreachable.
    pub(crate) state: PathBuf,
    /// Folder for the cached names, such as names of environments, that shell completion offers.
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

    /// Returns the folder that contains the offline copies of all servers.
    pub(crate) fn copies(&self) -> PathBuf {
        self.state.join("copies")
    }
}
