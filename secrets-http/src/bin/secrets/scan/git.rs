//! Sources of the text to scan from Git, read with the program `git`: lines added in the index, and
//! all blobs of the history.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use zeroize::Zeroizing;

use super::files::Selection;
use super::{Piece, Skip, Source};
use crate::failure::{Exit, Failure};
use crate::settings::without_token;

/// Maximum number of bytes that are kept of a line in a diff. Only header lines are used, which are
/// shorter.
const MAX_HEADER: usize = 4_096;

/// File mode of a submodule, which has no blob.
const SUBMODULE: &str = "160000";

/// Ranges of added lines, by the object ID of the new blob.
type AddedLines = BTreeMap<String, Vec<RangeInclusive<u32>>>;

/// File in the index that differs from the last commit.
struct Staged {
    object: String,
    path: String,
}

/// Returns the top folder of the work tree. `None` outside of a repository, or if Git is not
/// installed.
pub(crate) fn top_folder() -> Option<PathBuf> {
    let output = git(&["rev-parse", "--show-toplevel"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\n')))
        .filter(|path| output.status.success() && path.is_absolute())
}

/// Returns a source that yields the files in the index that differ from the last commit, each with
/// its added lines.
pub(crate) fn staged(selection: &Selection) -> Result<Source, Failure> {
    let files: Vec<_> =
        staged_files()?.into_iter().filter(|file| selection.includes(&file.path)).collect();
    let added = added_lines()?;
    let (mut objects, max_size) = (Objects::start()?, selection.max_size);
    Ok(Box::new(files.into_iter().map(move |file| {
        let Some(bytes) = objects.read(&file.object, max_size)? else {
            return Ok(Piece::Skipped(Skip::TooLarge));
        };
        let mut piece = Piece::of(file.path, None, &bytes);
        if let Piece::Text(text) = &mut piece {
            text.added = Some(added.get(&file.object).cloned().unwrap_or_default());
        }
        Ok(piece)
    })))
}

/// Returns a source that yields the blobs in a range of commits. Each blob occurs once, beginning
/// with the oldest commit. Without a range, the commits of all branches and tags are used.
pub(crate) fn history(range: Option<&str>, selection: Selection) -> Result<Source, Failure> {
    let mut listing = Listing::start(range)?;
    let mut objects = Objects::start()?;
    let mut commit = None;
    Ok(Box::new(std::iter::from_fn(move || {
        loop {
            let object = match listing.next().transpose()? {
                Ok(object) => object,
                Err(failure) => return Some(Err(failure)),
            };
            match object {
                Listed::Commit(id) => {
                    commit = Some(id);
                    return Some(Ok(Piece::Commit));
                }
                Listed::Blob { size, .. } if size > selection.max_size => {
                    return Some(Ok(Piece::Skipped(Skip::TooLarge)));
                }
                Listed::Blob { object, path, .. } if selection.includes(&path) => {
                    let bytes = objects.read(&object, selection.max_size);
                    return Some(bytes.map(|bytes| {
                        bytes.map_or(Piece::Skipped(Skip::TooLarge), |bytes| {
                            Piece::of(path, commit.clone(), &bytes)
                        })
                    }));
                }
                Listed::Blob { .. } | Listed::Other => {}
            }
        }
    })))
}

/// Returns the number of commits in a range, to show progress.
pub(crate) fn commits(range: Option<&str>) -> Result<u64, Failure> {
    let output = checked(git(&["rev-list", "--count"]).args(revisions(range)?))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or_default())
}

/// Runs Git with these arguments and returns its standard output.
pub(super) fn text(arguments: &[&str]) -> Result<String, Failure> {
    let output = checked(&mut git(arguments))?;
    String::from_utf8(output.stdout)
        .map(|text| text.trim_end_matches('\n').to_owned())
        .map_err(|_| Failure::new(Exit::Data, "git: the output must be valid UTF-8"))
}

fn git(arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    without_token(&mut command);
    command.args(arguments).stdin(Stdio::null()).env("GIT_OPTIONAL_LOCKS", "0");
    command
}

fn checked(command: &mut Command) -> Result<Output, Failure> {
    let output = command.output().map_err(|error| not_started(&error))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let reason = text.lines().next().unwrap_or("failed");
    Err(Failure::new(Exit::NoInput, format!("git: {}", reason.trim_start_matches("fatal: "))))
}

fn not_started(error: &io::Error) -> Failure {
    Failure::new(Exit::Configuration, format!("git: cannot be started: {error}"))
}

fn interrupted() -> Failure {
    Failure::new(Exit::Data, "git: ended before its output was complete")
}

/// Returns the Git arguments for a range of commits. Git cannot mistake the range for an option.
fn revisions(range: Option<&str>) -> Result<Vec<String>, Failure> {
    match range {
        None => Ok(vec!["--all".to_owned()]),
        Some(range) if range.starts_with('-') => {
            Err(Failure::usage("--history: the range must not begin with `-`"))
        }
        Some(range) => Ok(vec![range.to_owned(), "--".to_owned()]),
    }
}

fn diff(options: &[&str]) -> Command {
    let mut command = git(&["diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv"]);
    command.args(["--no-renames", "--diff-filter=AMT"]).args(options);
    command
}

fn staged_files() -> Result<Vec<Staged>, Failure> {
    let output = checked(&mut diff(&["--raw", "--no-abbrev", "-z"]))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut fields = text.split('\0');
    let mut files = Vec::new();
    while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
        let entry: Vec<_> = entry.split(' ').collect();
        if let [_, mode, _, object, _] = entry[..]
            && mode != SUBMODULE
        {
            files.push(Staged { object: object.to_owned(), path: path.to_owned() });
        }
    }
    Ok(files)
}

