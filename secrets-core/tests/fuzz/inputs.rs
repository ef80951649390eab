//! Inputs of the fuzz targets: the files of the corpora, changed files, and random bytes. The
//! inputs are the same in each run.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestError, TestRunner};
use secrets_core::testing::fuzz::FuzzTarget;

/// Number of random inputs of each target, unless [`CASES_VARIABLE`] is set.
const CASES: u32 = 400;

/// Environment variable with the number of random inputs of each target.
const CASES_VARIABLE: &str = "SECRETS_TEST_FUZZ_CASES";

/// Maximum number of steps to find a smaller input after a failure.
const MAX_SHRINK_STEPS: u32 = 300;

/// Maximum length of a removed, repeated or inserted part, and of random inputs, in bytes.
const MAX_LENGTH: usize = 48;

/// Characters with a meaning in at least one format.
const MARKS: &[u8] = b"\0\n\r\t \"#$%&'*+,-./0:;=?@A[\\]^_`a{|}~\x7f\x80\xc3\xe2\xff";

/// Random change of an input. An [`Index`] selects a byte of the input, or a file of the corpus.
#[derive(Debug, Clone)]
enum Edit {
    Flip(Index, u8),
    Remove(Index, Index),
    Repeat(Index, Index),
    Insert(Index, Vec<u8>),
    /// Replaces the end of the input by the end of another file of the corpus.
    Splice(Index, Index, Index),
}

/// Runs each function over its corpus and over random inputs. Panics with the names of the targets
/// that failed.
pub(crate) fn run(targets: &[FuzzTarget]) {
    let failed: Vec<_> = thread::scope(|scope| {
        let spawn = |target| scope.spawn(move || run_target(target));
        let threads: Vec<_> = targets.iter().map(spawn).collect();
        let ended = targets.iter().zip(threads);
        ended.filter_map(|((name, _), thread)| thread.join().is_err().then_some(*name)).collect()
    });
    assert!(failed.is_empty(), "failed: {failed:?}");
}

fn run_target((name, function): &FuzzTarget) {
    let corpus = corpus(name);
    for (file, input) in &corpus {
        let outcome = catch_unwind(AssertUnwindSafe(|| function(input)));
        assert!(outcome.is_ok(), "{name}: {}", file.display());
    }
    let files: Vec<_> = corpus.into_iter().map(|(_, input)| input).collect();
    let config = Config {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: MAX_SHRINK_STEPS,
        ..Config::default()
    };
    let rng = TestRunner::deterministic().rng().clone();
    let outcome = TestRunner::new_with_rng(config, rng).run(&input(files), |input| {
        function(&input);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, input)) => panic!("{name}: {reason}: {}", input.escape_ascii()),
        Err(TestError::Abort(reason)) => panic!("{name}: {reason}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "the variable is for this test only")]
fn cases() -> u32 {
    env::var(CASES_VARIABLE).map_or(CASES, |cases| cases.parse().unwrap())
}

/// Strategy for inputs: nine of ten are changed files of the corpus.
fn input(files: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changed = (any::<Index>(), vec(edit(), 1..6)).prop_map(move |(file, edits)| {
        let input = files[file.index(files.len())].clone();
        edits.iter().fold(input, |input, edit| edit.apply(input, &files))
    });
    prop_oneof![1 => vec(any::<u8>(), 0..MAX_LENGTH), 9 => changed]
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    let marks = vec(select(MARKS), 1..4);
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (at(), at()).prop_map(|(from, to)| Edit::Remove(from, to)),
        (at(), at()).prop_map(|(from, to)| Edit::Repeat(from, to)),
        (at(), marks).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (at(), vec(any::<u8>(), 1..MAX_LENGTH)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (at(), at(), at()).prop_map(|(file, from, to)| Edit::Splice(file, from, to)),
    ]
}

impl Edit {
    fn apply(&self, mut input: Vec<u8>, files: &[Vec<u8>]) -> Vec<u8> {
        let end = input.len() + 1;
        let place = |at: &Index| at.index(end);
        // A short part: the length is the smaller of two random lengths.
        let part = |from: &Index, to: &Index| {
            let (from, to) = (place(from), place(to));
            from.min(to)..from.max(to).min(from.min(to) + MAX_LENGTH)
        };
        match self {
            Self::Flip(at, bit) => {
                if let Some(byte) = input.get_mut(place(at)) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Remove(from, to) => drop(input.drain(part(from, to))),
            Self::Repeat(from, to) => {
                let (at, part) = (place(from), input[part(from, to)].to_vec());
                input.splice(at..at, part);
            }
            Self::Insert(at, bytes) => {
                let at = place(at);
                input.splice(at..at, bytes.iter().copied());
            }
            Self::Splice(file, from, to) => {
                let other = &files[file.index(files.len())];
                input.truncate(place(from));
                input.extend_from_slice(&other[to.index(other.len() + 1)..]);
            }
        }
        input
    }
}

/// Checks that each target of a crate has a program in `fuzz/fuzz_targets`, an entry in
/// `fuzz/Cargo.toml` and a corpus, and that each program of the crate belongs to a target.
pub(crate) fn assert_complete(package: &str, targets: &[FuzzTarget]) {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    for (name, _) in targets {
        let program = fs::read_to_string(program(name)).unwrap_or_default();
        let call = format!("{package}::testing::fuzz::{name}(bytes)");
        let expected =
            format!("#![no_main]\n\nlibfuzzer_sys::fuzz_target!(|bytes: &[u8]| {call});\n");
        assert_eq!(program, expected, "{name}");
        let entry = format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
        assert!(manifest.contains(&entry), "{name} is not in fuzz/Cargo.toml");
        assert!(corpus(name).len() > 1, "{name} has no corpus");
    }
    let names: BTreeSet<_> = targets.iter().map(|(name, _)| (*name).to_owned()).collect();
    let own = |name: &String| {
        let text = fs::read_to_string(program(name)).unwrap_or_default();
        names.contains(name) || text.contains(&format!("{package}::")) || text.is_empty()
    };
    let programs: BTreeSet<_> = stems("fuzz_targets").into_iter().filter(own).collect();
    assert_eq!(programs, names);
    let corpora: BTreeSet<_> = stems("corpus").into_iter().filter(own).collect();
    assert_eq!(corpora, names);
}

/// Returns the files of a corpus, ordered by name.
fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(folder().join("corpus").join(name)).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

fn program(name: &str) -> PathBuf {
    folder().join("fuzz_targets").join(format!("{name}.rs"))
}

/// Returns the names, without extension, of the files in a folder of `fuzz`.
fn stems(name: &str) -> Vec<String> {
    let files = fs::read_dir(folder().join(name)).unwrap();
    let stem = |file: PathBuf| file.file_stem().unwrap().to_string_lossy().into_owned();
    files.map(|file| stem(file.unwrap().path())).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("fuzz")
}
