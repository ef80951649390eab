//! How much, and how often.

mod plan;
mod rate;

pub use plan::{Plan, Quota};
pub use rate::{RateLimiter, Window};
