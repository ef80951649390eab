//! `scan`: searches files or the Git history for credentials.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use secrets_core::scanner::Rules;
use serde_json::json;

use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::scan::files::{Excluded, Selection};
use crate::scan::own_values::OwnValues;
use crate::scan::report::ReportFormat;
use crate::scan::{Piece, Scanner, Source, baseline, files, git, hook, report};
use crate::settings;

/// Value of the option `--history` if no range of commits is given.
const EVERYTHING: &str = "";

/// Options of the command `secrets scan`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "options of the command line")]
#[command(args_conflicts_with_subcommands = true, after_help = NOTES)]
pub(crate) struct Scan {
    #[command(subcommand)]
    command: Option<ScanCommand>,
    /// Files and folders; files that .gitignore excludes are left out [default: this folder].
    #[arg(value_name = "PATH", group = "source")]
    paths: Vec<PathBuf>,
    /// Scan the lines that are added in the index of Git.
    #[arg(long, group = "source")]
    staged: bool,
    /// Scan each blob of the commits in a range, such as main..HEAD; without a range, of all
    /// branches and tags.
    #[arg(long, value_name = "RANGE", group = "source", num_args = 0..=1, default_missing_value = EVERYTHING)]
    history: Option<String>,
    /// Scan standard input.
    #[arg(long, group = "source")]
    stdin: bool,
    /// Send the scanned lines to the service, which compares them with the stored values.
    #[arg(long, conflicts_with = "history")]
    own_values: bool,
    /// File with additional rules, in the TOML format of gitleaks.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// File with accepted findings, which are not reported.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write all findings to the baseline, and exit with 0.
    #[arg(long)]
    update_baseline: bool,
    /// Format of the report [default: text, or json with -o json].
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// Skip files larger than this number of bytes; the units k and m are allowed.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "5m")]
    max_size: u64,
    /// Exit with 0 if there was nothing to scan.
    #[arg(long)]
    allow_empty: bool,
}

const NOTES: &str = "\
The text is scanned on this machine, and no report contains a credential. A line that contains `secrets:allow` is \
skipped. Exit codes: 0 nothing found; 1 credentials found; 66 nothing was scanned.";

#[derive(Debug, Subcommand)]
enum ScanCommand {
    /// Install or remove a Git hook that scans before each commit.
    Hook(Hook),
}

#[derive(Debug, Args)]
struct Hook {
    #[command(subcommand)]
    action: HookAction,
}

#[derive(Debug, Subcommand)]
enum HookAction {
    /// Install the hook; an existing hook is kept and runs after the scan.
    Install,
    /// Remove the hook, and restore a kept hook.
    Uninstall,
}

impl Scan {
    /// Scans and prints the report.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        if let Some(ScanCommand::Hook(Hook { action })) = &self.command {
            return action.run(cx);
        }
        let section = cx.settings.project_file.as_ref().map(|file| file.scan.clone());
        let section = section.unwrap_or_default();
        let rules = chosen(cx, self.rules.as_ref(), section.rules.as_ref());
        let rules = rules.map(|path| baseline::rules(&path)).transpose()?;
        let rules = rules.as_ref().unwrap_or_else(|| Rules::built_in());
        let baseline = chosen(cx, self.baseline.as_ref(), section.baseline.as_ref());
        let accepted = match &baseline {
            Some(path) if !self.update_baseline => baseline::read(path)?,
            None if self.update_baseline => {
                return Err(Failure::usage(
                    "--update-baseline: needs --baseline or a project file",
                ));
            }
            _ => BTreeSet::new(),
        };
        let mut scanner = Scanner::new(rules, accepted, self.history.is_some());
        let source = self.source(selection(cx, &section, self.max_size)?)?;
        self.read(cx, source, &mut scanner).await?;
        match baseline.filter(|_| self.update_baseline) {
            Some(path) => {
                baseline::write(&path, &scanner.findings)?;
                let count = scanner.findings.len();
                cx.output.note(&format!("{}: {count} accepted findings", path.display()));
                Ok(Outcome::Done)
            }
            None => self.conclude(cx, &scanner),
        }
    }

    fn source(&self, selection: Selection) -> Result<Source, Failure> {
        if let Some(range) = &self.history {
            git::history(Some(range.as_str()).filter(|range| *range != EVERYTHING), selection)
        } else if self.staged {
            git::staged(&selection)
        } else if self.stdin {
            files::stdin(selection.max_size)
        } else if self.paths.is_empty() {
            files::walk(&[PathBuf::from(".")], selection)
        } else {
            files::walk(&self.paths, selection)
        }
    }

    /// Scans all files or other texts that the source yields.
    async fn read(
        &self,
        cx: &Invocation,
        source: Source,
        scanner: &mut Scanner<'_>,
    ) -> Result<(), Failure> {
        let mut own_values = self.own_values.then(|| own_values(cx)).transpose()?;
        let progress = self.progress(cx)?;
        for piece in source {
            match piece? {
                Piece::Commit => progress.inc(1),
                Piece::Skipped(reason) => scanner.skip(reason),
                Piece::Text(text) => {
                    scanner.scan(&text);
                    if let Some(own_values) = &mut own_values {
                        own_values.add(&text, scanner).await?;
                    }
                }
            }
        }
        if let Some(own_values) = &mut own_values {
            own_values.send(scanner).await?;
        }
        progress.finish_and_clear();
        Ok(())
    }

    /// Creates the progress bar that counts the commits of the history. It is shown only on a
    /// terminal.
    fn progress(&self, cx: &Invocation) -> Result<ProgressBar, Failure> {
        let Some(range) = self.history.as_deref().filter(|_| cx.output.shows_progress()) else {
            return Ok(ProgressBar::hidden());
        };
        let commits = git::commits(Some(range).filter(|range| *range != EVERYTHING))?;
        Ok(cx.output.progress(commits, "commits"))
    }

    /// Writes the report and a summary, and returns the exit code.
    fn conclude(&self, cx: &Invocation, scanner: &Scanner<'_>) -> Result<Outcome, Failure> {
        let default =
            if cx.output.format.is_json() { ReportFormat::Json } else { ReportFormat::Text };
        let format = self.format.unwrap_or(default);
        report::write(&cx.output, format, &scanner.findings, &scanner.counts)?;
        if scanner.is_truncated {
            cx.output.warn("there are more findings than a report can have");
        }
        if scanner.counts.unreadable > 0 {
            let message = format!("{} files could not be read", scanner.counts.unreadable);
            cx.output.warn(&message);
        }
        let summary = summary(scanner);
        if !scanner.findings.is_empty() {
            cx.output.note(&summary);
            return Ok(Outcome::Negative);
        }
        if scanner.counts.texts == 0 && !self.allow_empty {
            let message = format!("{summary}; --allow-empty accepts that");
            return Err(Failure::new(Exit::NoInput, message));
        }
        cx.output.note(&summary);
        Ok(Outcome::Done)
    }
}

