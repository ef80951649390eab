//! Fuzz target of names, and of paths of projects and environments.

use std::fmt::Display;
use std::str::FromStr;

use super::assert_no_echo;
use crate::model::{
    BaseUrl, DisplayName, EmailAddress, EnvironmentId, EnvironmentName, EnvironmentRef, PlanName,
    ProjectId, ProjectRef, RotationName, SecretKey, Slug, Summary, ids,
};

/// Constant part of the error text for an invalid base URL. [`assert_no_echo`] ignores it, because
/// the input may contain the same words.
const EXAMPLE: &str = "must be a URL such as https://secrets.example.com, optionally";

/// Slug of a project whose name has no ASCII letter or digit.
const DEFAULT_SLUG: &str = "project";

/// Parses the input as each kind of name, as a base URL, and as a reference to a project and an
/// environment.
pub fn names(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for is_unchanged in [
        name::<EnvironmentName>(text),
        name::<PlanName>(text),
        name::<RotationName>(text),
        name::<SecretKey>(text),
        name::<Slug>(text),
        name::<Summary>(text),
    ] {
        assert_ne!(is_unchanged, Some(false), "a name is not changed when it is parsed");
    }
    name::<DisplayName>(text);
    name::<EmailAddress>(text);
    name::<BaseUrl>(text);
    slug(text);
    reference(text);
}

/// Parses the input as a name; returns `None` if it is not valid. Otherwise checks that the name's
/// text parses to a name with the same text, and returns true if this text equals the input, false
/// if parsing changed it.
fn name<T: FromStr<Err: Display> + Display>(text: &str) -> Option<bool> {
    match text.parse::<T>() {
        Ok(name) => {
            let once = name.to_string();
            let again = once.parse::<T>().map(|name| name.to_string()).ok();
            assert_eq!(again.as_ref(), Some(&once), "a parsed name is a valid name");
            Some(once == text)
        }
        Err(error) => {
            assert_no_echo(text.as_bytes(), &error.to_string(), EXAMPLE);
            None
        }
    }
}

/// Checks that the slugs derived from a display name are valid, except reserved ones.
fn slug(text: &str) {
    let Ok(name) = text.parse::<DisplayName>() else { return };
    let slug = Slug::suggested(&name, DEFAULT_SLUG);
    assert!(slug.as_str().parse::<Slug>().is_ok() || slug.is_reserved(), "{slug}");
    let longer = slug.with_suffix([0, 25, 26, 255]);
    assert!(longer.as_str().parse::<Slug>().is_ok(), "{longer}");
}

/// Checks that a reference is an ID exactly if the text is a UUID, and that the text of a reference
/// refers to the same object.
fn reference(text: &str) {
    let (project, environment) = (ProjectRef::from(text), EnvironmentRef::from(text));
    let id = ids::parse(text);
    assert_eq!(project.id().map(ProjectId::uuid), id);
    assert_eq!(environment.id().map(EnvironmentId::uuid), id);
    assert!(id.is_some() || project.slug() == Some(text));
    assert!(id.is_some() || environment.name() == Some(text));
    assert!(id.is_none() || text.parse::<Slug>().is_err(), "a UUID is not a slug");
    assert!(id.is_none() || text.parse::<EnvironmentName>().is_err(), "a UUID is not a name");

    assert_eq!(ProjectRef::from(String::from(project.clone())), project);
    assert_eq!(EnvironmentRef::from(String::from(environment.clone())), environment);
}
