//! Formats in which secrets come and go.

pub mod dotenv;
