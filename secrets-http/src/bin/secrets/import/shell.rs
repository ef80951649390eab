//! Reader for `export KEY=value` lines, quoted for a POSIX shell.

use std::iter::Peekable;
use std::str::Chars;

use super::{Entry, Found};

const COMMAND: &str = "must have no commands but `export KEY=value`";

/// Characters that begin or end a command, and must be quoted in a value.
const OPERATORS: [char; 8] = [';', '&', '|', '<', '>', '(', ')', '`'];

/// Reads assignments such as `export KEY=value`. Variables and commands in values are not expanded;
/// a line with another command is an error.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let mut words = Words::new(text);
    let mut found = Found::default();
    while let Some((line, word)) = words.next_word()? {
        if word == "export" {
            continue;
        }
        let (name, value) =
            word.split_once('=').ok_or_else(|| format!("line {line}: {COMMAND}"))?;
        found.entries.push(Entry::text(name, value));
    }
    Ok(found)
}

/// Words of a text, split and unquoted as in a POSIX shell.
struct Words<'a> {
    rest: Peekable<Chars<'a>>,
    /// Line number of the next character, starting at 1.
    line: usize,
    /// True if all line breaks of the text are a carriage return and a line feed.
    is_crlf: bool,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let is_crlf = lines.all(|line| line.ends_with("\r\n"));
        Self { rest: text.chars().peekable(), line: 1, is_crlf }
    }

    /// Returns the next word, and the number of the line in which it begins. Error messages contain
    /// no part of the text.
    fn next_word(&mut self) -> Result<Option<(usize, String)>, String> {
        let Some(mut c) = self.first() else { return Ok(None) };
        let (line, mut word) = (self.line, String::new());
        loop {
            match c {
                ' ' | '\t' | '\n' => break,
                '\'' | '"' => self.quoted(c, &mut word)?,
                '\\' => match self.next_char(false).ok_or_else(|| unclosed(line))? {
                    '\n' => {}
                    escaped => word.push(escaped),
                },
                '$' if matches!(self.rest.peek(), Some('\'' | '"')) => {
                    let rule = "must have no quotes after `$`, which only some shells know";
                    return Err(format!("line {}: {rule}", self.line));
                }
                _ if OPERATORS.contains(&c) => {
                    let rule = "and these characters must be quoted: ; & | < > ( ) `";
                    return Err(format!("line {}: {COMMAND}, {rule}", self.line));
                }
                _ => word.push(c),
            }
            let Some(next) = self.next_char(false) else { break };
            c = next;
        }
        Ok(Some((line, word)))
    }

    /// Skips spaces, comments and the ends of continued lines, and returns the first character of the
    /// next word.
    fn first(&mut self) -> Option<char> {
        loop {
            match self.next_char(false)? {
                ' ' | '\t' | '\n' => {}
                '#' => while self.next_char(false)? != '\n' {},
                '\\' if self.is_line_end() => drop(self.next_char(false)),
                c => return Some(c),
            }
        }
    }

    /// True if the next characters end the line.
    fn is_line_end(&self) -> bool {
        let mut ahead = self.rest.clone();
        let first = ahead.next();
        let last = if first == Some('\r') { ahead.next() } else { first };
        last == Some('\n')
    }

    /// Appends the text up to the closing quote to `word`.
    fn quoted(&mut self, quote: char, word: &mut String) -> Result<(), String> {
        let line = self.line;
        loop {
            match self.next_char(true).ok_or_else(|| unclosed(line))? {
                c if c == quote => return Ok(()),
                '\\' if quote == '"' => match self.next_char(true).ok_or_else(|| unclosed(line))? {
                    '\n' => {}
                    c @ ('$' | '`' | '"' | '\\') => word.push(c),
                    c => word.extend(['\\', c]),
                },
                c => word.push(c),
            }
        }
    }

    /// Removes and returns the next character; `None` at the end of the text. The carriage return
    /// of a line end is skipped. In quotes, it is skipped only if `is_crlf` is set; otherwise it is
    /// a part of the value.
    fn next_char(&mut self, is_quoted: bool) -> Option<char> {
        let mut c = self.rest.next()?;
        if c == '\r' && (!is_quoted || self.is_crlf) && self.rest.peek() == Some(&'\n') {
            c = self.rest.next()?;
        }
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }
}

fn unclosed(line: usize) -> String {
    format!("line {line}: a quote is never closed, or the text ends with a backslash")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names and values in a text.
    fn values(text: &str) -> Vec<(String, String)> {
        let value = |entry: Entry| (entry.name, entry.value.unwrap().reveal().to_owned());
        read(text).unwrap().entries.into_iter().map(value).collect()
    }

    #[track_caller]
    fn reads(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(values(text), expected, "{text:?}");
    }

    #[test]
    fn quotes_and_escapes_are_those_of_a_shell() {
        reads(
            "export A=1 B='x y'\nC=\"a'b\"'c\"d' # E=1\n\n# F=1",
            &[("A", "1"), ("B", "x y"), ("C", "a'bc\"d")],
        );
        reads("export A=1 \\\n  B=2 \\\r\n\tC=3 \\\n", &[("A", "1"), ("B", "2"), ("C", "3")]);
        reads(
            "A=a\\ b\\;\\\nc B=\"\\$x\\`\\\"\\\\\\n\\\ny\" C=x#y",
            &[("A", "a b;c"), ("B", "$x`\"\\\\ny"), ("C", "x#y")],
        );
        reads(
            "A=$HOME B=\"$(id) `id` $'x'; & | < >\" C='\r\n'\n",
            &[("A", "$HOME"), ("B", "$(id) `id` $'x'; & | < >"), ("C", "\r\n")],
        );
    }

    #[test]
    fn a_carriage_return_before_a_line_end_is_not_a_part_of_a_value() {
        reads(
            "export A=1\r\n\r\n# x\r\nexport B='2'\r\nC=3\\\r\n4",
            &[("A", "1"), ("B", "2"), ("C", "34")],
        );
        reads("A='x\r\ny'\r\nB=\"\r\\\r\n\"\r\n", &[("A", "x\ny"), ("B", "\r")]);
        reads("A='x\r\ny'\r\nB=1", &[("A", "x\ny"), ("B", "1")]);
        reads("A='x\r\ny'\nB=1\r\n", &[("A", "x\r\ny"), ("B", "1")]);
    }

    #[test]
    fn unquoted_operators_and_unclosed_quotes_are_refused() {
        for (text, rule) in [
            ("A=1\nexport B=kvc_1; export C=2", "line 2: must have no commands but"),
            ("A='1\n2' kvc_1", "line 2: must have no commands but"),
            ("A=kvc_1&", "must be quoted"),
            ("A=kvc_1|cat", "must be quoted"),
            ("A=kvc_1>x", "must be quoted"),
            ("A=<x", "must be quoted"),
            ("A=(kvc_1 2)", "must be quoted"),
            ("A=$(kvc_1)", "must be quoted"),
            ("A=`kvc_1`", "must be quoted"),
            ("A=$'kvc_1\\n'", "line 1: must have no quotes after `$`"),
            ("A=x$\"kvc_1\"", "line 1: must have no quotes after `$`"),
            ("A=1\nB='kvc_1\n\n", "line 2: a quote is never closed"),
            ("A=1\nB=kvc_1\\", "line 2: a quote is never closed"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(rule) && !message.contains("kvc_"), "{text}: {message}");
        }
    }
}
