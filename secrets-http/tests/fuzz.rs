//! Runs the functions of the fuzz targets over the corpora and over random inputs.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "../../secrets-core/tests/fuzz/inputs.rs"]
mod inputs;

use secrets_http::testing::fuzz::TARGETS;

#[test]
fn no_input_violates_a_rule() {
    inputs::run(TARGETS);
}

#[test]
fn each_target_has_a_program_and_a_corpus() {
    inputs::assert_complete("secrets_http", TARGETS);
}
