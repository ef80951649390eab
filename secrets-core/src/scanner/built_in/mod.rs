//! Built-in detection rules: for credentials whose format the issuer documents, and for values
//! assigned to a name that contains key, token, secret or password.

mod cloud;
mod code;
mod commerce;
mod generic;
mod messaging;
mod models;
mod services;

use super::rule::{Check, Reach, Rule, expression};
use crate::model::scans::Severity;

/// Kind of pattern with which a rule recognizes a credential.
#[derive(Clone, Copy)]
enum Form {
    /// Pattern of the credential itself, which must not be part of a longer word.
    Token(&'static str),
    /// Pattern of a name, which may have a suffix, and pattern of the value that is assigned to the
    /// name.
    Assigned(&'static str, &'static str),
    /// Pattern of the credential together with the text around it. The capture group is the
    /// credential.
    Written(&'static str),
}

/// Definition of a built-in detection rule.
#[derive(Clone, Copy)]
struct Definition {
    id: &'static str,
    description: &'static str,
    severity: Severity,
    form: Form,
    keywords: &'static [&'static str],
    entropy: f64,
    reach: Reach,
    check: Option<Check>,
}

/// Defines a rule for a credential that is recognized by its own format, with at least three bits
/// of entropy per character.
const fn token(
    id: &'static str,
    description: &'static str,
    severity: Severity,
    pattern: &'static str,
    keywords: &'static [&'static str],
) -> Definition {
    let form = Form::Token(pattern);
    Definition {
        id,
        description,
        severity,
        form,
        keywords,
        entropy: 3.0,
        reach: Reach::Line,
        check: None,
    }
}

impl Definition {
    /// Sets the pattern of the rule and the kind of pattern.
    const fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    const fn entropy(mut self, bits: f64) -> Self {
        self.entropy = bits;
        self
    }

    const fn below(mut self, bytes: usize) -> Self {
        self.reach = Reach::Below(bytes);
        self
    }

    const fn check(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    fn pattern(&self) -> String {
        // ASCII word boundaries only: the fast engine of the regex crate does not support Unicode
        // word boundaries.
        let pattern = match self.form {
            Form::Token(pattern) => format!(r"\b({pattern})(?:[^A-Za-z0-9_\-]|$)"),
            Form::Assigned(name, value) => format!(
                concat!(
                    r#"(?i:{name})(?i:[a-z0-9_.\-]{{0,32}})["'`]?[ \t]*(?:=>|:=|[=:])"#,
                    r#"[ \t]*["'`]?({value})(?:[^A-Za-z0-9_+/=\-]|$)"#
                ),
                name = name,
                value = value
            ),
            Form::Written(pattern) => pattern.to_owned(),
        };
        pattern.replace(r"\b", r"(?-u:\b)")
    }

    /// Compiles the rule. Returns `None` if its pattern is not a valid regular expression; a test
    /// checks that all built-in patterns are valid.
    fn compile(&self) -> Option<Rule> {
        Some(Rule {
            id: self.id.to_owned(),
            description: self.description.to_owned(),
            severity: self.severity,
            keywords: self.keywords.iter().map(|keyword| (*keyword).to_owned()).collect(),
            expression: Some(expression(&self.pattern()).ok()?),
            path: None,
            group: 1,
            entropy: self.entropy,
            reach: self.reach,
            skips_stand_ins: true,
            check: self.check,
            allowed: Vec::new(),
        })
    }
}

fn definitions() -> impl Iterator<Item = &'static Definition> {
    let groups: [&[Definition]; 7] = [
        &cloud::ALL,
        &code::ALL,
        &commerce::ALL,
        &messaging::ALL,
        &models::ALL,
        &services::ALL,
        &generic::ALL,
    ];
    groups.into_iter().flatten()
}

/// Compiles the built-in rules, most specific first.
pub(super) fn rules() -> Vec<Rule> {
    definitions().filter_map(Definition::compile).collect()
}

#[cfg(test)]
mod tests;
