//! Changes to users of MySQL and MariaDB.
//!
//! User management statements are not transactional on these servers, so their order must prevent
//! unsafe states: a user is created with its login disabled (`ACCOUNT LOCK`), is granted the
//! privileges, and gets the password and the login in one last statement. Privileges are granted to
//! the user directly: roles would have to be activated in every session, with different statements
//! on MySQL and MariaDB.
//!
//! Attempts are ordered by a named lock that the connection holds until it ends, and on MySQL
//! 8.0.21 and later by a fencing token in the user's attributes, which the last statement sets
//! together with the password. MariaDB has no user attributes, so the lock is the only protection
//! there: a delayed node either still holds the lock, or has lost its connection and with it the
//! lock.

use sha1::{Digest, Sha1};
use zeroize::Zeroizing;

use super::session::Session;
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Applied, Apply, Fault, Fence, Login, TargetError};
use crate::rotators::drivers::quoting::{Ident, Literal};

/// SQL clause that sets the password of a database user.
struct Secret {
    clause: Zeroizing<String>,
    is_clear: bool,
}

/// Creates the database user if missing, grants the privileges and sets the password. `proven` is
/// true if the server was verified by its TLS certificate.
pub(super) async fn apply(
    session: &mut Session,
    database: &str,
    apply: &Apply,
    proven: bool,
) -> Result<Applied, TargetError> {
    let fence = apply.fence;
    prepare(session, fence).await?;
    let identity = identity(session).await?;
    let user = account(&apply.login.username)?;
    let secret = Secret::of(session, &apply.login, proven).await?;
    let fence_attribute = fence_attribute(session, fence);
    let clause = &secret.clause;
    if !exists(session, fence, &apply.login.username).await? {
        let clause = clause.as_str();
        let create =
            format!("CREATE USER IF NOT EXISTS {user} {clause} ACCOUNT LOCK{fence_attribute}");
        session.run(&Zeroizing::new(create)).await?;
        // The user existed before, but the administrator cannot read its attributes, so the user
        // may not belong to a rotation.
        if session.server.has_attributes() && !exists(session, fence, &apply.login.username).await?
        {
            return Err(Fault::Privilege.into());
        }
    }
    grant(session, database, &user, apply.level).await?;
    let change = format!("ALTER USER {user} {} ACCOUNT UNLOCK{fence_attribute}", clause.as_str());
    session.commit(&Zeroizing::new(change)).await?;
    Ok(Applied { identity, sent_in_clear: secret.is_clear })
}

/// Disables the login of a database user (`ACCOUNT LOCK`). Does nothing if the user does not exist.
pub(super) async fn lock(
    session: &mut Session,
    fence: Fence,
    username: &str,
) -> Result<(), TargetError> {
    prepare(session, fence).await?;
    if session.server.has_attributes() && !exists(session, fence, username).await? {
        return Ok(());
    }
    let (user, fence_attribute) = (account(username)?, fence_attribute(session, fence));
    session.commit(&format!("ALTER USER IF EXISTS {user} ACCOUNT LOCK{fence_attribute}")).await
}

impl Secret {
    /// Creates the clause that sets the password of `login`. MariaDB gets a password hash, unless a
    /// password validation plugin must check every password. MySQL gets the password itself and
    /// omits it from its own logs; sending a hash would gain nothing, because MySQL requests the
    /// password at the next login.
    async fn of(session: &mut Session, login: &Login, proven: bool) -> Result<Self, TargetError> {
        let password = login.password.reveal();
        if session.server.is_mariadb && !wants_passwords(session).await? {
            let hash = format!("*{}", hex::encode_upper(Sha1::digest(Sha1::digest(password))));
            let hash = Literal::my_plain(&hash)?;
            let clause = format!("IDENTIFIED VIA mysql_native_password USING {hash}").into();
            return Ok(Self { clause, is_clear: false });
        }
        if session.server.is_mariadb && !proven {
            return Err(Fault::PasswordPolicy.into());
        }
        let clause = format!("IDENTIFIED BY {}", Literal::my_plain(password)?).into();
        Ok(Self { clause, is_clear: true })
    }
}

