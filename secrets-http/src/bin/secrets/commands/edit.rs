//! `edit`: edits the secrets of the environment in an editor.

use std::collections::BTreeSet;

use clap::Args;
use zeroize::Zeroizing;

use crate::changes::{Answer, Change, ChangeSet, describe, refusals};
use crate::edit::document::{self, Entry};
use crate::edit::{Editor, Environment, PrivateFile, changes, discard, merge, with_marks};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::service::Service;

/// Maximum number of times that the editor is opened in one session.
const MAX_ROUNDS: usize = 20;

/// Options of the command `secrets edit`.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// Apply the changes without asking.
    #[arg(short, long)]
    yes: bool,
}

/// Editing session: the user edits the secrets of one environment in an editor.
struct Session<'a> {
    cx: &'a Invocation,
    service: &'a Service,
    editor: &'a Editor,
    yes: bool,
    environment: Environment,
}

/// Result after the editor was closed once.
enum Round {
    /// The session has ended: all changes are applied, or there is nothing to apply.
    Finished,
    /// The editor must be opened again with this text.
    Again(Zeroizing<String>),
    /// The changes could not be applied. The editor can be opened again with this text.
    Failed(Failure, Zeroizing<String>),
}

impl Edit {
    /// Runs the editing session. A signal that ends this program also ends the editor and removes
    /// its file.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let editor = Editor::find(cx.settings.variables)?;
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let environment = Environment::load(&service, &place).await?;
        let (service, editor) = (&service, &editor);
        let session = Session { cx, service, editor, yes: self.yes, environment };
        tokio::select! {
            result = session.run() => result.map(|()| Outcome::Done),
            signal = termination(editor) => Ok(Outcome::Status(signal?)),
        }
    }
}

