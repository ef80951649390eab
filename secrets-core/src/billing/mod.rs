//! Billing: plans, usage and payments of teams.

mod get;
mod provider;
mod set_plan;
mod usage;

pub use get::{Billing, GetBilling};
pub use provider::{NoProvider, PaymentProvider, PaymentStatus, Subscription};
pub use set_plan::{NewPlan, SetPlan};
pub use usage::{GetUsage, TeamUse, Use, Uses};
