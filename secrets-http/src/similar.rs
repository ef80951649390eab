//! Similarity of words, used to recognize misspelled names.

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
        let distance = is_comparable.then(|| distance(word, candidate))?;
        (distance <= max_distance).then_some((distance, candidate))
    });
    similar.min().map(|(_, candidate)| candidate)
}

/// Returns the number of characters to insert, delete, replace, or swap with their neighbor, to
/// turn one word into the other (optimal string alignment).
fn distance(word: &str, other: &str) -> usize {
    let (word, other): (Vec<_>, Vec<_>) = (word.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for i in 1..=word.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let above = &rows[i - 1];
            let replaced = above[j - 1] + usize::from(word[i - 1] != other[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[word.len()][other.len()]
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
