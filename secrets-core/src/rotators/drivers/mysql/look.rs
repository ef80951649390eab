//! Looking without changing anything.

use super::session::{Rows, Session};
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Fault, TargetError};
use crate::rotators::drivers::quoting::{Literal, pattern};

/// What changes rows or tables.
const WRITING: [&str; 7] = ["INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX"];

/// Whether the administrator could do what is asked of them.
pub(super) async fn test(session: &mut Session) -> Result<(), TargetError> {
    if !session.server.is_supported() {
        return Err(Fault::Unsupported.into());
    }
    // Nothing can be changed there now.
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

/// Whether the user who is logged in may do what the level says, and no more than reading where it
/// says reading.
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
    let ask = format!(
        "SELECT PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES \
         WHERE TABLE_SCHEMA = {database}"
    );
    let held = first_column(session.run(&ask).await?);
    let has = |privilege: &&str| held.iter().any(|held| held == privilege);
    let is_right = match level {
        PermissionLevel::Read => has(&"SELECT") && !WRITING.iter().any(has),
        PermissionLevel::ReadWrite => has(&"SELECT") && WRITING[..3].iter().all(has),
        PermissionLevel::Admin => has(&"SELECT") && WRITING.iter().all(has),
    };
    if is_right { Ok(()) } else { Err(Fault::ProbeRefused.into()) }
}

fn first_column(rows: Rows) -> Vec<String> {
    rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()
}
