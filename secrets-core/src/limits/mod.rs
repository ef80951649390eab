//! Plan limits and rate limits.

mod plan;
mod rate;

pub use plan::{NoSuchPlan, Plan, Plans, Quota};
pub use rate::{RateLimiter, Window};
