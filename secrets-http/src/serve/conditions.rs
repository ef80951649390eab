//! Conditional requests: `If-Match` and `If-None-Match` (RFC 9110, section 13).

use secrets_core::crypto::Tag;
use secrets_core::model::Error;
use secrets_core::secrets::{Precondition, WithETag};
use warp::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH, InvalidHeaderValue};
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

use crate::openapi::Answer;
use crate::serve::reply::{Envelope, Render};
use crate::serve::request::Head;

impl Head {
    /// Returns the precondition from `If-None-Match`: the ETags of the versions that the client
    /// already has.
    ///
    /// Tags are compared weakly (RFC 9110, section 13.1.2). A value that is not a list of ETags is
    /// ignored.
    #[must_use]
    pub fn precondition(&self) -> Precondition {
        let mut tags = Vec::new();
        for value in self.headers.get_all(IF_NONE_MATCH) {
            let value = value.to_str().unwrap_or_default().trim();
            if value == "*" {
                return Precondition::Any;
            }
            tags.extend(entity_tags(value));
        }
        if tags.is_empty() { Precondition::None } else { Precondition::ETags(tags) }
    }

    /// Returns the version that the client expects, from the header `If-Match` (`"3"`), or else
    /// from `stated`, the value in the body or query. `None` if neither contains a version;
    /// `If-Match: *` contains none. Fails if the header is invalid, or if both versions are given
    /// and differ.
    pub fn expected_version(&self, stated: Option<u32>) -> Result<Option<u32>, Error> {
        let mut values = self.headers.get_all(IF_MATCH).iter();
        let Some(value) = values.next() else { return Ok(stated) };
        if values.next().is_some() {
            return Err(Error::invalid("If-Match", "must be given once"));
        }
        let value = value.to_str().unwrap_or_default().trim();
        if value == "*" {
            return Ok(stated);
        }
        let version = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let digits = version.filter(|version| version.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(version) = digits.and_then(|version| version.parse().ok()) else {
            return Err(Error::invalid("If-Match", "must be a version in double quotes"));
        };
        match stated {
            Some(stated) if stated != version => {
                Err(Error::invalid("expected_version", "must be the version of If-Match"))
            }
            _ => Ok(Some(version)),
        }
    }
}

/// Parses a list of ETags, up to the first invalid entry, and returns the strings between their
/// quotation marks.
fn entity_tags(list: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let Some(opened) = rest.strip_prefix("W/").unwrap_or(rest).strip_prefix('"') else {
            return tags;
        };
        let Some((tag, behind)) = opened.split_once('"') else { return tags };
        tags.push(tag.to_owned());
        rest = behind;
    }
}

/// Renders a response like the shape `S`, with an additional ETag. Renders 304 instead if the
/// client already has the current version.
#[derive(Debug, Clone, Copy)]
pub struct WithTag<S>(pub S);

impl<T, S: Render<T>> Render<WithETag<T>> for WithTag<S> {
    fn render(&self, output: &WithETag<T>, envelope: Envelope) -> Response {
        let mut response = match &output.answer {
            Some(answer) => self.0.render(answer, envelope),
            None => not_modified(),
        };
        if let Ok(tag) = entity_tag(&output.tag) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }

    fn answers(&self) -> Vec<Answer> {
        let mut answers = self.0.answers();
        answers.push(Answer::new(304, Vec::new()));
        answers
    }
}

fn entity_tag(tag: &Tag) -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_str(&format!("\"{tag}\""))
}

fn not_modified() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use secrets_core::engine::Caller;
    use secrets_core::model::Origin;
    use warp::http::request::Request;

    use super::*;
    use crate::serve::links::{Links, RequestBase};
    use crate::serve::request::Destination;
    use crate::serve::target::Target;

    fn head(headers: &[(&'static str, &'static str)]) -> Head {
        let request = headers
            .iter()
            .fold(Request::get("/"), |request, (name, value)| request.header(*name, *value));
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let links = Arc::new(Links { configured: None, is_tls: false });
        let (target, base) = (Target::new(Vec::new(), None), RequestBase::new(&links, false));
        let caller = Caller::anonymous(Origin::default());
        Head::take(&mut parts, Destination { target, base }, caller)
    }

    #[test]
    fn a_list_of_tags_is_read_whether_they_are_weak_or_not() {
        for (value, expected) in [
            ("\"a\"", vec!["a"]),
            ("W/\"a\", \"b\"", vec!["a", "b"]),
            (" , \"a,b\" ,\"c\"", vec!["a,b", "c"]),
            ("\"\"", vec![""]),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(
                head(&[("if-none-match", value)]).precondition(),
                Precondition::ETags(expected)
            );
        }
    }

    #[test]
    fn lists_on_several_lines_are_one() {
        let held = head(&[("if-none-match", "\"a\""), ("if-none-match", "\"b\"")]).precondition();

        assert_eq!(held, Precondition::ETags(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn an_invalid_tag_is_ignored() {
        for value in ["", "a", "\"a", "w/\"a\"", "W/a"] {
            assert_eq!(
                head(&[("if-none-match", value)]).precondition(),
                Precondition::None,
                "{value}"
            );
        }
        assert_eq!(head(&[]).precondition(), Precondition::None);
        assert_eq!(head(&[("if-none-match", " * ")]).precondition(), Precondition::Any);
    }

    #[test]
    fn a_version_is_expected_by_header_or_body() {
        for (headers, stated, expected) in [
            (&[][..], None, None),
            (&[][..], Some(2), Some(2)),
            (&[("if-match", "\"3\"")][..], None, Some(3)),
            (&[("if-match", "\"3\"")][..], Some(3), Some(3)),
            (&[("if-match", "*")][..], Some(2), Some(2)),
        ] {
            assert_eq!(head(headers).expected_version(stated).unwrap(), expected, "{headers:?}");
        }
    }

    #[test]
    fn invalid_and_contradicting_versions_are_refused() {
        for value in
            ["3", "W/\"3\"", "\"x\"", "\"\"", "\"+3\"", "\"-1\"", "\"3\", \"4\"", "\"4294967296\""]
        {
            assert!(head(&[("if-match", value)]).expected_version(None).is_err(), "{value}");
        }
        let twice = head(&[("if-match", "\"3\""), ("if-match", "\"3\"")]);
        assert!(twice.expected_version(None).is_err());
        assert!(head(&[("if-match", "\"3\"")]).expected_version(Some(4)).is_err());
    }
}
