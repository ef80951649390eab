//! Behavioural cases (calls of operations with their expected results), read from the files in the
//! folder `data`, and the replacement of variables in them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Values of the variables of a case, by name.
pub(crate) type Variables = BTreeMap<String, Value>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[expect(dead_code, reason = "documentation within the data files")]
    about: String,
    #[serde(default = "alice_alone")]
    people: Vec<String>,
    #[serde(default)]
    given: Vec<Step>,
    cases: Vec<Written>,
}

/// Case as a file contains it. A case with one step may have the fields of the step directly,
/// without `steps`.
#[derive(Deserialize)]
struct Written {
    name: String,
    #[serde(default)]
    each: Vec<Variables>,
    steps: Option<Vec<Step>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Step of a case: a call of an operation, and its expected result.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(rename = "as", default = "alice")]
    pub(crate) who: String,
    pub(crate) call: String,
    #[serde(default)]
    pub(crate) with: Map<String, Value>,
    pub(crate) gives: Option<Value>,
    pub(crate) fails: Option<Expected>,
    #[serde(default)]
    pub(crate) keep: BTreeMap<String, String>,
}

/// Error that a call is expected to return.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    pub(crate) kind: String,
    pub(crate) code: Option<String>,
    pub(crate) fields: Option<Vec<String>>,
}

/// Case to run, including the steps that prepare its data.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) people: Vec<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) variables: Variables,
}

/// Reads all cases of all files, sorted by file name. A case with several sets of variables
/// (`each`) becomes several cases.
pub(crate) fn all() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/data");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let area = path.file_stem().unwrap().to_string_lossy().into_owned();
        for written in &file.cases {
            cases.extend(of(&area, &file, written));
        }
    }
    cases
}

fn of<'a>(area: &'a str, file: &'a File, written: &'a Written) -> impl Iterator<Item = Case> + 'a {
    let steps = written.steps.clone().unwrap_or_else(|| {
        let step = Value::Object(written.rest.clone());
        vec![
            serde_json::from_value(step)
                .unwrap_or_else(|error| panic!("{}: {error}", written.name)),
        ]
    });
    let steps = [file.given.clone(), steps].concat();
    let rows = if written.each.is_empty() { vec![Variables::new()] } else { written.each.clone() };
    rows.into_iter().enumerate().map(move |(row, variables)| Case {
        name: format!("{area}: {} [{row}]", written.name),
        people: file.people.clone(),
        steps: steps.clone(),
        variables,
    })
}

fn alice() -> String {
    "alice".to_owned()
}

fn alice_alone() -> Vec<String> {
    vec![alice()]
}

/// Returns a copy of a JSON value in which the variables `$name` and `${name}` are replaced by
/// their values.
pub(crate) fn filled(value: &Value, variables: &Variables) -> Value {
    match value {
        Value::String(text) => text_filled(text, variables),
        Value::Array(items) => items.iter().map(|item| filled(item, variables)).collect(),
        Value::Object(fields) => match (fields.get("$repeat"), fields.get("times")) {
            (Some(Value::String(text)), Some(times)) => {
                let times = times.as_u64().and_then(|times| usize::try_from(times).ok()).unwrap();
                Value::String(text.repeat(times))
            }
            _ => object_filled(fields, variables).into(),
        },
        other => other.clone(),
    }
}

/// Returns a copy of a JSON object in which the variables `$name` and `${name}` are replaced by
/// their values.
pub(crate) fn object_filled(
    fields: &Map<String, Value>,
    variables: &Variables,
) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (name.clone(), filled(value, variables))).collect()
}

/// Names of placeholders in expected outputs, such as `$uuid` for any UUID. They look like
/// variables but are not replaced.
const MATCHES: [&str; 4] = ["any", "absent", "uuid", "time"];

fn text_filled(text: &str, variables: &Variables) -> Value {
    if let Some(name) = text.strip_prefix('$').filter(|name| is_name(name)) {
        if MATCHES.contains(&name) {
            return text.into();
        }
        return variables.get(name).unwrap_or_else(|| panic!("unknown variable {name}")).clone();
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            filled.push('$');
            rest = after;
        } else if let Some((name, after)) =
            after.strip_prefix('{').and_then(|it| it.split_once('}'))
        {
            match variables.get(name).unwrap_or_else(|| panic!("unknown variable {name}")) {
                Value::String(text) => filled.push_str(text),
                other => filled.push_str(&other.to_string()),
            }
            rest = after;
        } else {
            panic!("a single dollar sign: {text}");
        }
    }
    filled.push_str(rest);
    filled.into()
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}