/// Returns the lines that the index adds, from the headers of its diff without context lines. Files
/// are identified by object IDs, because Git may quote paths. All files are compared as text, also
/// those that an attribute (`-diff`, `binary`) excludes.
fn added_lines() -> Result<AddedLines, Failure> {
    let mut command = diff(&["--unified=0", "--full-index", "--text"]);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| not_started(&error))?;
    let mut reader = BufReader::new(child.stdout.take().ok_or_else(interrupted)?);
    let (mut added, mut object) = (AddedLines::new(), String::new());
    while let Some(line) = header(&mut reader).map_err(|_| interrupted())? {
        if let Some(ids) = line.strip_prefix("index ") {
            let new = ids.split_once("..").map_or("", |(_, new)| new);
            new.split_whitespace().next().unwrap_or_default().clone_into(&mut object);
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            added.entry(object.clone()).or_default().extend(new_lines(hunk));
        }
    }
    let status = child.wait().map_err(|_| interrupted())?;
    if status.success() { Ok(added) } else { Err(interrupted()) }
}

/// Returns the start of the next line of a diff; `None` at the end of the diff.
fn header(reader: &mut BufReader<ChildStdout>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.take(MAX_HEADER as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// Returns the range of new lines in a hunk header; `None` if there are none, or if the header is
/// invalid. The header is given without its first `@@`, for example `-1,2 +3,4 @@`.
fn new_lines(hunk: &str) -> Option<RangeInclusive<u32>> {
    let new = hunk.split(' ').find_map(|word| word.strip_prefix('+'))?;
    let (start, count) = new.split_once(',').unwrap_or((new, "1"));
    let (start, count): (u32, u32) = (start.parse().ok()?, count.trim().parse().ok()?);
    (count > 0).then(|| start..=start.saturating_add(count - 1))
}

/// Lists the objects in a range of commits, with two processes: `git rev-list` piped into `git
/// cat-file --batch-check`.
struct Listing {
    programs: [Child; 2],
    lines: BufReader<ChildStdout>,
}

/// Object in the listing: a commit, a blob, or an object of another type.
enum Listed {
    Commit(String),
    Blob { object: String, size: u64, path: String },
    Other,
}

impl Listing {
    fn start(range: Option<&str>) -> Result<Self, Failure> {
        let mut revisions_command =
            git(&["rev-list", "--objects", "--in-commit-order", "--reverse", "--topo-order"]);
        let mut list = revisions_command
            .args(revisions(range)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&error))?;
        let objects = list.stdout.take().ok_or_else(interrupted)?;
        let mut check =
            git(&["cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname) %(rest)"])
                .stdin(objects)
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|error| not_started(&error))?;
        let lines = BufReader::new(check.stdout.take().ok_or_else(interrupted)?);
        Ok(Self { programs: [list, check], lines })
    }

    fn next(&mut self) -> Result<Option<Listed>, Failure> {
        let mut line = Vec::new();
        if self.lines.read_until(b'\n', &mut line).map_err(|_| interrupted())? == 0 {
            return self.end().map(|()| None);
        }
        let line = String::from_utf8_lossy(&line);
        let mut words = line.trim_end_matches('\n').splitn(4, ' ');
        let (kind, size) = (words.next(), words.next().and_then(|size| size.parse().ok()));
        let (object, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        Ok(Some(match (kind, size) {
            (Some("commit"), _) => Listed::Commit(object.to_owned()),
            (Some("blob"), Some(size)) => {
                Listed::Blob { object: object.to_owned(), size, path: path.to_owned() }
            }
            _ => Listed::Other,
        }))
    }

    /// Waits until both processes have ended, and checks that they succeeded.
    fn end(&mut self) -> Result<(), Failure> {
        for program in &mut self.programs {
            let mut text = String::new();
            if let Some(stderr) = program.stderr.take() {
                stderr
                    .take(MAX_HEADER as u64)
                    .read_to_string(&mut text)
                    .map_err(|_| interrupted())?;
            }
            if !program.wait().is_ok_and(|status| status.success()) {
                let reason = text.lines().next().unwrap_or("failed");
                let reason = reason.trim_start_matches("fatal: ");
                return Err(Failure::new(Exit::NoInput, format!("git: {reason}")));
            }
        }
        Ok(())
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        for program in &mut self.programs {
            // An error means that the program has already ended.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// Reads the contents of objects, with the process `git cat-file --batch`.
struct Objects {
    program: Child,
    requests: ChildStdin,
    responses: BufReader<ChildStdout>,
}

impl Objects {
    fn start() -> Result<Self, Failure> {
        let mut program = git(&["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&error))?;
        let requests = program.stdin.take().ok_or_else(interrupted)?;
        let responses = BufReader::new(program.stdout.take().ok_or_else(interrupted)?);
        Ok(Self { program, requests, responses })
    }

    /// Reads the content of an object. Returns `None` if it is larger than `max_size` bytes.
    fn read(&mut self, object: &str, max_size: u64) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        self.exchange(object, max_size).map_err(|_| interrupted())
    }

    fn exchange(&mut self, object: &str, max_size: u64) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        writeln!(self.requests, "{object}")?;
        let mut head = String::new();
        self.responses.read_line(&mut head)?;
        let size = head.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
        let size = size.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        // A newline follows the content.
        let mut content = (&mut self.responses).take(size + 1);
        if size > max_size {
            io::copy(&mut content, &mut io::sink())?;
            return Ok(None);
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(size.try_into().unwrap_or_default()));
        content.read_to_end(&mut bytes)?;
        bytes.pop();
        Ok(Some(bytes))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // Killing the program loses nothing, because it only reads.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Returns the folder of Git hooks, which `core.hooksPath` may change.
pub(super) fn hooks_folder() -> Result<PathBuf, Failure> {
    let path = text(&["rev-parse", "--git-path", "hooks"])?;
    let working = std::env::current_dir()
        .map_err(|error| Failure::configuration(format!("working directory: {error}")))?;
    Ok(working.join(Path::new(&path)))
}
