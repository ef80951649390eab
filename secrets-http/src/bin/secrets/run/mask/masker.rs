//! Masking of secret values in a stream that arrives in pieces.

use zeroize::Zeroizing;

use super::patterns::Patterns;

/// Text that replaces a value in the output.
pub(super) const MASK: &[u8] = b"***";

/// Maximum number of bytes that are read from the stream at once.
const READ_SIZE: usize = 64 * 1024;

/// Masks secret values in one stream. Bytes that may be the start of a value are held back until
/// the following bytes have arrived.
#[derive(Default)]
pub(super) struct Masker {
    buffer: Zeroizing<Vec<u8>>,
    /// Number of bytes in the buffer that come from the stream.
    filled: usize,
    /// Number of bytes at the start of the buffer that were already written to the output. They
    /// stay in the buffer because they may be the start of a value.
    shown: usize,
    output: Zeroizing<Vec<u8>>,
}

impl Masker {
    /// Returns the free part of the buffer, for the next bytes of the stream.
    pub(super) fn space(&mut self, patterns: &Patterns) -> &mut [u8] {
        let size = self.filled.max(patterns.max_length()) + READ_SIZE;
        if self.buffer.len() < size {
            // A new buffer, because growing would leave a copy in memory that is not wiped.
            let mut buffer = Zeroizing::new(vec![0; size]);
            buffer[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
            self.buffer = buffer;
            // A mask is shorter than the value, so the output is never longer than the buffer.
            self.output = Zeroizing::new(Vec::with_capacity(size));
        }
        &mut self.buffer[self.filled..]
    }

    /// Processes `length` bytes that were read into the buffer returned by [`Self::space`]. Returns
    /// the masked output that can no longer change when more bytes arrive.
    pub(super) fn advance(&mut self, length: usize, patterns: &Patterns) -> &[u8] {
        self.filled += length;
        self.mask(patterns, false);
        &self.output
    }

    /// Returns the bytes that were held back, without waiting for more bytes. If later bytes
    /// complete a value, only these later bytes are masked.
    pub(super) fn flush(&mut self, patterns: &Patterns) -> &[u8] {
        self.mask(patterns, true);
        &self.output
    }

    /// True if bytes are held back that were not written yet.
    pub(super) fn is_holding(&self) -> bool {
        self.filled > self.shown
    }

    fn mask(&mut self, patterns: &Patterns, is_flush: bool) {
        let text = &self.buffer[..self.filled];
        self.output.clear();
        let (mut literal, mut position) = (0, 0);
        let held = loop {
            let Some(candidate) = patterns.candidate(text, position) else { break text.len() };
            let found = patterns.at(&text[candidate..]);
            if found.may_continue && !is_flush {
                break candidate;
            }
            position = candidate + found.length.unwrap_or(1);
            if found.length.is_some() {
                self.output.extend_from_slice(unseen(text, literal, candidate, self.shown));
                if position > self.shown {
                    self.output.extend_from_slice(MASK);
                }
                literal = position;
            }
        };
        self.output.extend_from_slice(unseen(text, literal, held, self.shown));
        // Flushed bytes stay in the buffer, because they may be the start of a value.
        let kept = if is_flush { literal } else { held };
        let shown = if is_flush { self.filled } else { self.shown };
        self.buffer.copy_within(kept..self.filled, 0);
        self.filled -= kept;
        self.shown = shown.saturating_sub(kept);
    }
}

/// Returns `text[from..to]` without the bytes before position `shown`, which were already written.
fn unseen(text: &[u8], from: usize, to: usize, shown: usize) -> &[u8] {
    &text[from.max(shown).min(to)..to]
}

#[cfg(test)]
mod tests {
    use aho_corasick::{AhoCorasick, MatchKind};
    use proptest::prelude::*;

    use super::*;

    fn patterns(texts: &[&str]) -> Patterns {
        Patterns::new(texts.iter().map(|text| Zeroizing::new(text.as_bytes().to_vec())).collect())
    }

    fn push(masker: &mut Masker, patterns: &Patterns, bytes: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        for chunk in bytes.chunks(READ_SIZE) {
            masker.space(patterns)[..chunk.len()].copy_from_slice(chunk);
            output.extend_from_slice(masker.advance(chunk.len(), patterns));
        }
        output
    }

    fn masked(patterns: &Patterns, chunks: &[&[u8]]) -> Vec<u8> {
        let mut masker = Masker::default();
        let mut output = Vec::new();
        for chunk in chunks {
            output.extend(push(&mut masker, patterns, chunk));
        }
        output.extend_from_slice(masker.flush(patterns));
        output
    }

    #[test]
    fn a_value_at_each_boundary_of_the_buffer_is_masked() {
        let patterns = patterns(&["kvc_boundary"]);
        for offset in 0..=12 {
            let filler = vec![b'x'; READ_SIZE - offset];
            let text = [&filler[..], b"kvc_boundary", b"y"].concat();

            let output = masked(&patterns, &[&text]);

            assert_eq!(output, [&filler[..], MASK, b"y"].concat(), "{offset}");
        }
    }

    #[test]
    fn only_a_possible_beginning_is_held_back() {
        let patterns = patterns(&["kvc_value"]);
        let mut masker = Masker::default();

        assert_eq!(push(&mut masker, &patterns, b"text kvc"), b"text ");
        assert!(masker.is_holding());
        assert_eq!(push(&mut masker, &patterns, b"_other"), b"kvc_other");
        assert!(!masker.is_holding());
    }

    #[test]
    fn the_rest_of_a_value_is_masked_after_its_beginning_was_shown() {
        let patterns = patterns(&["kvc_value", "value_x"]);
        let mut masker = Masker::default();

        assert_eq!(push(&mut masker, &patterns, b"a kvc_"), b"a ");
        assert_eq!(masker.flush(&patterns), b"kvc_");
        assert!(!masker.is_holding());
        assert_eq!(push(&mut masker, &patterns, b"value b"), b"*** b");
        assert_eq!(push(&mut masker, &patterns, b"kvc_"), b"");
        assert_eq!(masker.flush(&patterns), b"kvc_");
        assert_eq!(push(&mut masker, &patterns, b"other"), b"other");
    }

    #[test]
    fn a_shorter_value_within_a_held_beginning_is_masked() {
        let patterns = patterns(&["xkvc_short_and_long", "kvc_short"]);
        let mut masker = Masker::default();

        assert_eq!(push(&mut masker, &patterns, b"xkvc_short_a"), b"");
        assert_eq!(masker.flush(&patterns), b"x***_a");
    }

    proptest! {
        #[test]
        fn chunks_are_masked_like_the_whole_text(
            texts in prop::collection::vec("[ab]{4,12}|[abc]{1,7}", 1..8),
            words in prop::collection::vec(("[abcd]{0,6}", any::<prop::sample::Index>()), 0..40),
            sizes in prop::collection::vec(1_usize..20, 1..10),
        ) {
            let texts: Vec<_> = texts.iter().map(String::as_str).filter(|t| t.len() >= 4).collect();
            prop_assume!(!texts.is_empty());
            let mut text = String::new();
            for (word, index) in &words {
                text.push_str(word);
                text.push_str(texts[index.index(texts.len())]);
            }
            let mut chunks = Vec::new();
            let mut rest = text.as_bytes();
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, tail) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = tail;
            }

            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(&texts)
                .unwrap();
            let expected = automaton.replace_all_bytes(text.as_bytes(), &vec![MASK; texts.len()]);

            prop_assert_eq!(masked(&patterns(&texts), &chunks), expected);
        }
    }
}
