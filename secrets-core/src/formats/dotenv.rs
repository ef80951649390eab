//! Reading and writing `.env` files, in the syntax that common readers agree on.
//!
//! `KEY=value`, optionally after `export`. Unquoted values end at ` #` and lose surrounding space;
//! single quotes and backticks keep everything literally; double quotes support the escapes `\n`,
//! `\r`, `\t`, `\"`, `\\` and `\$`. Quoted values may span lines. If all line breaks of a text are
//! CR LF, those in values are read as LF. Variables are not expanded.

use std::fmt;

use super::{is_variable, without_byte_order_mark};
use crate::crypto::Plaintext;
use crate::model::{SecretKey, Violation};

/// Invalid line of a `.env` file. Never contains the line's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadLine {
    /// Number of the invalid line, starting at 1.
    pub line: usize,
    /// Reason why the line is invalid.
    pub reason: Reason,
}

/// Reason why a line is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The line contains no `=`.
    NoAssignment,
    /// The secret key is invalid, or the value is too long.
    Violation(Violation),
    /// The closing quote is missing.
    OpenQuote,
    /// There is text after the closing quote.
    AfterQuote,
}

/// Parses the secrets of a `.env` file, in the order of the file.
pub fn parse(text: &str) -> Result<Vec<(SecretKey, Plaintext)>, BadLine> {
    parse_at_most(text, usize::MAX)
}

/// Parses the first secrets of a `.env` file, at most `max`. The rest is not read.
pub(super) fn parse_at_most(
    text: &str,
    max: usize,
) -> Result<Vec<(SecretKey, Plaintext)>, BadLine> {
    let text = without_byte_order_mark(text);
    let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let is_crlf = lines.all(|line| line.ends_with("\r\n"));
    let mut parser = Parser { text, line: 1, is_crlf };
    let mut secrets = Vec::new();
    while secrets.len() < max
        && let Some(secret) = parser.next_secret()?
    {
        secrets.push(secret);
    }
    Ok(secrets)
}

/// Writes one assignment, which has several lines if the value has several lines. The output means
/// the same to `dotenv` for Node.js, to `python-dotenv`, to a POSIX shell that sources the file,
/// and to [`parse`]. These readers treat escapes differently, so no escapes are written, and a
/// value that needs one is an error.
pub(super) fn write(text: &mut String, key: &str, value: &str) -> Result<(), &'static str> {
    is_variable(key)?;
    if value.contains('\r') {
        return Err("must not contain a carriage return in this format; use shell or json");
    }
    // python-dotenv expands it even between single quotes.
    if value.contains("${") {
        return Err(
            "must not contain `${` in this format, which some readers expand; use shell or json",
        );
    }
    let quote = if !value.contains('\'') && keeps_backslashes(value) {
        '\''
    } else if !value.contains(['"', '\\', '$', '`']) {
        '"'
    } else {
        return Err(
            "must not mix quotes, `$`, backticks and backslashes so in this format, which its readers understand differently; use shell or json",
        );
    };
    for piece in [key, "=", quote.encode_utf8(&mut [0; 4]), value] {
        text.push_str(piece);
    }
    text.extend([quote, '\n']);
    Ok(())
}

/// True if every reader of `.env` files takes the backslashes of this single-quoted value
/// literally. False if the value contains two backslashes in a row, which python-dotenv reads as
/// one, or if a line of the value ends with a backslash.
fn keeps_backslashes(value: &str) -> bool {
    let mut after = value.split('\\').skip(1);
    after.all(|after| !after.is_empty() && !after.starts_with('\n'))
}

struct Parser<'a> {
    text: &'a str,
    line: usize,
    /// True if all line breaks of the text are a carriage return and a line feed.
    is_crlf: bool,
}

impl<'a> Parser<'a> {
    fn next_secret(&mut self) -> Result<Option<(SecretKey, Plaintext)>, BadLine> {
        loop {
            if self.text.is_empty() {
                return Ok(None);
            }
            let line = self.text.lines().next().unwrap_or_default().trim_start();
            if !line.is_empty() && !line.starts_with('#') {
                return self.secret().map(Some);
            }
            self.take_line();
        }
    }

    fn secret(&mut self) -> Result<(SecretKey, Plaintext), BadLine> {
        let first = self.text.lines().next().unwrap_or_default();
        let (name, _) = first.split_once('=').ok_or_else(|| self.bad(Reason::NoAssignment))?;
        let offset = name.len() + 1;
        let name = name.trim();
        let name = name
            .strip_prefix("export")
            .filter(|rest| rest.starts_with([' ', '\t']))
            .unwrap_or(name)
            .trim();
        let key = name.parse().map_err(|broken| self.bad(Reason::Violation(broken)))?;

        let line = self.line;
        self.text = self.text[offset..].trim_start_matches([' ', '\t']);
        let value = match self.text.chars().next() {
            Some(quote @ ('"' | '\'' | '`')) => self.quoted(quote)?,
            _ => unquoted(self.take_line()).to_owned(),
        };
        let value = Plaintext::new(value)
            .map_err(|broken| BadLine { line, reason: Reason::Violation(broken) })?;
        Ok((key, value))
    }

