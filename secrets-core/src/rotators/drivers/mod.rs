//! What changes credentials on real databases.
//!
//! A target is named by a tenant, so it may be hostile or somebody else between us and it. It is
//! reached through the [`Gate`](crate::egress::Gate) alone; it learns the administrator's password
//! only if a certificate proves who it is; what it sends is bounded in size, and nothing that it
//! says is repeated but a SQLSTATE.
//!
//! | `ssl_mode` | what the server must prove |
//! |---|---|
//! | `disable` | nothing, and only where `SECRETS_EGRESS_ALLOW` names the destination |
//! | `allow`, `prefer`, `require` | on PostgreSQL that it knows the password, bound to the encrypted channel; on MySQL nothing, so that a password is only ever scrambled |
//! | `verify-ca` | that an authority in `ca_certificate` knows it; without one, as `verify-full` |
//! | `verify-full` | that an authority knows it by this name |

mod deadlines;
mod faults;
mod mysql;
mod postgres;
mod quoting;
#[cfg(test)]
mod tests;
mod tls;

pub use deadlines::Deadlines;
pub use mysql::MySqlRotator;
pub use postgres::PostgresRotator;

/// Whose password it is. The administrator's opens everything; it is the one that is kept from
/// servers that prove nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Admin,
    User,
}
