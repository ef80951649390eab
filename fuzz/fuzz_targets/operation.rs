#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| secrets_core::testing::fuzz::operation(bytes));
