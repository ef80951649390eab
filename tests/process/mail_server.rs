//! Mail server for tests, as a separate process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Running mail server.
pub(crate) struct MailServer {
    child: Child,
    folder: PathBuf,
}

impl MailServer {
    /// Starts the mail server (`smtp/server.py`), which writes accepted messages to the folder.
    /// `refuse` is the number of recipients that it refuses temporarily, `for-good` to refuse all
    /// recipients permanently, `login` to refuse the first password, or `relay` to refuse to relay
    /// the first message.
    pub(crate) fn start(port: u16, folder: &Path, refuse: &str) -> Self {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("smtp/server.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(port.to_string())
            .arg(folder)
            .arg(refuse)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.map_while(Result::ok).any(|line| line == "listening");
        assert!(ready, "the mail server ended");
        Self { child, folder: folder.to_owned() }
    }

    /// Returns the accepted messages.
    pub(crate) fn messages(&self) -> Vec<String> {
        let files = fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|kind| kind == "eml")).collect();
        files.sort();
        files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    /// Waits until the server has accepted this number of messages, for at most 40 seconds. Returns
    /// the messages.
    pub(crate) async fn wait_for(&self, number: usize) -> Vec<String> {
        for _ in 0..400 {
            let messages = self.messages();
            if messages.len() >= number {
                return messages;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{} of {number} messages arrived", self.messages().len());
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
