//! Kinds of resources that errors are about.

use std::fmt;

/// Kind of resource that an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Account of a user, created by the first sign-in.
    Account,
    /// Audit log of a team.
    Audit,
    /// Device login of a command-line client.
    DeviceLogin,
    /// Environment of a project.
    Environment,
    /// Invitation to a team.
    Invitation,
    /// Finding of a scan.
    Finding,
    /// Permission that was explicitly set for a user in an environment.
    Permission,
    /// Project of a team.
    Project,
    /// Unknown resource: the request path matches no resource of the API.
    Resource,
    /// Rotation of database credentials.
    Rotation,
    /// Scan for leaked credentials.
    Scan,
    /// Secret of an environment. Also used if the secret exists but is hidden.
    Secret,
    /// Session of a command-line client or a browser.
    Session,
    /// Team of users.
    Team,
    /// Service token.
    Token,
    /// User of the service.
    User,
    /// Previous version of a secret.
    Version,
    /// Webhook of a rotation.
    Webhook,
    /// Delivery of an event to a webhook.
    WebhookDelivery,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Account => "account",
            Self::Audit => "audit log",
            Self::DeviceLogin => "login",
            Self::Environment => "environment",
            Self::Invitation => "invitation",
            Self::Finding => "finding",
            Self::Permission => "permission",
            Self::Project => "project",
            Self::Resource => "resource",
            Self::Rotation => "rotation",
            Self::Scan => "scan",
            Self::Secret => "secret",
            Self::Session => "session",
            Self::Team => "team",
            Self::Token => "token",
            Self::User => "user",
            Self::Version => "version",
            Self::Webhook => "webhook",
            Self::WebhookDelivery => "delivery",
        })
    }
}
