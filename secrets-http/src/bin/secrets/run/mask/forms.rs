//! Encodings in which a program may print a value.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

/// Minimum length of an encoded value that is masked, in bytes. Shorter strings occur by chance in
/// normal output.
pub(super) const MIN_LENGTH: usize = 6;

/// Minimum length of one line of a value with several lines that is masked by itself, in bytes.
/// Short lines, such as `},`, are common.
const MIN_LINE_LENGTH: usize = 8;

/// Characters that are percent-encoded: all except the unreserved characters of RFC 3986.
const RFC_3986: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Characters that the function `urllib.parse.quote` of Python percent-encodes. It does not encode
/// slashes.
const PYTHON: AsciiSet = RFC_3986.remove(b'/');

/// Characters that the function `encodeURIComponent` of JavaScript percent-encodes.
const JAVASCRIPT: AsciiSet =
    RFC_3986.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');

/// Adds to `forms` all encodings of a value that are long enough to be masked. Every buffer has its
/// final size from the start, because a growing buffer would leave copies in memory that is not
/// wiped.
pub(super) fn add_forms(value: &str, forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    if value.len() < MIN_LENGTH {
        return;
    }
    let mut add = |form: &str| {
        if form.len() >= MIN_LENGTH {
            forms.push(Zeroizing::new(form.as_bytes().to_vec()));
        }
    };
    add(value);
    if value.contains('\n') {
        // A terminal writes a carriage return before each line feed.
        add(&replaced(&replaced(value, "\r\n", "\n"), "\n", "\r\n"));
        value
            .lines()
            .map(str::trim)
            .filter(|line| line.len() >= MIN_LINE_LENGTH)
            .for_each(&mut add);
    }
    let json = json(value);
    add(&json);
    add(&in_ascii(&json));
    for kept in [&RFC_3986, &PYTHON, &JAVASCRIPT] {
        let encoded = percent_encoded(value, kept);
        add(&encoded);
        // Forms of HTML encode a space as `+`.
        add(&replaced(&encoded, "%20", "+"));
    }
    for shift in 0..3 {
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let [at_end, elsewhere] = base64(&engine, value, shift);
            add(&at_end);
            add(&elsewhere);
        }
    }
}

fn replaced(text: &str, from: &str, to: &str) -> Zeroizing<String> {
    let size = text.len() + text.matches(from).count() * to.len();
    let mut result = Zeroizing::new(String::with_capacity(size));
    for (index, part) in text.split(from).enumerate() {
        if index > 0 {
            result.push_str(to);
        }
        result.push_str(part);
    }
    result
}

/// Returns the value as the content of a JSON string, without the quotation marks.
fn json(value: &str) -> Zeroizing<String> {
    const MAX_ESCAPE: usize = "\\u0000".len();
    let mut quoted = Zeroizing::new(Vec::with_capacity(value.len() * MAX_ESCAPE + 2));
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *quoted, value);
    let content = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    Zeroizing::new(str::from_utf8(content).unwrap_or_default().to_owned())
}

/// Returns JSON text with `\u` escapes for all non-ASCII characters, as many programs write it.
fn in_ascii(json: &str) -> Zeroizing<String> {
    const MAX_ESCAPE: usize = "\\u0000".len();
    let mut escaped = Zeroizing::new(String::with_capacity(json.len() * MAX_ESCAPE));
    for character in json.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
}

fn percent_encoded(value: &str, kept: &'static AsciiSet) -> Zeroizing<String> {
    const MAX_ESCAPE: usize = "%00".len();
    let mut encoded = Zeroizing::new(String::with_capacity(value.len() * MAX_ESCAPE));
    utf8_percent_encode(value, kept).for_each(|part| encoded.push_str(part));
    encoded
}

/// Returns two base64 strings that occur in the base64 of a longer string that contains the value:
/// the first if the value is at the end, the second if more bytes follow. Characters that also
/// depend on other bytes are omitted. `shift` is the number of bytes, modulo 3, before the value.
fn base64(engine: &impl Engine, value: &str, shift: usize) -> [Zeroizing<String>; 2] {
    const BITS_OF_BYTE: usize = 8;
    const BITS_OF_CHARACTER: usize = 6;
    let text = Zeroizing::new([&[0; 2][..shift], value.as_bytes()].concat());
    let encoded = Zeroizing::new(engine.encode(&*text));
    let start = (shift * BITS_OF_BYTE).div_ceil(BITS_OF_CHARACTER);
    let end = text.len() * BITS_OF_BYTE / BITS_OF_CHARACTER;
    [&encoded[start..], &encoded[start..end]].map(|form| Zeroizing::new(form.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms_of(value: &str) -> Vec<String> {
        let mut forms = Vec::new();
        add_forms(value, &mut forms);
        forms.iter().map(|form| String::from_utf8(form.to_vec()).unwrap()).collect()
    }

    #[test]
    fn a_value_is_known_in_json_percent_encoding_and_base64() {
        let forms = forms_of("kvc \"é/\"");

        for form in
            ["kvc \"é/\"", "kvc \\\"é/\\\"", "kvc \\\"\\u00e9/\\\"", "kvc%20%22%C3%A9%2F%22"]
        {
            assert!(forms.iter().any(|known| known == form), "{form}");
        }
        assert!(forms.iter().any(|known| known == "kvc+%22%C3%A9%2F%22"));
    }

    #[test]
    fn base64_is_known_at_each_place_in_a_text() {
        let forms = forms_of("kvc_value");

        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "z", "zz"] {
                let text = STANDARD_NO_PAD.encode(format!("{before}kvc_value{after}"));
                let is_known = forms.iter().any(|form| text.contains(form.as_str()));
                assert!(is_known, "{before} {after}");
            }
        }
    }

    #[test]
    fn short_values_and_short_lines_are_not_masked() {
        assert!(forms_of("12345").is_empty());
        let forms = forms_of("{\n  long enough\n}\n");
        assert!(forms.iter().any(|form| form == "long enough"));
        assert!(!forms.iter().any(|form| form == "{"));
    }
}
