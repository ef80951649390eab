//! Billing: plans, usage and payments of teams.

mod get;
mod set_plan;
mod usage;

pub use get::{Billing, GetBilling};
pub use set_plan::{NewPlan, SetPlan};
pub use usage::{GetUsage, TeamUse, Use, Uses};
