//! Ports and options of the service.

use std::sync::Arc;

use crate::crypto::RootKeys;
use crate::egress::EgressPolicy;
use crate::model::{BaseUrl, Clock, MemberAccess, Plans, SystemClock};
use crate::ports::identity::IdentityVerifier;
use crate::ports::mail::Mail;
use crate::ports::offload::{Inline, Offload};
use crate::ports::payments::{NoProvider, PaymentProvider};
use crate::ports::rotators::{Rotators, Timings};
use crate::ports::webhooks::WebhookSender;
use crate::scanner::Rules;
use crate::store::Store;

/// Connections of the service to the world outside.
#[derive(Clone)]
pub struct Ports {
    /// Storage of records.
    pub store: Arc<dyn Store>,
    /// Current time.
    pub clock: Arc<dyn Clock>,
    /// Root key, which wraps the keys of the installation.
    pub root: Arc<dyn RootKeys>,
    /// Verifier of the tokens that people sign in with. Without it, only identities that the host
    /// has verified itself can sign in.
    pub identity: Option<Arc<dyn IdentityVerifier>>,
    /// E-mail. Without it, the inviter is given the link of an invitation.
    pub mail: Option<Mail>,
    /// Drivers that rotate credentials. Without them, rotations do not run.
    pub rotators: Option<Rotators>,
    /// HTTP client for webhooks. Without it, deliveries wait in the outbox.
    pub webhooks: Option<Arc<dyn WebhookSender>>,
    /// Threads for CPU-bound work.
    pub offload: Arc<dyn Offload>,
}

impl Ports {
    /// A store and a root key, the system clock, and nothing else. CPU-bound work runs on the calling
    /// thread.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, root: Arc<dyn RootKeys>) -> Self {
        Self {
            store,
            clock: Arc::new(SystemClock),
            root,
            identity: None,
            mail: None,
            rotators: None,
            webhooks: None,
            offload: Arc::new(Inline),
        }
    }

    /// Timeouts and intervals of rotations.
    pub(crate) fn timings(&self) -> Timings {
        self.rotators.as_ref().map_or_else(Timings::default, |rotators| rotators.timings)
    }
}

/// Configuration of the service.
#[derive(Debug, Clone)]
pub struct Options {
    /// Plans that teams can be on.
    pub plans: Plans,
    /// Payment provider.
    pub payments: Arc<dyn PaymentProvider>,
    /// E-mail addresses of the operators, who may change the plan of any team.
    pub operators: Vec<String>,
    /// Access of members to environments without a permission of their own.
    pub member_access: MemberAccess,
    /// True if reads of values are recorded in the audit log. Exports always are.
    pub audit_reads: bool,
    /// Rules of scans; the built-in rules if `None`.
    pub scan_rules: Option<Arc<Rules>>,
    /// Destinations that webhooks and rotations may connect to.
    pub egress: EgressPolicy,
    /// Base URL of links for callers whose request names no host.
    pub links: BaseUrl,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            plans: Plans::default(),
            payments: Arc::new(NoProvider),
            operators: Vec::new(),
            member_access: MemberAccess::Write,
            audit_reads: true,
            scan_rules: None,
            egress: EgressPolicy::default(),
            links: BaseUrl::default(),
        }
    }
}
