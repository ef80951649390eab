//! Test support: the functions of the fuzz targets.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

pub mod fuzz;