impl HookAction {
    fn run(&self, cx: &Invocation) -> Result<Outcome, Failure> {
        let (path, message) = match self {
            Self::Install => (Some(hook::install()?), "installed"),
            Self::Uninstall => (hook::uninstall()?, "removed"),
        };
        // A path that is not UTF-8 cannot be in a JSON document.
        let path = path.map(|path| path.display().to_string());
        let text = path.as_ref().map(|path| format!("{path}: {message}"));
        let text = text.unwrap_or_else(|| "there is no hook of this program".to_owned());
        cx.output.result(&text, &json!({ "hook": path }))?;
        Ok(Outcome::Done)
    }
}

/// Returns the path given by `option`, or else `section`, the path in the section `[scan]` of the
/// project file. Paths in the project file are relative to its folder.
fn chosen(cx: &Invocation, option: Option<&PathBuf>, section: Option<&PathBuf>) -> Option<PathBuf> {
    let folder = cx.settings.project_folder.as_deref().unwrap_or(Path::new(""));
    option.cloned().or_else(|| section.map(|path| folder.join(path)))
}

/// Returns the selection of files to scan. Paths in reports are relative to the top folder of the
/// Git work tree, or else to the folder of the project file.
fn selection(
    cx: &Invocation,
    section: &settings::Scan,
    max_size: u64,
) -> Result<Selection, Failure> {
    let working = std::env::current_dir()
        .map_err(|error| Failure::configuration(format!("working directory: {error}")))?;
    let project = cx.settings.project_folder.clone();
    let excluded = Excluded::new(project.as_ref().unwrap_or(&working), &section.exclude)?;
    let root = git::top_folder().or(project).unwrap_or(working);
    Ok(Selection { root, excluded, max_size })
}

fn own_values(cx: &Invocation) -> Result<OwnValues, Failure> {
    let project = cx.settings.project.as_ref().map(|project| project.value.clone());
    let own_values = OwnValues::new(cx.service()?, project);
    let server = own_values.server();
    cx.output.note(&format!("the scanned lines are sent to {server}, to compare with its values"));
    Ok(own_values)
}

/// Returns the numbers of scanned files, skipped files and findings, as one line.
fn summary(scanner: &Scanner<'_>) -> String {
    let counts = &scanner.counts;
    let mut parts = vec![match counts.texts {
        0 => "nothing was scanned".to_owned(),
        1 => "1 text scanned".to_owned(),
        texts => format!("{texts} texts scanned"),
    }];
    let others = [
        (counts.binary, "binary"),
        (counts.too_large, "too large (--max-size)"),
        (counts.accepted, "accepted by the baseline"),
        (scanner.findings.len() as u64, "found"),
    ];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    parts.extend(others.map(|(number, what)| format!("{number} {what}")));
    parts.join(", ")
}

/// Parses a number of bytes with an optional unit: `k` for 1,024 or `m` for 1,048,576 bytes.
fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.to_ascii_lowercase().as_str() {
        text if text.ends_with('k') => (text.trim_end_matches('k').to_owned(), 1_024),
        text if text.ends_with('m') => (text.trim_end_matches('m').to_owned(), 1_024 * 1_024),
        text => (text.to_owned(), 1),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "must be a whole number with or without the unit k or m".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "is too large".to_owned())
}
