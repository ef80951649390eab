//! Tests that other programs read exports correctly: shells, and common packages for Node.js and
//! Python. Each program gets one file with every value that its format can represent.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use secrets_core::crypto::Plaintext;
use secrets_core::formats::{Format, ObjectName};
use secrets_core::model::SecretKey;
use tempfile::TempDir;

type Values = BTreeMap<String, String>;

/// Character sequences that programs often parse incorrectly. The tests export each pair of
/// sequences as a secret value, and each single sequence between two letters.
const HOSTILE: [&str; 54] = [
    "",
    "kvc_",
    "'",
    "\"",
    "`",
    "$",
    "$HOME",
    "${HOME}",
    "$(id)",
    "\\",
    "\\\\",
    "\\n",
    "\\x41",
    "\\u0041",
    "#",
    " #",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\t",
    " ",
    "  ",
    "=",
    "A=",
    "export ",
    ":",
    ": ",
    "- ",
    "? ",
    "&a",
    "*a",
    "!",
    "%41",
    "@",
    "|",
    ">",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    "~",
    "no",
    "1e3",
    "0x1",
    "1:30",
    "---",
    "é",
    "日本😀",
    "\u{85}",
    "\u{2028}\u{feff}",
    "\u{7f}\u{1}",
];

/// Secret keys that some formats could take for another type, such as `NO` for a boolean in YAML.
const KEYS: [&str; 8] = ["NO", "y", "null", "TRUE", "on", "Key", "KEY", "x1"];

fn values() -> Vec<(SecretKey, Plaintext)> {
    let pairs = HOSTILE.iter().flat_map(|one| HOSTILE.iter().map(move |two| format!("{one}{two}")));
    let framed = HOSTILE.iter().map(|one| format!("a{one}b"));
    let keys = KEYS.into_iter().map(str::to_owned).chain((0..).map(|number| format!("V{number}")));
    keys.zip(pairs.chain(framed))
        .map(|(key, value)| (key.parse().unwrap(), Plaintext::new(value).unwrap()))
        .collect()
}

/// Exported file, with the values that a program must read from the file.
struct Written {
    folder: TempDir,
    expected: Values,
}

impl Written {
    /// Exports all test values that the format can represent to a file. Fails if the format can
    /// represent fewer than `least` values.
    fn new(format: Format, least: usize) -> Self {
        let name: ObjectName = "web".parse().unwrap();
        let fits = |secret: &(SecretKey, Plaintext)| {
            format.write(std::slice::from_ref(secret), &name).is_ok()
        };
        let secrets: Vec<_> = values().into_iter().filter(fits).collect();
        assert!(secrets.len() >= least, "{format} carries only {}", secrets.len());
        let folder = TempDir::new_in(secrets_core::testing::folder()).unwrap();
        let text = format.write(&secrets, &name).unwrap();
        fs::write(folder.path().join("secrets"), text.as_bytes()).unwrap();
        let expected = secrets
            .iter()
            .map(|(key, value)| (key.to_string(), value.reveal().to_owned()))
            .collect();
        Self { folder, expected }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("secrets")
    }

    /// Asserts that a command, with the file as its last argument, prints the expected values as a
    /// JSON object.
    #[track_caller]
    fn is_read_by(&self, command: &mut Command) {
        let output = run(command.arg(self.path()));
        self.is(&serde_json::from_slice(&output).unwrap());
    }

    /// Asserts that a shell that sources the file (`. FILE`) then has the expected values as
    /// environment variables.
    #[track_caller]
    fn is_sourced_by(&self, shell: &str) {
        let mut command = Command::new(shell);
        command.args(["-c", r#"set -a; . "$1"; exec env -0"#, shell]).arg(self.path());
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/wrong");
        let output = String::from_utf8(run(&mut command)).unwrap();
        let variables = output.split('\0').filter_map(|variable| variable.split_once('='));
        let mut read: Values =
            variables.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        read.retain(|key, _| self.expected.contains_key(key));
        self.is(&read);
    }

    #[track_caller]
    fn is(&self, read: &Values) {
        let wrong: Vec<_> = self
            .expected
            .iter()
            .filter(|(key, value)| read.get(*key) != Some(*value))
            .map(|(key, value)| (key, value, read.get(key)))
            .take(10)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(read.len(), self.expected.len());
    }
}

#[track_caller]
fn run(command: &mut Command) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    output.stdout
}

fn here() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/formats"))
}

fn node(reader: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(here().join("read.mjs")).arg(reader);
    command
}

/// Returns the command `python read.py READER`, which runs the Python interpreter of the test
/// runner, because that has the packages to test.
fn python(reader: &str) -> Command {
    let tools = std::env::var_os("SECRETS_TEST_TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| here().join("../../target/tools"));
    let mut command = Command::new(tools.join("venv/bin/python"));
    command.arg(here().join("read.py")).arg(reader);
    command
}

/// Number of test values: each pair of the 54 sequences, and each single sequence.
const ALL: usize = 54 * 54 + 54;

#[test]
fn shells_source_exported_files() {
    let written = Written::new(Format::Shell, ALL);

    written.is_sourced_by("dash");
    written.is_sourced_by("bash");
}

#[test]
fn shells_and_readers_of_dotenv_agree() {
    let written = Written::new(Format::Dotenv, 1_500);

    written.is_sourced_by("dash");
    written.is_sourced_by("bash");
    written.is_read_by(&mut node("dotenv"));
    written.is_read_by(&mut python("dotenv"));
}

#[test]
fn readers_of_json_agree() {
    let written = Written::new(Format::Json, ALL);

    written.is_read_by(&mut node("json"));
    written.is_read_by(&mut python("json"));
}

#[test]
fn readers_of_yaml_agree_whatever_its_version() {
    let written = Written::new(Format::Yaml, ALL);

    written.is_read_by(&mut node("yaml-1.1"));
    written.is_read_by(&mut node("yaml-1.2"));
    written.is_read_by(&mut python("yaml"));
}

#[test]
fn a_table_is_read_as_it_was_written() {
    Written::new(Format::Csv, ALL).is_read_by(&mut python("csv"));
}

#[test]
fn a_manifest_is_read_as_it_was_written() {
    let written = Written::new(Format::Kubernetes, ALL);

    written.is_read_by(&mut node("k8s"));
    written.is_read_by(&mut python("k8s"));
}
