//! Git repository in the working folder of a test user.

use std::io::Write as _;
use std::process::Stdio;

use crate::home::{Home, ended};

/// Returns a fake GitHub token, which is different for each number. It is built from parts, so that
/// a scan of this source file does not find a token.
pub(crate) fn credential(number: u64) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x1234_5678_9ABC_DEF1);
    let random = (0..36).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(DIGITS[usize::try_from(state % DIGITS.len() as u64).unwrap()])
    });
    format!("gh{}_{}", "p", random.collect::<String>())
}

impl Home {
    /// Creates a test user (`Home`) whose working folder is an empty Git repository.
    pub(crate) fn with_repository() -> Self {
        let home = Self::new()
            .with("GIT_AUTHOR_NAME", "a")
            .with("GIT_AUTHOR_EMAIL", "a@example.com")
            .with("GIT_COMMITTER_NAME", "a")
            .with("GIT_COMMITTER_EMAIL", "a@example.com");
        home.git(&["init", "-q", "-b", "main"]);
        home
    }

    /// Runs Git in the working folder, checks that it succeeds, and returns its standard output.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let ended = ended(self.program("git", arguments), "");
        assert_eq!(ended.code, Some(0), "git {arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    /// Creates commits from the input of `git fast-import`.
    pub(crate) fn fast_import(&self, input: &str) {
        let mut import =
            self.program("git", ["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
        import.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert!(import.wait().unwrap().success());
    }
}