/// True if MariaDB rejects password hashes because a password validation plugin cannot check them.
async fn wants_passwords(session: &mut Session) -> Result<bool, TargetError> {
    let query = "SELECT @@GLOBAL.strict_password_validation = 1 AND EXISTS ( \
        SELECT 1 FROM information_schema.PLUGINS \
        WHERE PLUGIN_TYPE = 'PASSWORD VALIDATION' AND PLUGIN_STATUS = 'ACTIVE')";
    Ok(session.value(query).await?.as_deref() == Some("1"))
}

/// Prepares the session: limits the time of lock waits, turns off statement logging where
/// permitted, and takes the named lock of the rotation.
async fn prepare(session: &mut Session, fence: Fence) -> Result<(), TargetError> {
    session
        .run("SET SESSION lock_wait_timeout = 5, SESSION sql_mode = 'STRICT_ALL_TABLES'")
        .await?;
    // Most administrators are not permitted to change these settings.
    for setting in ["SET SESSION sql_log_off = 1", "SET SESSION long_query_time = 3600"] {
        session.try_run(setting).await?;
    }
    let name = Literal::my_plain(&format!("kv:{}", fence.rotation))?;
    // The server releases the lock of a previous connection some time after it was closed.
    match session.value(&format!("SELECT GET_LOCK({name}, 1)")).await?.as_deref() {
        Some("1") => Ok(()),
        _ => Err(Fault::Busy.into()),
    }
}

/// Reads the identity (server ID) of a MySQL server; `None` for MariaDB. A changed identity is not
/// an error, because a failover changes the identity too.
async fn identity(session: &mut Session) -> Result<Option<String>, TargetError> {
    if session.server.is_mariadb {
        return Ok(None);
    }
    session.value("SELECT @@GLOBAL.server_uuid").await
}

/// Returns the account name of a user, quoted for SQL statements.
fn account(username: &str) -> Result<String, TargetError> {
    Ok(format!("{}@'%'", Literal::my_plain(username)?))
}

/// Returns the `ATTRIBUTE` clause that stores the fencing token; empty if the server has no user
/// attributes.
fn fence_attribute(session: &Session, fence: Fence) -> String {
    if session.server.has_attributes() {
        format!(" ATTRIBUTE '{{\"kv_seq\": {}}}'", fence.sequence)
    } else {
        String::new()
    }
}

/// True if the rotation's user exists; always false on servers without user attributes. Fails if a
/// later attempt has changed the user, or if the user was not created by a rotation.
async fn exists(session: &mut Session, fence: Fence, username: &str) -> Result<bool, TargetError> {
    if !session.server.has_attributes() {
        return Ok(false);
    }
    let name = Literal::my_plain(username)?;
    let query = format!(
        "SELECT JSON_UNQUOTE(JSON_EXTRACT(ATTRIBUTE, '$.kv_seq')) \
         FROM information_schema.USER_ATTRIBUTES WHERE USER = {name} AND HOST = '%'"
    );
    let Some(row) = session.run(&query).await?.pop() else { return Ok(false) };
    let sequence = row.into_iter().next().flatten();
    match sequence.and_then(|sequence| sequence.parse::<u64>().ok()) {
        // The user was not created by a rotation.
        None => Err(Fault::Privilege.into()),
        Some(sequence) if sequence > fence.sequence => Err(Fault::Fenced.into()),
        Some(_) => Ok(true),
    }
}

/// Grants the user exactly the privileges of the permission level, after revoking all privileges.
/// The user has none for a moment, but no application uses this user at that time.
async fn grant(
    session: &mut Session,
    database: &str,
    user: &str,
    level: PermissionLevel,
) -> Result<(), TargetError> {
    let database = Ident::my_pattern(database)?;
    // Fails for a user without privileges. Verification after login detects leftover privileges.
    session.try_run(&format!("REVOKE ALL PRIVILEGES ON {database}.* FROM {user}")).await?;
    let privileges = match level {
        PermissionLevel::Read => "SELECT, SHOW VIEW",
        PermissionLevel::ReadWrite => "SELECT, SHOW VIEW, INSERT, UPDATE, DELETE",
        PermissionLevel::Admin => "ALL PRIVILEGES",
    };
    session.run(&format!("GRANT {privileges} ON {database}.* TO {user}")).await.map(drop)
}
