//! Bounds: limits of the service that cause it to refuse requests.

use std::fmt;

use super::{Error, Result, Window};

/// Limit that causes the service to refuse requests. Each variant is documented by the quantity
/// that is limited. Metrics count the refused requests for each bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Requests per minute without a valid credential from one IP address.
    Address,
    /// Invalid credentials per minute from one IP address.
    Failures,
    /// Requests per minute of a user or service token.
    Principal,
    /// Requests per minute for a team, counted together for all teams that the same account
    /// created and is a member of.
    Team,
    /// Wrong user codes per minute of a user, and invalid credentials per minute from an IP address
    /// on the device page.
    LoginAttempts,
    /// Exports of one account per hour.
    AccountExports,
    /// Invitation e-mails per day from one sender, in total or to one recipient. Also resends: one
    /// per minute for an invitation, and none to a recipient who has received the daily maximum
    /// from all senders.
    InvitationMail,
    /// Test events and repeated deliveries per minute of a webhook.
    WebhookTests,
    /// Open event streams of the process, a team, or a user or service token.
    Watchers,
    /// Operations of one account that run or wait at the same time.
    AccountOperations,
    /// Duration of an operation.
    OperationTime,
    /// Number of callers that wait for CPU-bound work.
    CpuQueue,
    /// Total memory that is reserved for large work, such as large request and response bodies.
    Memory,
    /// Size of a request body.
    RequestSize,
    /// Total size of the secrets that one request reads.
    ResponseSize,
    /// Open connections from one IP address.
    Connections,
    /// Number or size of a team's resources that the plan limits, such as projects.
    PlanQuota,
}

impl Bound {
    /// All bounds, in the order of their declaration.
    pub const ALL: [Self; 17] = [
        Self::Address,
        Self::Failures,
        Self::Principal,
        Self::Team,
        Self::LoginAttempts,
        Self::AccountExports,
        Self::InvitationMail,
        Self::WebhookTests,
        Self::Watchers,
        Self::AccountOperations,
        Self::OperationTime,
        Self::CpuQueue,
        Self::Memory,
        Self::RequestSize,
        Self::ResponseSize,
        Self::Connections,
        Self::PlanQuota,
    ];

    /// Returns the name of the bound in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Failures => "failures",
            Self::Principal => "principal",
            Self::Team => "team",
            Self::LoginAttempts => "login_attempts",
            Self::AccountExports => "account_exports",
            Self::InvitationMail => "invitation_mail",
            Self::WebhookTests => "webhook_tests",
            Self::Watchers => "watchers",
            Self::AccountOperations => "account_operations",
            Self::OperationTime => "operation_time",
            Self::CpuQueue => "cpu_queue",
            Self::Memory => "memory",
            Self::RequestSize => "request_size",
            Self::ResponseSize => "response_size",
            Self::Connections => "connections",
            Self::PlanQuota => "plan_quota",
        }
    }

    /// Fails with [`Error::RateLimited`], naming this bound, if the rate-limit window is exceeded.
    pub fn check(self, window: Option<Window>) -> Result<()> {
        match window {
            Some(Window { admitted: false, resets_at, .. }) => {
                Err(Error::RateLimited { bound: self, until: resets_at })
            }
            _ => Ok(()),
        }
    }

    /// Creates the "unavailable" error for a request that reached this bound; the caller may retry
    /// soon. `reason` is for the log.
    #[must_use]
    pub fn reached(self, reason: &'static str) -> Error {
        Error::Unavailable(Box::new(BoundReached { bound: self, reason }))
    }
}

/// Cause of an [`Error::Unavailable`] that was returned because a bound was reached.
#[derive(Debug)]
pub(super) struct BoundReached {
    pub(super) bound: Bound,
    reason: &'static str,
}

impl fmt::Display for BoundReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for BoundReached {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_bound_that_was_reached() {
        let error = Bound::Memory.reached("too many large bodies");

        assert_eq!(error.bound(), Some(Bound::Memory));
        assert_eq!(Error::Unavailable("no connection".into()).bound(), None);
    }

    #[test]
    fn bounds_are_listed_in_the_order_of_their_declaration() {
        for (index, bound) in Bound::ALL.into_iter().enumerate() {
            assert_eq!(bound as usize, index, "{}", bound.as_str());
        }
    }
}
