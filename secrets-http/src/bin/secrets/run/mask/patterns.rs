//! Search for the strings to mask.
//!
//! The strings are kept in memory that is wiped when it is freed; the crate `aho-corasick` would
//! not wipe its tables. The matches are the same as with its mode `LeftmostLongest`: the first
//! match in the searched text, and if several matches begin there, the longest.

use zeroize::Zeroizing;

use super::forms::add_forms;

/// Number of bytes, from the start of each string to mask, that are hashed.
const START_LENGTH: usize = 4;

/// Number of bits of a hash.
const HASH_BITS: u32 = 16;

/// Number of 64-bit words in the bit set that has a bit for each possible hash.
const WORDS: usize = (1 << HASH_BITS) / u64::BITS as usize;

/// Strings to mask, prepared for a fast search.
pub(super) struct Patterns {
    /// Strings to mask in ascending order, without duplicates.
    sorted: Vec<Pattern>,
    /// Bit set with the hashes of the first bytes of all strings to mask.
    starts: Zeroizing<[u64; WORDS]>,
}

struct Pattern {
    text: Zeroizing<Vec<u8>>,
    /// Index of the longest other string to mask that is a prefix of this one.
    prefix: Option<usize>,
}

/// Result of checking whether a string to mask begins at the start of the searched text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Length of the longest string to mask that begins at the start of the searched text, in
    /// bytes; `None` if there is none.
    pub(super) length: Option<usize>,
    /// True if a longer string to mask may begin at the start of the searched text, which depends
    /// on bytes that have not arrived yet.
    pub(super) may_continue: bool,
}

impl Patterns {
    /// Prepares the search for all encodings of these values.
    pub(super) fn of_values<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms = Vec::new();
        values.into_iter().for_each(|value| add_forms(value, &mut forms));
        Self::new(forms)
    }

    /// Prepares the search for exactly these strings.
    pub(super) fn new(mut texts: Vec<Zeroizing<Vec<u8>>>) -> Self {
        texts.sort_unstable_by(|one, other| one.as_slice().cmp(other.as_slice()));
        texts.dedup();
        let mut starts = Zeroizing::new([0; WORDS]);
        let mut sorted: Vec<Pattern> = Vec::with_capacity(texts.len());
        for text in texts {
            if let Some(start) = text.first_chunk() {
                let (word, bit) = place(*start);
                starts[word] |= bit;
            }
            let mut prefix = sorted.len().checked_sub(1);
            while let Some(index) = prefix
                && !text.starts_with(&sorted[index].text)
            {
                prefix = sorted[index].prefix;
            }
            sorted.push(Pattern { text, prefix });
        }
        Self { sorted, starts }
    }

    /// Returns the length of the longest string to mask, in bytes.
    pub(super) fn max_length(&self) -> usize {
        self.sorted.iter().map(|pattern| pattern.text.len()).max().unwrap_or(0)
    }

    /// Returns the first position at or after `from` in `text` where a string to mask may begin;
    /// `None` if there is none.
    pub(super) fn candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let is_start = |start: &[u8]| {
            start.first_chunk().is_some_and(|start| {
                let (word, bit) = place(*start);
                self.starts[word] & bit != 0
            })
        };
        let position = rest.windows(START_LENGTH).position(is_start).unwrap_or_else(|| {
            // The last positions have too few bytes for the hash.
            rest.len().saturating_sub(START_LENGTH - 1)
        });
        (position < rest.len()).then_some(from + position)
    }

    /// Checks whether a string to mask begins at the start of `text`.
    pub(super) fn at(&self, text: &[u8]) -> Found {
        let next = self.sorted.partition_point(|pattern| pattern.text.as_slice() <= text);
        let may_continue =
            self.sorted.get(next).is_some_and(|pattern| pattern.text.starts_with(text));
        // Each pattern that is a prefix of `text` is the pattern before `next`, or a prefix of that
        // pattern.
        let mut index = next.checked_sub(1);
        while let Some(pattern) = index.map(|index| &self.sorted[index]) {
            if text.starts_with(&pattern.text) {
                return Found { length: Some(pattern.text.len()), may_continue };
            }
            index = pattern.prefix;
        }
        Found { length: None, may_continue }
    }
}

/// Returns the position of the hash of these bytes in the bit set: the index of the word, and a
/// word in which only the bit of the hash is set.
fn place(start: [u8; START_LENGTH]) -> (usize, u64) {
    // Multiplicative hash: the highest bits depend on all bytes.
    const FACTOR: u32 = 0x9e37_79b1;
    let hash = u32::from_le_bytes(start).wrapping_mul(FACTOR) >> (u32::BITS - HASH_BITS);
    ((hash / u64::BITS) as usize % WORDS, 1 << (hash % u64::BITS))
}
