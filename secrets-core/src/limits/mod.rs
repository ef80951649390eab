//! How much, and how often.

mod plan;
mod rate;

pub use plan::{NoSuchPlan, Plan, Plans, Quota};
pub use rate::{RateLimiter, Window};
