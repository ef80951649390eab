//! Runs the functions of the fuzz targets over the corpora and over random inputs.

#![cfg(feature = "testing")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod inputs;

use secrets_core::testing::fuzz::TARGETS;

#[test]
fn no_input_violates_a_rule() {
    inputs::run(TARGETS);
}

#[test]
fn each_target_has_a_program_and_a_corpus() {
    // Some targets need these features.
    if cfg!(all(feature = "jwt", feature = "rotators")) {
        inputs::assert_complete("secrets_core", TARGETS);
    }
}
