//! Read-only checks of the privileges that a PostgreSQL user has.

use tokio_postgres::types::{ToSql, Type};

use super::connect::Peer;
use super::transaction::{Transaction, column};
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Fault, TargetError};
use crate::rotators::drivers::Who;
use crate::rotators::drivers::deadlines::Work;
use crate::rotators::drivers::faults::Stage;

/// Query that returns one row of three Booleans: whether the server version is supported, whether
/// the server is a standby, and whether the administrator may create roles and grant all privileges
/// that are not granted to everyone.
const ADMINISTRATOR: &str = "SELECT \
    current_setting('server_version_num')::int >= 110000, \
    pg_is_in_recovery(), \
    (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) \
      AND (has_database_privilege('public', current_database(), 'CONNECT') \
        OR has_database_privilege(current_database(), 'CONNECT WITH GRANT OPTION')) \
      AND NOT EXISTS (SELECT FROM pg_namespace n \
        WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' \
          AND (NOT (has_schema_privilege('public', n.oid, 'USAGE') \
              OR has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION')) \
            OR EXISTS (SELECT FROM pg_class c \
              WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
                AND NOT has_table_privilege('public', c.oid, 'SELECT') \
                AND NOT has_table_privilege(c.oid, 'SELECT WITH GRANT OPTION'))))";

/// Query that returns one row of four columns: the session user, whether the user has all
/// privileges in `$1` on at least one table (or there is no table), whether there is a schema in
/// which the user may create objects, and whether a write privilege was granted to the user.
const USER: &str = "WITH t AS (SELECT c.oid, c.relacl, c.relowner FROM pg_class c, pg_namespace n \
      WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p') \
        AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema') \
    SELECT session_user::text, \
      NOT EXISTS (SELECT FROM t) OR EXISTS (SELECT FROM t WHERE \
        (SELECT bool_and(has_table_privilege(t.oid, p)) FROM unnest($1) p)), \
      EXISTS (SELECT FROM pg_namespace n WHERE n.nspname !~ '^pg_' \
        AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'CREATE')), \
      EXISTS (SELECT FROM t, aclexplode(t.relacl) a \
        WHERE a.grantee IN (session_user::regrole, current_user::regrole) \
          AND t.relowner <> a.grantee \
          AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'))";

/// Checks that the administrator has the privileges that rotations require.
pub(super) async fn test(peer: &Peer, work: Work) -> Result<(), TargetError> {
    let transaction = Transaction::begin(peer, work, Stage::Work(Who::Admin)).await?;
    let found = transaction.row(ADMINISTRATOR, &[]).await?;
    if !column::<bool>(&found, 0)? {
        return Err(Fault::Unsupported.into());
    }
    // Users cannot be changed on a standby.
    if column(&found, 1)? {
        return Err(Fault::Unreachable.into());
    }
    if column::<Option<bool>>(&found, 2)? != Some(true) {
        return Err(Fault::Privilege.into());
    }
    transaction.run("ROLLBACK").await
}

/// Checks that the logged-in user has the privileges of the permission level and, for the level
/// `read`, no write privileges. The check reads only PostgreSQL's system catalogs, and no tables of
/// the user.
pub(super) async fn verify(
    peer: &Peer,
    work: Work,
    username: &str,
    level: PermissionLevel,
) -> Result<(), TargetError> {
    let transaction = Transaction::begin(peer, work, Stage::Work(Who::User)).await?;
    let required: &[&str] = match level {
        PermissionLevel::Read => &["SELECT"],
        PermissionLevel::ReadWrite | PermissionLevel::Admin => {
            &["SELECT", "INSERT", "UPDATE", "DELETE"]
        }
    };
    let parameter: (&(dyn ToSql + Sync), Type) = (&required, Type::TEXT_ARRAY);
    let found = transaction.row(USER, &[parameter]).await?;
    let is_user = column::<&str>(&found, 0)? == username;
    let is_enough = column(&found, 1)? && (level != PermissionLevel::Admin || column(&found, 2)?);
    let is_too_much = level == PermissionLevel::Read && column(&found, 3)?;
    if !is_user || !is_enough || is_too_much {
        return Err(Fault::ProbeRefused.into());
    }
    transaction.run("ROLLBACK").await
}
