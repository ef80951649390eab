//! Changes to secrets, which are sent to the service in sets. The service applies each set
//! completely or not at all.

mod answer;
mod split;

use indicatif::ProgressBar;
use reqwest::Method;
use secrets_core::crypto::Plaintext;
use serde::Serialize;

pub(crate) use answer::{Answer, AnsweredChange, ChangeResult, refusals};

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::service::{Request, Service};

/// Change to one secret.
#[derive(Debug, Serialize)]
pub(crate) struct Change {
    /// Name or ID of the environment.
    pub(crate) environment: String,
    /// Key of the secret.
    pub(crate) key: String,
    /// Action to apply to the secret, with its arguments.
    #[serde(flatten)]
    pub(crate) action: Action,
    /// Version that the environment's own secret must have for the change to be applied; 0 if the
    /// environment must not have the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_version: Option<u32>,
}

/// Action that a change applies to a secret.
#[derive(Debug, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub(crate) enum Action {
    /// Creates the secret or replaces its value. If no description is given, an existing
    /// description stays.
    Set {
        /// New value.
        #[serde(serialize_with = "secrets_core::crypto::revealed")]
        value: Plaintext,
        /// New description.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// Copies the effective value (its own or inherited) of the same key from another environment.
    Copy {
        /// Name or ID of the other environment.
        from: String,
    },
    /// Hides the key in the environment, so that no inherited value is visible.
    Hide,
    /// Deletes the environment's own secret.
    Delete,
    /// Changes only the description of the secret.
    Describe {
        /// New description.
        description: String,
    },
}

/// Describes a change in one line, without its value.
pub(crate) fn describe(change: &Change) -> String {
    let sign = match (&change.action, change.expected_version) {
        (Action::Set { .. }, Some(0)) => '+',
        (Action::Delete | Action::Hide, _) => '-',
        _ => '~',
    };
    let note = match &change.action {
        Action::Describe { .. } => " (description)",
        Action::Hide => " (hidden)",
        _ => "",
    };
    format!("{sign} {}{note}", change.key)
}

/// Changes to the secrets of one project, in the order in which they are sent.
#[derive(Debug)]
pub(crate) struct ChangeSet<'a> {
    /// Slug or ID of the project.
    pub(crate) project: &'a str,
    /// Changes to send. Each key of an environment occurs at most once.
    pub(crate) changes: &'a [Change],
}

/// JSON body of a request that sends a set of changes.
#[derive(Serialize)]
struct Body<'a> {
    dry_run: bool,
    changes: &'a [Change],
}

impl ChangeSet<'_> {
    /// Asks the service to check the changes without applying them, and returns the results that
    /// applying them would have.
    pub(crate) async fn check(&self, service: &Service) -> Result<Answer, Failure> {
        let mut total = Answer { dry_run: true, ..Answer::default() };
        for part in split::parts(self.changes)? {
            total.add(self.send(service, part, true).await?);
        }
        Ok(total)
    }

    /// Applies the changes. More changes than one set can contain are sent as several sets, one
    /// after the other; a message announces this first.
    pub(crate) async fn apply(
        &self,
        cx: &Invocation,
        service: &Service,
    ) -> Result<Answer, Failure> {
        let parts = split::parts(self.changes)?;
        if parts.len() > 1 {
            cx.output.note(&format!(
                "{} changes are sent as {} sets, one after the other; each set is applied \
                 completely or not at all",
                self.changes.len(),
                parts.len()
            ));
        }
        let (mut total, count) = (Answer::default(), self.changes.len());
        let progress = if parts.len() > 1 {
            cx.output.progress(count as u64, "changes")
        } else {
            ProgressBar::hidden()
        };
        for part in parts {
            match self.send(service, part, false).await {
                Ok(answer) => {
                    total.add(answer);
                    progress.inc(part.len() as u64);
                }
                Err(failure) => return Err(total.explain(failure, self.changes.len())),
            }
        }
        Ok(total)
    }

    async fn send(
        &self,
        service: &Service,
        changes: &[Change],
        dry_run: bool,
    ) -> Result<Answer, Failure> {
        let request = Request::new(Method::POST, &["projects", self.project, "changes"]);
        let request = request.json(&Body { dry_run, changes })?;
        service.send(request).await.map_err(answer::with_conflicts)?.json()
    }
}
