//! Line and column numbers, computed in one pass over the text.

/// Position in a text: line number and column number, both starting at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Comments that exclude their line from the scan.
const ALLOW_COMMENTS: [&str; 2] = ["secrets:allow", "gitleaks:allow"];

/// Converter from byte offsets in a text to positions. Offsets must be given in ascending order:
/// each byte is read only once, so that many offsets in a long line take little time.
pub(crate) struct Places<'t> {
    text: &'t str,
    line: u32,
    line_end: usize,
    is_allowed: bool,
    column: u32,
    reached: usize,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut places =
            Self { text, line: 1, line_end: 0, is_allowed: false, column: 1, reached: 0 };
        places.enter(0);
        places
    }

    /// Returns the position of a byte offset, or `None` if a comment such as `secrets:allow`
    /// excludes the line. The offset must be a character boundary and not before the offset of the
    /// previous call.
    pub(crate) fn at(&mut self, offset: usize) -> Option<Place> {
        while offset > self.line_end {
            self.line = self.line.saturating_add(1);
            self.enter(self.line_end + 1);
        }
        let passed = self.text.get(self.reached..offset).unwrap_or_default().chars().count();
        self.column = self.column.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        self.reached = offset;
        (!self.is_allowed).then_some(Place { line: self.line, column: self.column })
    }

    fn enter(&mut self, start: usize) {
        let rest = self.text.get(start..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        self.line_end = start + line.len();
        self.is_allowed = ALLOW_COMMENTS.iter().any(|word| line.contains(word));
        (self.column, self.reached) = (1, start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "äb\ncde\n\nf";
        let mut places = Places::new(text);

        let found = [0, 2, 4, 6, 8, 9].map(|offset| places.at(offset).unwrap());

        let expected = [(1, 1), (1, 2), (2, 1), (2, 3), (3, 1), (4, 1)];
        assert_eq!(found, expected.map(|(line, column)| Place { line, column }));
    }

    #[test]
    fn a_line_with_an_allow_comment_is_skipped() {
        let mut places = Places::new("a\nb # secrets:allow\nc // gitleaks:allow\nd");

        assert!(places.at(0).is_some());
        assert_eq!(places.at(2), None);
        assert_eq!(places.at(20), None);
        assert_eq!(places.at(40), Some(Place { line: 4, column: 1 }));
    }
}
