//! Commands that run as an ordinary operating system user, although the test suite may run as root.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use secrets_tests::targets;

use crate::program::programs;

/// Operating system user without special rights, with a folder and copies of the programs to test.
/// The database servers of the tests run as the same user.
pub(crate) struct OrdinaryUser {
    user: u32,
    group: u32,
    /// Folder that belongs to the user. The test runner searches it for secret values.
    pub(crate) folder: PathBuf,
    programs: PathBuf,
}

impl OrdinaryUser {
    /// Creates the folder for the user and copies the programs. The folder is next to the folders
    /// of the database servers, because the user may be unable to access the folder of the tests.
    pub(crate) fn new(name: &str) -> Self {
        let servers = targets::servers();
        let owner = fs::metadata(servers.join("postgres/data")).unwrap();
        let (user, group) = (owner.uid(), owner.gid());
        let root = servers.join(name);
        let _ = fs::remove_dir_all(&root);
        let (folder, programs) = (root.join("data"), root.join("bin"));
        fs::create_dir_all(&folder).unwrap();
        chown(&folder, Some(user), Some(group)).unwrap();
        fs::create_dir(&programs).unwrap();
        let this = Self { user, group, folder, programs };
        this.copy_programs();
        this
    }

    fn copy_programs(&self) {
        for name in ["secrets-http", "secrets"] {
            let (built, copy) = (programs().join(name), self.programs.join(name));
            // Hard links are not possible between two file systems.
            if fs::hard_link(&built, &copy).is_err() {
                fs::copy(&built, &copy).unwrap();
            }
        }
    }

    /// Returns the path of the user's copy of the server program.
    pub(crate) fn program(&self) -> PathBuf {
        self.programs.join("secrets-http")
    }

    /// Creates a command that runs a program as this user, in the user's folder.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.uid(self.user).gid(self.group).current_dir(&self.folder);
        command
    }

    /// Runs a shell script as this user, and returns its output. The script must succeed.
    pub(crate) fn run(&self, script: &str) -> String {
        // The client programs of PostgreSQL may be outside of PATH, as its server is.
        let script = format!(
            "set -eu\nfor bin in /usr/lib/postgresql/*/bin; do PATH=$bin:$PATH; done\n\
             export PATH={}:$PATH HOME={}\n{script}",
            self.programs.display(),
            self.folder.display(),
        );
        let output = self.command("sh").arg("-c").arg(script).output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stdout}{stderr}");
        stdout
    }
}
