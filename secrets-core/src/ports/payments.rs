//! How teams pay.

use std::fmt;

use async_trait::async_trait;
use serde::Serialize;

use crate::model::{Result, TeamId, Time};

/// Whoever takes a team's money.
#[async_trait]
pub trait PaymentProvider: fmt::Debug + Send + Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// How a team stands with it.
    async fn subscription(&self, team: TeamId) -> Result<Subscription>;
}

/// How a team stands with a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Whether it pays.
    pub status: PaymentStatus,
    /// Where invoices are sent.
    pub billing_email: Option<String>,
    /// What was paid for last: from when to when.
    pub period: Option<(Time, Time)>,
    /// Whether it ends with that.
    pub cancel_at_period_end: bool,
}

/// Whether a team pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PaymentStatus {
    /// It does.
    Active,
    /// It tries.
    Trialing,
    /// It did not in time.
    PastDue,
    /// It does no longer.
    Canceled,
    /// Nobody asks it to.
    None,
}

/// Nobody pays.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProvider;

#[async_trait]
impl PaymentProvider for NoProvider {
    fn name(&self) -> &'static str {
        "none"
    }

    async fn subscription(&self, _team: TeamId) -> Result<Subscription> {
        Ok(Subscription {
            status: PaymentStatus::None,
            billing_email: None,
            period: None,
            cancel_at_period_end: false,
        })
    }
}
