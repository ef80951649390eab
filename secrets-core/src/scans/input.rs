//! Input of a scan, as submitted in a request.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::model::names::is_invisible;
use crate::model::object::Object;
use crate::model::scans::{Severity, SourceKind};
use crate::model::{Code, Error, FieldError, ProjectRef, Result, TeamId, whole};

/// Maximum number of files in one scan.
const MAX_FILES: usize = 1_000;

/// Maximum number of findings that are stored for one scan, and that one request may submit.
pub(super) const FINDINGS: usize = 1_000;

/// Request for a scan.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "source": { "type": "text", "name": "deploy.sh" }, "content": "export TOKEN=…",
})))]
pub struct NewScan {
    /// ID of the team that owns the scan. Defaults to the project's team or, without a project, to
    /// the caller's only team or personal team.
    pub team_id: Option<TeamId>,
    /// Project of the scan, by ID or slug. If given, the content is compared only with the secret
    /// values of this project.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub project_id: Option<ProjectRef>,
    /// Source of the content. Its type determines which one of the following fields is required.
    #[cfg_attr(feature = "openapi", schema(value_type = ScanSource))]
    pub source: Object<ScanSource>,
    /// Text to scan. Required for the source type `text`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub content: Option<Content>,
    /// Files to scan: 1 to 1,000. Required for the source type `files`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<ScannedFile>>))]
    pub files: Option<Vec<Object<ScannedFile>>>,
    /// Findings of another scanner: 1 to 1,000. Required for the source type `findings`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<SubmittedFinding>>))]
    pub findings: Option<Vec<Object<SubmittedFinding>>>,
}

/// Source of the content to scan.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScanSource {
    /// Type of the source: text, files or findings.
    #[serde(rename = "type")]
    pub kind: SourceKind,
    /// Display name of the source: at most 200 visible characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// ID of the commit that contains the content: at most 100 visible characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Text to scan. Because the text may contain secrets, `Debug` does not show it, and its memory is
/// wiped when it is dropped.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(from = "String")]
#[cfg_attr(feature = "openapi", schema(value_type = String))]
pub struct Content(Zeroizing<String>);

/// A file to scan.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScannedFile {
    /// Path of the file: 1 to 1,024 characters, without control characters.
    pub path: String,
    /// Content of the file.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub content: Content,
}

/// Finding of another scanner, such as a pre-commit hook.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmittedFinding {
    /// ID of the detection rule that matched: 1 to 100 visible characters.
    pub rule_id: String,
    /// Description of the detection rule: at most 500 visible characters.
    pub description: Option<String>,
    /// Severity of the finding. Defaults to the severity of the rule with this ID, or to medium if
    /// there is no such rule.
    pub severity: Option<Severity>,
    /// Path of the file that contains the credential; absent if unknown.
    pub path: Option<String>,
    /// Line number of the credential, starting at 1; absent if unknown.
    #[serde(default, deserialize_with = "whole::optional")]
    pub line: Option<u32>,
    /// Column number of the credential, starting at 1; absent if unknown.
    #[serde(default, deserialize_with = "whole::optional")]
    pub column: Option<u32>,
    /// ID of the commit that contains the credential.
    pub commit: Option<String>,
    /// Credential that was found. It is hashed, compared with stored secret values, and then
    /// discarded.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub secret: Option<Content>,
    /// Fingerprint that identifies the finding if the credential itself is not given: at most 2,048
    /// bytes.
    pub fingerprint: Option<String>,
}

/// Validated content of a scan.
pub(super) enum Input {
    /// Texts to scan, each with its path or name if known.
    Texts(Vec<(Option<String>, Content)>),
    /// Findings that another scanner reported.
    Findings(Vec<SubmittedFinding>),
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl Content {
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Content(…)")
    }
}

impl NewScan {
    /// Creates a request to scan a text in the caller's default team.
    #[must_use]
    pub fn of_text(text: String) -> Self {
        let source = ScanSource { kind: SourceKind::Text, name: None, commit: None };
        Self {
            team_id: None,
            project_id: None,
            source: Object(source),
            content: Some(text.into()),
            files: None,
            findings: None,
        }
    }

