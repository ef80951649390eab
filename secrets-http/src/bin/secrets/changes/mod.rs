//! Changes of secrets, applied by the service in sets: each set completely or not at all.

mod answer;
mod split;

use reqwest::Method;
use secrets_core::crypto::Plaintext;
use serde::Serialize;

pub(crate) use answer::{Answer, AnsweredChange, ChangeResult, refusals};

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::service::{Request, Service};

/// Change of one secret.
#[derive(Debug, Serialize)]
pub(crate) struct Change {
    /// Name or ID of the environment.
    pub(crate) environment: String,
    /// Secret key.
    pub(crate) key: String,
    /// Action with its arguments.
    #[serde(flatten)]
    pub(crate) action: Action,
    /// Version that the environment's own secret must have; 0 if there must be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_version: Option<u32>,
}

/// Action of a change.
#[derive(Debug, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub(crate) enum Action {
    /// Creates the secret or replaces its value. Without a description, an existing one stays.
    Set {
        /// New value.
        #[serde(serialize_with = "secrets_core::crypto::revealed")]
        value: Plaintext,
        /// New description.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// Copies the effective value of another environment.
    Copy {
        /// Name or ID of the other environment.
        from: String,
    },
    /// Hides the key.
    Hide,
    /// Deletes the secret.
    Delete,
    /// Changes the description only.
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

/// Changes of one project, in the order in which they are sent.
#[derive(Debug)]
pub(crate) struct ChangeSet<'a> {
    /// Slug or ID of the project.
    pub(crate) project: &'a str,
    /// Changes; each key of an environment at most once.
    pub(crate) changes: &'a [Change],
}

/// Body of a request.
#[derive(Serialize)]
struct Body<'a> {
    dry_run: bool,
    changes: &'a [Change],
}

impl ChangeSet<'_> {
    /// Checks the changes at the service, and returns the results that applying them would have.
    pub(crate) async fn check(&self, service: &Service) -> Result<Answer, Failure> {
        let mut total = Answer { dry_run: true, ..Answer::default() };
        for part in split::parts(self.changes)? {
            total.add(self.send(service, part, true).await?);
        }
        Ok(total)
    }

    /// Applies the changes. If there are too many for one set, they are sent as several sets; this
    /// is announced before the first set is sent.
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
        let mut total = Answer::default();
        for part in parts {
            match self.send(service, part, false).await {
                Ok(answer) => total.add(answer),
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
