//! Command that prints a root key.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{fmt, io};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use zeroize::Zeroizing;

/// Maximum time that the command may run.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of the command's output, in bytes.
const OUTPUT_LIMIT: usize = 4096;

/// Reason why a command gave no output.
#[derive(Debug)]
pub enum CommandError {
    /// The command cannot be started.
    Start(io::Error),
    /// The output cannot be read.
    Output(io::Error),
    /// The command failed.
    Failed(ExitStatus),
    /// The command did not end in time.
    TooSlow,
    /// The output is too large.
    TooLarge,
    /// The output is not text.
    NotText,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "cannot be started: {error}"),
            Self::Output(error) => write!(f, "gave no output: {error}"),
            Self::Failed(status) => write!(f, "failed with {status}"),
            Self::TooSlow => write!(f, "did not end within {} seconds", TIMEOUT.as_secs()),
            Self::TooLarge => write!(f, "printed more than {OUTPUT_LIMIT} bytes"),
            Self::NotText => f.write_str("printed something that is not text in UTF-8"),
        }
    }
}

impl std::error::Error for CommandError {}

/// Runs a command without a shell and returns its standard output, without white space at its ends.
/// The command has no standard input and writes its messages to the standard error of this process.
///
/// # Panics
///
/// Panics if `words` is empty.
pub async fn output(words: &[String]) -> Result<Zeroizing<String>, CommandError> {
    output_within(words, TIMEOUT).await
}

async fn output_within(
    words: &[String],
    limit: Duration,
) -> Result<Zeroizing<String>, CommandError> {
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // A group of its own, so that the programs which the command has started end with it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(CommandError::Start)?;
    let output = timeout(limit, finish(&mut child)).await;
    if !matches!(output, Ok(Ok(_))) {
        kill(&child);
    }
    output.unwrap_or(Err(CommandError::TooSlow))
}

async fn finish(child: &mut Child) -> Result<Zeroizing<String>, CommandError> {
    // The buffer has its full size from the start: growing would leave copies of the key in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(OUTPUT_LIMIT + 1));
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = stdout.take(OUTPUT_LIMIT as u64 + 1);
        while stdout.read_buf(&mut *bytes).await.map_err(CommandError::Output)? > 0 {}
    }
    if bytes.len() > OUTPUT_LIMIT {
        return Err(CommandError::TooLarge);
    }
    let status = child.wait().await.map_err(CommandError::Output)?;
    if !status.success() {
        return Err(CommandError::Failed(status));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| CommandError::NotText)?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

/// Kills the command and the programs that it has started.
fn kill(child: &Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(id) = id {
        // Killing a process group that has already ended is an error, which changes nothing.
        let _ = kill_process_group(id, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::test_folder::test_folder;

    /// Checks that the programs which a command has started end with it.
    #[tokio::test]
    async fn a_command_that_does_not_end_is_killed_with_all_its_programs() {
        let folder = tempfile::tempdir_in(test_folder()).unwrap();
        let ids = folder.path().join("ids");
        let script = format!("echo $$ > '{0}'; sleep 600 & echo $! >> '{0}'; wait", ids.display());
        let words = ["sh", "-c", &script].map(str::to_owned);

        let output = output_within(&words, Duration::from_secs(2)).await;

        assert!(matches!(output, Err(CommandError::TooSlow)), "{output:?}");
        for id in fs::read_to_string(&ids).unwrap_or_default().lines() {
            let status = format!("/proc/{id}/stat");
            // A killed process is a zombie until its parent has waited for it.
            while fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z ")) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}
