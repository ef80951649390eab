//! Payment providers: the interface to the service that manages the subscriptions of teams.

use std::fmt;

use async_trait::async_trait;
use serde::Serialize;

use crate::model::{Result, TeamId, Time};

/// A payment provider that manages the subscriptions of teams.
#[async_trait]
pub trait PaymentProvider: fmt::Debug + Send + Sync {
    /// Returns the name of the payment provider.
    fn name(&self) -> &'static str;

    /// Loads the subscription of a team.
    async fn subscription(&self, team: TeamId) -> Result<Subscription>;
}

/// A team's subscription at a payment provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Payment status of the team.
    pub status: PaymentStatus,
    /// E-mail address for invoices; `None` if the provider has none.
    pub billing_email: Option<String>,
    /// Start and end of the current billing period; `None` if there is no such period.
    pub period: Option<(Time, Time)>,
    /// True if the subscription ends with the current billing period.
    pub cancel_at_period_end: bool,
}

/// Payment status of a team: up to date, trial period, payment overdue, subscription canceled, or
/// no payments required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PaymentStatus {
    /// Payments are up to date.
    Active,
    /// The team is in a trial period.
    Trialing,
    /// A payment is overdue.
    PastDue,
    /// The subscription was canceled.
    Canceled,
    /// No payments are required.
    None,
}

/// Implementation of [`PaymentProvider`] for a service without payments: no team pays.
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
