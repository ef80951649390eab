//! Similarity of words, used to recognize misspelled names.

use strsim::osa_distance;

/// Returns the candidate that is most similar to the word. Returns `None` if it differs from the
/// word in more than a third of its characters.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let similar = candidates.into_iter().filter_map(|candidate| {
        let (length, other_length) = (word.chars().count(), candidate.chars().count());
        let max_distance = length.min(other_length) / 3;
        // Words of very different lengths need no comparison.
        let is_comparable = length.abs_diff(other_length) <= max_distance;
        let distance = is_comparable.then(|| osa_distance(word, candidate))?;
        (distance <= max_distance).then_some((distance, candidate))
    });
    similar.min().map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_word_is_recognized_and_another_word_is_not() {
        let words = ["projects", "environments", "secrets", "export"];
        let cases = [
            ("project", Some("projects")),
            ("projcets", Some("projects")),
            ("environment", Some("environments")),
            ("secrets", Some("secrets")),
            ("report", Some("export")),
            ("kvc_value", None),
            ("web-api", None),
            ("", None),
        ];

        for (word, expected) in cases {
            assert_eq!(closest(word, words), expected, "{word}");
        }
    }
}
