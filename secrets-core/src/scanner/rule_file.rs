//! Detection rules that an operator adds, in the gitleaks configuration format.

use serde::Deserialize;

use super::rule::{Allowlist, Reach, Rule, RuleError, Target, expression};
use crate::model::scans::Severity;

/// Detection rules of an operator, in the format of gitleaks configuration files. The caller
/// decodes the TOML. Unknown fields are ignored, because the files of gitleaks contain fields that
/// are not used here.
#[derive(Debug, Default, Deserialize)]
pub struct RuleFile {
    #[serde(default)]
    rules: Vec<WrittenRule>,
    #[serde(default)]
    extend: Extend,
    allowlist: Option<WrittenAllowlist>,
    #[serde(default)]
    allowlists: Vec<WrittenAllowlist>,
}

/// Section `extend` of a rule file: determines which built-in rules are used as well.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Extend {
    /// True if the built-in rules are used in addition to the rules of the file.
    use_default: bool,
    /// IDs of the built-in rules that are not used.
    disabled_rules: Vec<String>,
}

impl Default for Extend {
    fn default() -> Self {
        Self { use_default: true, disabled_rules: Vec::new() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenRule {
    #[serde(default)]
    id: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    severity: Severity,
    regex: Option<String>,
    path: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    secret_group: usize,
    allowlist: Option<WrittenAllowlist>,
    #[serde(default)]
    allowlists: Vec<WrittenAllowlist>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WrittenAllowlist {
    regexes: Vec<String>,
    stopwords: Vec<String>,
    paths: Vec<String>,
    regex_target: Target,
    condition: Condition,
    target_rules: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
enum Condition {
    #[default]
    #[serde(rename = "OR", alias = "or")]
    Any,
    #[serde(rename = "AND", alias = "and")]
    All,
}

/// Rules and settings of a rule file, compiled.
pub(super) struct Compiled {
    pub(super) rules: Vec<Rule>,
    pub(super) allowed: Vec<Allowlist>,
    pub(super) keeps_built_in: bool,
    pub(super) disabled: Vec<String>,
}

/// Maximum number of rules in one rule file.
const MAX_RULES: usize = 2_000;

impl RuleFile {
    /// Compiles all rules of the file, or returns the first error.
    pub(super) fn compile(self) -> Result<Compiled, RuleError> {
        if self.rules.len() > MAX_RULES {
            return Err(error("file", "must be at most 2000 rules"));
        }
        let mut rules = Vec::with_capacity(self.rules.len());
        for (place, rule) in (1..).zip(self.rules) {
            let rule = rule.compile(place)?;
            if rules.iter().any(|other: &Rule| other.id == rule.id) {
                return Err(error(&rule.id, "is defined twice"));
            }
            rules.push(rule);
        }
        let mut allowed = Vec::new();
        for list in self.allowlist.into_iter().chain(self.allowlists) {
            let targets = list.target_rules.clone();
            if targets.is_empty() {
                allowed.push(list.compile("allowlist")?);
                continue;
            }
            for rule in rules.iter_mut().filter(|rule| targets.contains(&rule.id)) {
                rule.allowed.push(list.compile(&rule.id)?);
            }
        }
        let Extend { use_default: keeps_built_in, disabled_rules: disabled } = self.extend;
        Ok(Compiled { rules, allowed, keeps_built_in, disabled })
    }
}

impl WrittenRule {
    fn compile(self, place: usize) -> Result<Rule, RuleError> {
        if self.id.is_empty() {
            return Err(error(&format!("number {place}"), "has no id"));
        }
        let id = self.id;
        if id.len() > 100 || id.chars().any(char::is_control) {
            return Err(error(
                &format!("number {place}"),
                "its id must be at most 100 visible bytes",
            ));
        }
        if self.regex.is_none() && self.path.is_none() {
            return Err(error(&id, "has neither regex nor path"));
        }
        let compiled = |text: Option<String>| {
            text.map(|text| expression(&text)).transpose().map_err(|reason| error(&id, &reason))
        };
        let (regex, path) = (compiled(self.regex)?, compiled(self.path)?);
        if regex.as_ref().is_some_and(|regex| self.secret_group >= regex.captures_len()) {
            return Err(error(&id, "secretGroup is not a group of its regex"));
        }
        let lists = self.allowlist.into_iter().chain(self.allowlists);
        let allowed = lists.map(|list| list.compile(&id)).collect::<Result<_, _>>()?;
        Ok(Rule {
            description: self.description.chars().take(500).collect(),
            severity: self.severity,
            keywords: self.keywords.into_iter().filter(|keyword| !keyword.is_empty()).collect(),
            expression: regex,
            path,
            group: self.secret_group,
            entropy: self.entropy,
            reach: Reach::Text,
            skips_stand_ins: false,
            check: None,
            allowed,
            id,
        })
    }
}

impl WrittenAllowlist {
    fn compile(&self, rule: &str) -> Result<Allowlist, RuleError> {
        let compiled = |texts: &[String]| {
            let texts = texts.iter().map(|text| expression(text));
            texts
                .collect::<Result<Vec<_>, _>>()
                .map_err(|reason| error(rule, &format!("its allowlist: {reason}")))
        };
        Ok(Allowlist {
            regexes: compiled(&self.regexes)?,
            stopwords: self.stopwords.iter().map(|word| word.to_lowercase()).collect(),
            paths: compiled(&self.paths)?,
            target: self.regex_target,
            needs_all: self.condition == Condition::All,
        })
    }
}

fn error(rule: &str, reason: &str) -> RuleError {
    RuleError { rule: rule.to_owned(), reason: reason.to_owned() }
}