impl Session<'_> {
    async fn run(mut self) -> Result<(), Failure> {
        let mut text = self.original();
        for _ in 0..MAX_ROUNDS {
            let edited = self.open(&text).await?;
            let clean = document::without_marks(&edited, &text);
            let conflicts = document::conflicts(&edited, &text);
            if *edited == *text && (*clean != *text || !conflicts.is_empty()) {
                // The user has given up: the comments about problems are still there.
                let message = "the marked lines were not changed; nothing was written";
                return Err(Failure::new(Exit::Data, message));
            }
            if *clean == *self.original() {
                let message = "the file is unchanged; nothing was written";
                return self.cx.output.result(message, &Answer::default());
            }
            match self.round(clean, &conflicts).await? {
                Round::Finished => return Ok(()),
                Round::Again(marked) => {
                    self.asks("Edit again?")?;
                    text = marked;
                }
                Round::Failed(failure, unsaved) => {
                    self.asks_after(failure, "Edit again?")?;
                    text = unsaved;
                }
            }
        }
        let message = format!("nothing was written: problems are left after {MAX_ROUNDS} attempts");
        Err(Failure::new(Exit::Data, message))
    }

    /// Opens the text in the editor, and returns the text after editing. The file exists only while
    /// the editor runs.
    async fn open(&self, text: &str) -> Result<Zeroizing<String>, Failure> {
        let file = PrivateFile::create(self.cx, text)?;
        self.editor.edit(file.path()).await?;
        file.read()
    }

    /// Returns the document of the environment, without changes of the user.
    fn original(&self) -> Zeroizing<String> {
        document::write(&self.environment, &self.environment.entries())
    }

    /// Applies the changes in an edited text. `conflicts` are the keys whose conflict marks are
    /// still in the text. If the text has an entry for such a key, nothing is applied. Otherwise,
    /// the user's change of this secret is discarded.
    async fn round(
        &mut self,
        text: Zeroizing<String>,
        conflicts: &BTreeSet<String>,
    ) -> Result<Round, Failure> {
        let mut entries = match document::parse(&text) {
            Ok(entries) => entries,
            Err(problem) => {
                self.cx.output.warn(&format!("line {}: {}", problem.line, problem.rule));
                return Ok(Round::Again(document::with_mark(&text, &problem)));
            }
        };
        if self.reports_open_conflicts(&entries, conflicts) {
            return Ok(Round::Again(text));
        }
        for key in conflicts {
            self.cx.output.note(&format!("{key}: your change is discarded"));
        }
        discard(&self.environment, &mut entries, conflicts);
        let changes = changes(&self.environment, &entries);
        if changes.is_empty() {
            self.cx.output.result("no changes", &Answer::default())?;
            return Ok(Round::Finished);
        }
        for change in &changes {
            self.cx.output.note(&describe(change));
        }
        if !self.confirms(changes.len())? {
            return Ok(Round::Again(document::write(&self.environment, &entries)));
        }
        self.apply(&changes, entries).await
    }

    /// Prints a warning and returns true if at least one entry still has a conflict mark: its key
    /// is in `conflicts`.
    fn reports_open_conflicts(&self, entries: &[Entry], conflicts: &BTreeSet<String>) -> bool {
        let keys = entries.iter().map(|entry| entry.key.as_str());
        let open: Vec<_> = keys.filter(|key| conflicts.contains(*key)).collect();
        if !open.is_empty() {
            self.cx.output.warn(&format!(
                "nothing was applied; decide about the conflict of each of these secrets (delete \
                 its line, or the secret): {}",
                open.join(", ")
            ));
        }
        !open.is_empty()
    }

    /// Applies the changes. If the service refuses some of them, the result contains the user's
    /// text with comments about the problems above the refused lines.
    async fn apply(&mut self, changes: &[Change], entries: Vec<Entry>) -> Result<Round, Failure> {
        let place = self.environment.place.clone();
        let set = ChangeSet { project: &place.project, changes };
        let failure = loop {
            match set.apply(self.cx, self.service).await {
                Ok(answer) => {
                    self.cx.output.result(&answer.summary(), &answer)?;
                    return Ok(Round::Finished);
                }
                Err(failure) if failure.is_temporary() => {
                    self.asks_after(failure, "Try again?")?;
                }
                Err(failure) => break failure,
            }
        };
        if failure.exit == Exit::Conflict {
            self.cx.output.warn(&failure.message);
            return Ok(self.reload(&entries).await);
        }
        let refusals = refusals(&failure);
        if refusals.is_empty() {
            return Ok(Round::Failed(failure, document::write(&self.environment, &entries)));
        }
        self.cx.output.warn(&failure.message);
        let entries = with_marks(entries, &refusals);
        Ok(Round::Again(document::write(&self.environment, &entries)))
    }

    /// Loads the secrets again after a conflict, and merges the user's changes into them.
    async fn reload(&mut self, entries: &[Entry]) -> Round {
        match Environment::load(self.service, &self.environment.place).await {
            Ok(now) => {
                let merged = merge(&self.environment, &now, entries);
                self.environment = now;
                Round::Again(document::write(&self.environment, &merged))
            }
            Err(failure) => Round::Failed(failure, document::write(&self.environment, entries)),
        }
    }

    fn confirms(&self, number: usize) -> Result<bool, Failure> {
        if self.yes || !self.cx.output.is_interactive {
            return Ok(true);
        }
        let place = &self.environment.place;
        self.cx.output.asks_yes(&format!("Apply {number} changes to {place}?"))
    }

    /// Asks the user whether to continue. Fails if the user answers no. Succeeds without a question
    /// if the program is not interactive.
    fn asks(&self, question: &str) -> Result<(), Failure> {
        if !self.cx.output.is_interactive || self.cx.output.asks_yes(question)? {
            return Ok(());
        }
        Err(Failure::new(Exit::Interrupted, "nothing was changed"))
    }

    /// Prints a failure, and asks the user whether to continue. Returns `failure` as the error if
    /// the user answers no, or if the program is not interactive.
    fn asks_after(&self, failure: Failure, question: &str) -> Result<(), Failure> {
        if !self.cx.output.is_interactive {
            return Err(failure);
        }
        self.cx.output.warn(&failure.message);
        if self.cx.output.asks_yes(question)? { Ok(()) } else { Err(failure) }
    }
}

/// Waits for a signal that ends this program, and returns the exit code for the signal. While the
/// editor runs, Ctrl-C is meant for the editor and is ignored here.
#[cfg(unix)]
async fn termination(editor: &Editor) -> Result<u8, Failure> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    let on = |kind: SignalKind| -> Result<Signal, Failure> {
        signal(kind).map_err(|error| Failure::new(Exit::Defect, format!("signals: {error}")))
    };
    let mut terminate = on(SignalKind::terminate())?;
    let mut hangup = on(SignalKind::hangup())?;
    let mut interrupt = on(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(128 + 15),
            _ = hangup.recv() => return Ok(128 + 1),
            _ = interrupt.recv() => {
                if !editor.is_open() {
                    return Ok(Exit::Interrupted as u8);
                }
            }
        }
    }
}

#[cfg(not(unix))]
async fn termination(_editor: &Editor) -> Result<u8, Failure> {
    std::future::pending().await
}
