//! Strict parsing of request paths. Paths that a proxy could interpret differently are refused.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Error of parsing a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadPath {
    /// The path is ambiguous or invalid; the response is 400.
    Malformed,
    /// The path ends with a slash although it is not the root path; the response is 404.
    TrailingSlash,
}

/// Splits a path into segments, each percent-decoded once. The root path has no segments.
///
/// A decoded segment never contains a slash, a backslash or a control character, and is neither `.`
/// nor `..`. Therefore it is safe to look it up, to log it and to put it into another path.
pub fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, BadPath> {
    let rest = path.strip_prefix('/').ok_or(BadPath::Malformed)?;
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let (named, ends_with_slash) = match rest.strip_suffix('/') {
        Some(named) => (named, true),
        None => (rest, false),
    };
    let segments = named.split('/').map(segment).collect::<Result<_, _>>()?;
    if ends_with_slash { Err(BadPath::TrailingSlash) } else { Ok(segments) }
}

fn segment(raw: &str) -> Result<Cow<'_, str>, BadPath> {
    if raw.is_empty() {
        return Err(BadPath::Malformed);
    }
    // Most segments consist of these characters.
    if raw.bytes().all(is_unreserved) && !matches!(raw, "." | "..") {
        return Ok(Cow::Borrowed(raw));
    }
    if !raw.bytes().all(is_allowed) || !escapes_are_complete(raw) {
        return Err(BadPath::Malformed);
    }
    let decoded = percent_decode_str(raw).decode_utf8().map_err(|_| BadPath::Malformed)?;
    let misleading = |c: char| matches!(c, '/' | '\\') || c.is_control();
    if matches!(&*decoded, "." | "..") || decoded.chars().any(misleading) {
        return Err(BadPath::Malformed);
    }
    Ok(decoded)
}

/// True if this byte is a character that has no special meaning and need not be encoded (RFC 3986,
/// section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// True if a path may contain this byte: printable ASCII except the backslash, which some programs
/// treat as a slash.
fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'\\'
}

/// True if each `%` is followed by two hexadecimal digits. The decoder would keep an incomplete
/// escape unchanged.
fn escapes_are_complete(raw: &str) -> bool {
    raw.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_and_decoded_once() {
        let cases: [(&str, &[&str]); 9] = [
            ("/", &[]),
            ("/health", &["health"]),
            ("/api/v1/projects", &["api", "v1", "projects"]),
            ("/secrets/%41PI_KEY", &["secrets", "API_KEY"]),
            ("/a%20b", &["a b"]),
            ("/caf%C3%A9", &["café"]),
            ("/%252F", &["%2F"]),
            ("/...", &["..."]),
            ("/a;b=c,d+e:f@g~h", &["a;b=c,d+e:f@g~h"]),
        ];

        for (path, expected) in cases {
            assert_eq!(segments(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn an_ambiguous_path_is_malformed() {
        let cases = [
            ("nothing", ""),
            ("no slash", "health"),
            ("an asterisk", "*"),
            ("an empty segment", "/a//b"),
            ("nothing but slashes", "//"),
            ("two slashes at the end", "/a//"),
            ("a dot", "/a/./b"),
            ("two dots", "/a/../b"),
            ("two dots at the end", "/a/.."),
            ("two dots before a slash at the end", "/a/../"),
            ("an encoded dot", "/a/%2e/b"),
            ("encoded dots", "/a/%2E%2e/b"),
            ("half-encoded dots", "/a/.%2e/b"),
            ("an encoded slash", "/a%2fb"),
            ("an encoded slash in capitals", "/a%2Fb"),
            ("an encoded slash before one at the end", "/a%2f/"),
            ("a backslash", "/a\\b"),
            ("an encoded backslash", "/a%5Cb"),
            ("a space", "/a b"),
            ("a tab", "/a\tb"),
            ("a line break", "/a\nb"),
            ("delete", "/a\u{7f}b"),
            ("a letter that is not ASCII", "/café"),
            ("a percent sign alone", "/100%"),
            ("a percent sign and one digit", "/a%4"),
            ("a percent sign and no digits", "/a%zzb"),
            ("a percent sign before another", "/a%%41"),
            ("an encoded zero", "/a%00"),
            ("an encoded line break", "/a%0d%0a"),
            ("an encoded unit separator", "/a%1f"),
            ("an encoded delete", "/a%7F"),
            ("an encoded control character beyond ASCII", "/a%C2%85"),
            ("not UTF-8", "/a%ff"),
            ("an overlong slash", "/a%c0%af"),
            ("half a surrogate pair", "/a%ed%a0%80"),
        ];

        for (name, path) in cases {
            assert_eq!(segments(path), Err(BadPath::Malformed), "{name}");
        }
    }

    #[test]
    fn a_slash_at_the_end_names_nothing() {
        assert_eq!(segments("/a/"), Err(BadPath::TrailingSlash));
        assert_eq!(segments("/api/v1/"), Err(BadPath::TrailingSlash));
    }
}
