//! Sources of the text to scan: files and standard input.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};
use zeroize::Zeroizing;

use super::{Piece, Skip, Source};
use crate::failure::{Exit, Failure};

/// Selection of the files to scan.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// Folder to which paths in reports are relative.
    pub(crate) root: PathBuf,
    /// Files that are excluded from the scan.
    pub(crate) excluded: Excluded,
    /// Maximum number of bytes of a file.
    pub(crate) max_size: u64,
}

/// Patterns of files that are excluded from the scan, in the syntax of `.gitignore`.
#[derive(Debug, Clone)]
pub(crate) struct Excluded {
    folder: PathBuf,
    patterns: Gitignore,
}

impl Excluded {
    /// Compiles exclusion patterns, which are relative to a folder.
    pub(crate) fn new(folder: &Path, patterns: &[String]) -> Result<Self, Failure> {
        let invalid = |error: ignore::Error| {
            Failure::configuration(format!("scan.exclude: invalid pattern: {error}"))
        };
        let mut builder = GitignoreBuilder::new("");
        for pattern in patterns {
            builder.add_line(None, pattern).map_err(invalid)?;
        }
        let patterns = builder.build().map_err(invalid)?;
        Ok(Self { folder: folder.to_owned(), patterns })
    }

    /// True if the patterns exclude the file.
    fn contains(&self, path: &Path) -> bool {
        path.strip_prefix(&self.folder)
            .is_ok_and(|path| self.patterns.matched_path_or_any_parents(path, false).is_ignore())
    }
}

impl Selection {
    /// True if the file at `path`, relative to the root, is not excluded from the scan.
    pub(super) fn includes(&self, path: &str) -> bool {
        !self.excluded.contains(&self.root.join(path))
    }

    /// Returns the path for reports: relative to the root, with slashes.
    fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
    }
}

/// Returns a source that yields the files in `paths` and in folders below them, except files that
/// `.gitignore` names. A file that is itself in `paths` is scanned even if `.gitignore` names it.
pub(crate) fn walk(paths: &[PathBuf], selection: Selection) -> Result<Source, Failure> {
    let mut walk: Option<WalkBuilder> = None;
    for path in paths {
        let path = absolute(path)?;
        match &mut walk {
            None => walk = Some(WalkBuilder::new(path)),
            Some(walk) => {
                walk.add(path);
            }
        }
    }
    let Some(mut walk) = walk else { return Ok(Box::new(std::iter::empty())) };
    // Hidden files, such as `.env`, are the likeliest to have credentials.
    walk.hidden(false).ignore(false).filter_entry(|entry| entry.file_name() != ".git");
    walk.sort_by_file_name(Ord::cmp);
    Ok(Box::new(walk.build().filter_map(move |entry| match entry {
        Ok(entry) => piece(&entry, &selection).map(Ok),
        Err(_) => Some(Ok(Piece::Skipped(Skip::Unreadable))),
    })))
}

/// Returns a source that yields the text of standard input.
pub(crate) fn stdin(max_size: u64) -> Result<Source, Failure> {
    let mut bytes = Zeroizing::new(Vec::new());
    let read = io::stdin().take(max_size.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(Exit::NoInput, format!("standard input: {error}")))?;
    if bytes.len() as u64 > max_size {
        let message = format!("standard input: must be at most {max_size} bytes (--max-size)");
        return Err(Failure::new(Exit::Data, message));
    }
    let pieces = (!bytes.is_empty()).then(|| Ok(Piece::of("-".to_owned(), None, &bytes)));
    Ok(Box::new(pieces.into_iter()))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(path)
        .map_err(|error| Failure::new(Exit::NoInput, format!("{}: {error}", path.display())))
}

/// Reads a file that [`walk`] has found. Returns `None` for folders, links and excluded files.
fn piece(entry: &DirEntry, selection: &Selection) -> Option<Piece> {
    let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
    if !is_file || selection.excluded.contains(entry.path()) {
        return None;
    }
    Some(match read(entry.path(), selection.max_size) {
        Ok(Some(bytes)) => Piece::of(selection.shown(entry.path()), None, &bytes),
        Ok(None) => Piece::Skipped(Skip::TooLarge),
        Err(_) => Piece::Skipped(Skip::Unreadable),
    })
}

/// Reads the content of a file. Returns `None` if the file is larger than `max_size` bytes.
fn read(path: &Path, max_size: u64) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > max_size {
        return Ok(None);
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(size.try_into().unwrap_or_default()));
    // The file may grow while it is read.
    file.take(max_size.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max_size).then_some(bytes))
}