    fn quoted(&mut self, quote: char) -> Result<String, BadLine> {
        let mut value = String::new();
        let (text, is_crlf) = (self.text, self.is_crlf);
        let is_kept =
            |(at, c): &(usize, char)| !is_crlf || *c != '\r' || !text[at + 1..].starts_with('\n');
        let mut chars = text.char_indices().skip(1).filter(is_kept);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' if quote == '"' => match chars.next() {
                    Some((_, escaped)) => push_escaped(&mut value, escaped),
                    None => break,
                },
                _ if c == quote => {
                    self.line += self.text[..at].matches('\n').count();
                    self.text = &self.text[at + 1..];
                    let behind = self.text.lines().next().unwrap_or_default().trim();
                    if !behind.is_empty() && !behind.starts_with('#') {
                        return Err(self.bad(Reason::AfterQuote));
                    }
                    self.take_line();
                    return Ok(value);
                }
                _ => value.push(c),
            }
        }
        Err(self.bad(Reason::OpenQuote))
    }

    fn take_line(&mut self) -> &'a str {
        let (line, rest) = self.text.split_once('\n').unwrap_or((self.text, ""));
        self.text = rest;
        self.line += 1;
        line.strip_suffix('\r').unwrap_or(line)
    }

    fn bad(&self, reason: Reason) -> BadLine {
        BadLine { line: self.line, reason }
    }
}

fn push_escaped(value: &mut String, escaped: char) {
    match escaped {
        'n' => value.push('\n'),
        'r' => value.push('\r'),
        't' => value.push('\t'),
        '"' | '\\' | '$' => value.push(escaped),
        _ => value.extend(['\\', escaped]),
    }
}

/// Returns an unquoted value without its comment. A comment begins at a `#` that is the first
/// character or follows whitespace.
fn unquoted(line: &str) -> &str {
    let comment = line.char_indices().find(|(at, c)| {
        *c == '#' && line[..*at].chars().next_back().is_none_or(char::is_whitespace)
    });
    comment.map_or(line, |(at, _)| &line[..at]).trim()
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.reason {
            Reason::NoAssignment => f.write_str("must be KEY=value"),
            Reason::Violation(broken) => write!(f, "the key or value {broken}"),
            Reason::OpenQuote => f.write_str("a quote is never closed"),
            Reason::AfterQuote => f.write_str("only a comment may stand behind the closing quote"),
        }
    }
}

impl std::error::Error for BadLine {}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        let secrets = parse(text).unwrap();
        assert_eq!(secrets.len(), 1, "{text}");
        secrets[0].1.reveal().to_owned()
    }

    #[test]
    fn a_value_is_read_as_the_common_readers_agree() {
        for (text, value) in [
            ("A=1", "1"),
            ("A=", ""),
            ("  export A = spaced out  # comment", "spaced out"),
            ("A=p@ss#word", "p@ss#word"),
            ("A=#only a comment", ""),
            ("A='single $x \\n # kept'", "single $x \\n # kept"),
            ("A=\"two\\nlines \\\"quoted\\\" \\$HOME \\q\"", "two\nlines \"quoted\" $HOME \\q"),
            ("A=\"over\ntwo lines\" # yes", "over\ntwo lines"),
            ("A=`it's \"both\"`", "it's \"both\""),
            ("\u{feff}A=x\r\n", "x"),
            ("A='over\r\ntwo lines'\r\n", "over\ntwo lines"),
            ("A=\"over\\r\\n\r\ntwo \\\r\nlines\"", "over\r\n\ntwo \\\nlines"),
            ("# CRLF in the value alone\nA='over\r\ntwo \rlines'\n", "over\r\ntwo \rlines"),
            ("A=a=b=c", "a=b=c"),
        ] {
            assert_eq!(one(text), value, "{text:?}");
        }
    }

    #[test]
    fn lines_without_an_assignment_are_skipped_or_named() {
        let secrets = parse("# comment\n\nA=1\n   \nB='2'\n").unwrap();
        let keys: Vec<_> = secrets.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["A", "B"]);

        assert_eq!(parse("A=1\nnonsense\n").unwrap_err().line, 2);
        assert_eq!(
            parse("A='x\ny'\nB=\"open").unwrap_err(),
            BadLine { line: 3, reason: Reason::OpenQuote }
        );
        assert_eq!(parse("A='x' y").unwrap_err().reason, Reason::AfterQuote);
        assert!(matches!(parse("1A=x").unwrap_err().reason, Reason::Violation(_)));
    }

    #[test]
    fn an_error_does_not_show_the_value() {
        let error = parse("kvc_hidden").unwrap_err().to_string();

        assert!(!error.contains("kvc_"), "{error}");
    }
}
