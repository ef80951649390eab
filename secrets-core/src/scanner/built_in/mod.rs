//! The rules that come with the service: credentials whose format their issuers document, and what
//! is assigned to something that is called a key, token, secret or password.

mod cloud;
mod code;
mod commerce;
mod generic;
mod messaging;
mod models;
mod services;

use super::rule::{Check, Reach, Rule, expression};
use crate::model::scans::Severity;

/// How a credential is recognised.
#[derive(Clone, Copy)]
enum Form {
    /// By its own characters: it stands alone as a word.
    Token(&'static str),
    /// By what it is assigned to: a name that holds this, then a value.
    Assigned(&'static str, &'static str),
    /// By what is around it as well; the group is the credential.
    Written(&'static str),
}

/// A rule, as it is written down.
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

/// A credential with a form of its own, at least three bits of entropy for each character.
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
    /// The same, recognised otherwise.
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
        // Words are of ASCII: the fast engine of the expressions does not know others.
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

    /// The rule; `None` if its pattern is no expression, which a test rules out.
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

/// The rules, the most specific first.
pub(super) fn rules() -> Vec<Rule> {
    definitions().filter_map(Definition::compile).collect()
}

#[cfg(test)]
mod tests;
