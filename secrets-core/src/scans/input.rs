//! What is to be scanned, as it is submitted.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::model::names::is_invisible;
use crate::model::object::Object;
use crate::model::scans::Severity;
use crate::model::{Broken, Code, Error, FieldError, ProjectRef, Result, Rule, TeamId};

/// The most files one scan takes.
const FILES: usize = 1_000;

/// The most findings one scan keeps, and takes.
pub(super) const FINDINGS: usize = 1_000;

/// What is to be scanned.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "source": { "type": "text", "name": "deploy.sh" }, "content": "export TOKEN=…",
})))]
pub struct NewScan {
    /// Whose scan; the project's team, or the caller's only one, or their personal one.
    pub team_id: Option<TeamId>,
    /// The project it is for, by id or slug: its values alone are compared.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub project_id: Option<ProjectRef>,
    /// What it is.
    #[cfg_attr(feature = "openapi", schema(value_type = ScanSource))]
    pub source: Object<ScanSource>,
    /// A text.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub content: Option<Content>,
    /// 1 to 1,000 files.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<ScannedFile>>))]
    pub files: Option<Vec<Object<ScannedFile>>>,
    /// 1 to 1,000 findings of another scanner.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<SubmittedFinding>>))]
    pub findings: Option<Vec<Object<SubmittedFinding>>>,
}

/// What is scanned.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScanSource {
    /// Of which kind it is.
    #[serde(rename = "type")]
    pub kind: SourceKind,
    /// What people call it: at most 200 visible characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The commit it is: at most 100 visible characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A text to scan. It may hold anything, so it is shown nowhere and wiped when dropped.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(from = "String")]
#[cfg_attr(feature = "openapi", schema(value_type = String))]
pub struct Content(Zeroizing<String>);

/// A file to scan.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScannedFile {
    /// Its path: 1 to 1,024 characters, none of them a control character.
    pub path: String,
    /// What it holds.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub content: Content,
}

/// A finding of another scanner, such as a pre-commit hook.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmittedFinding {
    /// The rule that found it: 1 to 100 visible characters.
    pub rule_id: String,
    /// What the rule finds: at most 500 visible characters.
    pub description: Option<String>,
    /// How bad it is; as the rule of this id says, or medium.
    pub severity: Option<Severity>,
    /// The file it is in.
    pub path: Option<String>,
    /// Its line, from 1.
    pub line: Option<u32>,
    /// Its column, from 1.
    pub column: Option<u32>,
    /// The commit it is in.
    pub commit: Option<String>,
    /// The credential itself. It is hashed, compared and dropped.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub secret: Option<Content>,
    /// What it is known again by where the credential is not given: at most 2,048 characters.
    pub fingerprint: Option<String>,
}

/// What is scanned, by its kind.
pub(super) enum Input {
    /// Texts, with their paths.
    Texts(Vec<(Option<String>, Content)>),
    /// Findings.
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
    /// A scan of a text in the caller's own team.
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

    /// Holds what was submitted against the rules about it as a whole.
    pub(super) fn checked(self) -> Result<(ScanSource, Input)> {
        let Self { source: Object(source), content, files, findings, .. } = self;
        let mut faults = Faults::default();
        faults.text("source.name", source.name.as_deref(), 0..=200);
        faults.text("source.commit", source.commit.as_deref(), 0..=100);
        let input = match (source.kind, content, files, findings) {
            (SourceKind::Text, Some(content), None, None) => {
                Input::Texts(vec![(source.name.clone(), content)])
            }
            (SourceKind::Files, None, Some(files), None) => faults.files(files),
            (SourceKind::Findings, None, None, Some(findings)) => faults.findings(findings),
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
        faults.none()?;
        Ok((source, input))
    }
}

/// The rules that are broken, as far as they are told.
#[derive(Default)]
struct Faults(Vec<FieldError>);

/// The most rules broken that are told of one scan.
const TOLD: usize = 100;

impl Faults {
    fn none(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Invalid(self.0)) }
    }

    fn add(
        &mut self,
        field: impl Into<String>,
        message: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        if self.0.len() < TOLD {
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

    /// Paths may hold whatever names of files may, except for control characters.
    fn path(&mut self, field: String, path: Option<&str>) {
        let Some(path) = path else { return };
        if !(1..=1_024).contains(&path.chars().count()) || path.chars().any(char::is_control) {
            self.add(field, "must be 1 to 1024 characters without control characters");
        }
    }

    fn files(&mut self, files: Vec<Object<ScannedFile>>) -> Input {
        if !(1..=FILES).contains(&files.len()) {
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