    /// Validates the whole request and splits it into its source and its content.
    pub(super) fn checked(self) -> Result<(ScanSource, Input)> {
        let Self { source: Object(source), content, files, findings, .. } = self;
        let mut errors = FieldErrors::default();
        errors.text("source.name", source.name.as_deref(), 0..=200);
        errors.text("source.commit", source.commit.as_deref(), 0..=100);
        let input = match (source.kind, content, files, findings) {
            (SourceKind::Text, Some(content), None, None) => {
                Input::Texts(vec![(source.name.clone(), content)])
            }
            (SourceKind::Files, None, Some(files), None) => errors.files(files),
            (SourceKind::Findings, None, None, Some(findings)) => errors.findings(findings),
            (kind, ..) => {
                let (field, message) = match kind {
                    SourceKind::Text => {
                        ("content", "must be given alone for a source of type text")
                    }
                    SourceKind::Files => {
                        ("files", "must be given alone for a source of type files")
                    }
                    SourceKind::Findings => {
                        ("findings", "must be given alone for a source of type findings")
                    }
                };
                return Err(Error::invalid(field, message));
            }
        };
        errors.into_result()?;
        Ok((source, input))
    }
}

/// Validation errors collected for one request, at most [`MAX_FIELD_ERRORS`].
#[derive(Default)]
struct FieldErrors(Vec<FieldError>);

/// Maximum number of validation errors reported for one scan.
const MAX_FIELD_ERRORS: usize = 100;

impl FieldErrors {
    fn into_result(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Invalid(self.0)) }
    }

    fn add(
        &mut self,
        field: impl Into<String>,
        message: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        if self.0.len() < MAX_FIELD_ERRORS {
            self.0.push(FieldError::new(field, Code::InvalidRequest, message));
        }
    }

    fn text(
        &mut self,
        field: impl Into<String>,
        text: Option<&str>,
        length: std::ops::RangeInclusive<usize>,
    ) {
        let Some(text) = text else { return };
        if !length.contains(&text.chars().count()) || text.chars().any(is_invisible) {
            let (least, most) = (length.start(), length.end());
            self.add(field, format!("must be {least} to {most} visible characters"));
        }
    }

    /// Validates a file path. All characters are allowed, except control characters.
    fn path(&mut self, field: String, path: Option<&str>) {
        let Some(path) = path else { return };
        if !(1..=1_024).contains(&path.chars().count()) || path.chars().any(char::is_control) {
            self.add(field, "must be 1 to 1024 characters without control characters");
        }
    }

    fn files(&mut self, files: Vec<Object<ScannedFile>>) -> Input {
        if !(1..=MAX_FILES).contains(&files.len()) {
            self.add("files", "must be 1 to 1000 files");
        }
        for (index, Object(file)) in files.iter().enumerate() {
            self.path(format!("files[{index}].path"), Some(&file.path));
        }
        Input::Texts(
            files.into_iter().map(|Object(file)| (Some(file.path), file.content)).collect(),
        )
    }

    fn findings(&mut self, findings: Vec<Object<SubmittedFinding>>) -> Input {
        if !(1..=FINDINGS).contains(&findings.len()) {
            self.add("findings", "must be 1 to 1000 findings");
        }
        for (index, Object(finding)) in findings.iter().enumerate() {
            let field = |name| format!("findings[{index}].{name}");
            self.text(field("rule_id"), Some(&finding.rule_id), 1..=100);
            self.text(field("description"), finding.description.as_deref(), 0..=500);
            self.path(field("path"), finding.path.as_deref());
            self.text(field("commit"), finding.commit.as_deref(), 0..=100);
            if finding.fingerprint.as_ref().is_some_and(|text| text.len() > 2_048) {
                self.add(field("fingerprint"), "must be at most 2048 bytes");
            }
        }
        Input::Findings(findings.into_iter().map(|Object(finding)| finding).collect())
    }
}
