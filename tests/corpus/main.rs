//! Test of how well scans find credentials (precision and recall), measured on lines that are
//! labelled with the expected rule.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeSet;

use secrets_core::scanner::{Rule, Rules, scan};

/// Labelled line: its content, and the ID of the rule that should find a credential in the line;
/// `None` if no rule should find one.
struct Line {
    text: String,
    expected: Option<&'static str>,
}

/// Number of expected findings (`right`), of findings of other rules (`wrong`), and of expected
/// findings that are missing (`missed`).
#[derive(Debug, Default)]
struct Outcome {
    right: usize,
    wrong: usize,
    missed: usize,
}

fn lines() -> Vec<Line> {
    let written = include_str!("lines.txt").lines().filter(|line| !line.starts_with("# "));
    let lines = written.map(|line| {
        let (label, text) = line.split_once('\t').unwrap();
        let expected = (label != "none").then_some(label);
        Line { text: text.replace('¦', ""), expected }
    });
    lines.collect()
}

/// Scans all lines. A finding of any rule but the expected one counts as wrong. A line in which the
/// expected rule finds nothing counts as missed. Also returns a message for each line with such a
/// mistake.
fn measure(lines: &[Line]) -> (Outcome, Vec<String>) {
    let (mut outcome, mut remarks) = (Outcome::default(), Vec::new());
    for line in lines {
        let found = scan(&line.text, "", Rules::built_in());
        let rules: BTreeSet<_> = found.iter().map(|found| found.rule.id()).collect();
        let others = rules.iter().filter(|rule| Some(**rule) != line.expected).count();
        outcome.wrong += others;
        if let Some(expected) = line.expected {
            if rules.contains(expected) { outcome.right += 1 } else { outcome.missed += 1 }
        }
        if others > 0 || line.expected.is_some_and(|expected| !rules.contains(expected)) {
            remarks.push(format!("{:?} instead of {:?}: {}", rules, line.expected, line.text));
        }
    }
    (outcome, remarks)
}

#[test]
fn the_corpus_is_large_and_hard_and_knows_every_rule() {
    let lines = lines();
    let harmless = lines.iter().filter(|line| line.expected.is_none()).count();
    let labels: BTreeSet<_> = lines.iter().filter_map(|line| line.expected).collect();
    let rules: BTreeSet<_> = Rules::built_in().iter().map(Rule::id).collect();

    assert!(lines.len() >= 300, "{} lines", lines.len());
    assert!(harmless * 10 >= lines.len() * 4, "{harmless} of {} are harmless", lines.len());
    assert!(rules.len() >= 60, "{} rules", rules.len());
    assert_eq!(rules.difference(&labels).collect::<Vec<_>>(), [&"putty-private-key"]);
    assert_eq!(labels.difference(&rules).count(), 0);
}

#[test]
#[expect(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "small numbers, printed for people"
)]
fn precision_and_recall_are_at_least_95_percent() {
    let lines = lines();

    let (Outcome { right, wrong, missed }, remarks) = measure(&lines);

    let precision = right as f64 / (right + wrong) as f64;
    let recall = right as f64 / (right + missed) as f64;
    println!("{} lines: precision {precision:.4}, recall {recall:.4}", lines.len());
    for remark in &remarks {
        println!("{remark}");
    }
    assert!(precision >= 0.95, "precision {precision:.4}: {remarks:#?}");
    assert!(recall >= 0.95, "recall {recall:.4}: {remarks:#?}");
}
