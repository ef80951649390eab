//! Rotators for PostgreSQL, MySQL and MariaDB.
//!
//! A tenant chooses the target, so the target may be hostile, or an attacker may control the
//! network path. Connections are therefore made through the [`Dialer`] only.
//! The administrator's password is sent only to a server that was verified by its certificate. The
//! size of the server's messages is limited, and none of its texts are passed on, only an error
//! code.
//!
//! | `ssl_mode` | proof that the server must give |
//! |---|---|
//! | `disable` | none; permitted only for destinations that the egress policy lists |
//! | `allow`, `prefer`, `require` | PostgreSQL: knowledge of the password, bound to the TLS channel; MySQL: nothing, so the administrator's password is only sent as a challenge response |
//! | `verify-ca` | a certificate from an authority in `ca_certificate`; without `ca_certificate`, as `verify-full` |
//! | `verify-full` | a certificate from a trusted authority for the host name |

mod deadlines;
mod faults;
#[cfg(feature = "testing")]
pub(crate) mod fuzz;
mod mysql;
mod postgres;
mod quoting;
#[cfg(test)]
mod tests;
mod tls;

use std::sync::Arc;

pub use deadlines::Deadlines;
pub use mysql::MySqlRotator;
pub use postgres::PostgresRotator;

use crate::egress::Dialer;
use crate::model::rotations::DatabaseKind;
use crate::ports::rotators::Rotators;
use crate::ports::timer::Timer;

/// Creates the drivers for PostgreSQL, MySQL and MariaDB. They connect through `dialer`, which
/// applies the egress policy. Add a driver for another kind of database with [`Rotators::with`].
#[must_use]
pub fn direct(dialer: &Arc<Dialer>, timer: Arc<dyn Timer>) -> Rotators {
    Rotators::new(timer)
        .with(DatabaseKind::POSTGRESQL, Arc::new(PostgresRotator::new(Arc::clone(dialer))))
        .with(DatabaseKind::MYSQL, Arc::new(MySqlRotator::new(Arc::clone(dialer))))
}

/// Account that logs in: the administrator or the rotated user. The administrator's password gives
/// full access, so it is not sent to a server that is not verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Admin,
    User,
}
