//! Read-only checks of the privileges that a MySQL or MariaDB user has.

use super::session::{Rows, Session};
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Fault, TargetError};
use crate::rotators::drivers::quoting::{Literal, pattern};

/// Privileges that allow a user to change rows or tables.
const WRITE_PRIVILEGES: [&str; 7] =
    ["INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX"];

/// Checks that the administrator has the privileges that rotations require.
pub(super) async fn test(session: &mut Session) -> Result<(), TargetError> {
    if !session.server.is_supported() {
        return Err(Fault::Unsupported.into());
    }
    // Users cannot be changed on a read-only server.
    if session.value("SELECT @@GLOBAL.read_only").await?.as_deref() != Some("0") {
        return Err(Fault::Unreachable.into());
    }
    let grants = first_column(session.run("SHOW GRANTS").await?);
    let makes_users = |grant: &String| {
        grant.contains(" ON *.* TO ")
            && (grant.starts_with("GRANT ALL PRIVILEGES ON") || grant.contains("CREATE USER"))
    };
    let passes_on = |grant: &String| grant.contains("WITH GRANT OPTION");
    if grants.iter().any(makes_users) && grants.iter().any(passes_on) {
        Ok(())
    } else {
        Err(Fault::Privilege.into())
    }
}

/// Checks that the logged-in user has the privileges of the permission level and, for the level
/// `read`, no write privileges.
pub(super) async fn verify(
    session: &mut Session,
    database: &str,
    username: &str,
    level: PermissionLevel,
) -> Result<(), TargetError> {
    let current = session.value("SELECT CURRENT_USER()").await?;
    if current.as_deref() != Some(&format!("{username}@%")) {
        return Err(Fault::ProbeRefused.into());
    }
    let database = Literal::my_text(&pattern(database));
    let query = format!(
        "SELECT PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES \
         WHERE TABLE_SCHEMA = {database}"
    );
    let held = first_column(session.run(&query).await?);
    let has = |privilege: &&str| held.iter().any(|held| held == privilege);
    let is_right = match level {
        PermissionLevel::Read => has(&"SELECT") && !WRITE_PRIVILEGES.iter().any(has),
        PermissionLevel::ReadWrite => has(&"SELECT") && WRITE_PRIVILEGES[..3].iter().all(has),
        PermissionLevel::Admin => has(&"SELECT") && WRITE_PRIVILEGES.iter().all(has),
    };
    if is_right { Ok(()) } else { Err(Fault::ProbeRefused.into()) }
}

fn first_column(rows: Rows) -> Vec<String> {
    rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()
}
