//! Changing a user.
//!
//! A change of users is not transactional here, so the order makes up for it: a user is made locked,
//! is granted what they are to have, and gets password and key in one last statement. The privileges
//! are the user's own: roles would have to be switched on in every session, differently by make.
//!
//! Attempts are ordered by a lock that the connection holds while it lives, and on MySQL 8.0.21 and
//! later by a fence in the user's attributes, which the last statement sets with the password.
//! MariaDB keeps nothing with a user that could be one: there the lock is all, which a node that was
//! held up still holds, and which has ended with its connection if not.

use sha1::{Digest, Sha1};
use zeroize::Zeroizing;

use super::session::Session;
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Applied, Apply, Fault, Fence, Login, TargetError};
use crate::rotators::drivers::quoting::{Ident, Literal, hexadecimal};

/// What a password is set with.
struct Secret {
    clause: Zeroizing<String>,
    is_clear: bool,
}

/// Makes and changes what is asked for; `proven` is whether a certificate told who the server is.
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
    let mark = mark(session, fence);
    let clause = &secret.clause;
    if !exists(session, fence, &apply.login.username).await? {
        let clause = clause.as_str();
        let make = format!("CREATE USER IF NOT EXISTS {user} {clause} ACCOUNT LOCK{mark}");
        session.run(&Zeroizing::new(make)).await?;
        // One that is there and not to be seen may be anybody's.
        if session.server.has_attributes() && !exists(session, fence, &apply.login.username).await?
        {
            return Err(Fault::Privilege.into());
        }
    }
    grant(session, database, &user, apply.level).await?;
    let change = format!("ALTER USER {user} {} ACCOUNT UNLOCK{mark}", clause.as_str());
    session.commit(&Zeroizing::new(change)).await?;
    Ok(Applied { identity, sent_in_clear: secret.is_clear })
}

/// Shuts a user out.
pub(super) async fn lock(
    session: &mut Session,
    fence: Fence,
    username: &str,
) -> Result<(), TargetError> {
    prepare(session, fence).await?;
    if session.server.has_attributes() && !exists(session, fence, username).await? {
        return Ok(());
    }
    let (user, mark) = (account(username)?, mark(session, fence));
    session.commit(&format!("ALTER USER IF EXISTS {user} ACCOUNT LOCK{mark}")).await
}

impl Secret {
    /// MariaDB takes the hash that it keeps, unless a module is to see every password. MySQL is told
    /// the password, which it keeps out of its own logs: hashing it here would gain nothing, as it
    /// asks for the password itself at the next login.
    async fn of(session: &mut Session, login: &Login, proven: bool) -> Result<Self, TargetError> {
        let password = login.password.reveal();
        if session.server.is_mariadb && !wants_passwords(session).await? {
            let hash = format!("*{}", hexadecimal(&Sha1::digest(Sha1::digest(password))));
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

/// Whether MariaDB refuses hashes, as a module could not judge them.
async fn wants_passwords(session: &mut Session) -> Result<bool, TargetError> {
    let ask = "SELECT @@GLOBAL.strict_password_validation = 1 AND EXISTS ( \
        SELECT 1 FROM information_schema.PLUGINS \
        WHERE PLUGIN_TYPE = 'PASSWORD VALIDATION' AND PLUGIN_STATUS = 'ACTIVE')";
    Ok(session.value(ask).await?.as_deref() == Some("1"))
}

/// Makes the session one that waits for nobody for long, and is alone in changing the users of this
/// rotation.
async fn prepare(session: &mut Session, fence: Fence) -> Result<(), TargetError> {
    session
        .run("SET SESSION lock_wait_timeout = 5, SESSION sql_mode = 'STRICT_ALL_TABLES'")
        .await?;
    // As far as the administrator may: most may not.
    for quiet in ["SET SESSION sql_log_off = 1", "SET SESSION long_query_time = 3600"] {
        session.try_run(quiet).await?;
    }
    let name = Literal::my_plain(&format!("kv:{}", fence.rotation))?;
    match session.value(&format!("SELECT GET_LOCK({name}, 0)")).await?.as_deref() {
        Some("1") => Ok(()),
        _ => Err(Fault::Busy.into()),
    }
}

/// What MySQL calls itself. A change of it is no error: that is how a failover looks.
async fn identity(session: &mut Session) -> Result<Option<String>, TargetError> {
    if session.server.is_mariadb {
        return Ok(None);
    }
    session.value("SELECT @@GLOBAL.server_uuid").await
}

/// A user as statements name them.
fn account(username: &str) -> Result<String, TargetError> {
    Ok(format!("{}@'%'", Literal::my_plain(username)?))
}

/// The fence, where a user can have one.
fn mark(session: &Session, fence: Fence) -> String {
    if session.server.has_attributes() {
        format!(" ATTRIBUTE '{{\"kv_seq\": {}}}'", fence.sequence)
    } else {
        String::new()
    }
}

/// Whether a user is there, where that can be known; refused if they may not be changed by this
/// attempt.
async fn exists(session: &mut Session, fence: Fence, username: &str) -> Result<bool, TargetError> {
    if !session.server.has_attributes() {
        return Ok(false);
    }
    let name = Literal::my_plain(username)?;
    let ask = format!(
        "SELECT JSON_UNQUOTE(JSON_EXTRACT(ATTRIBUTE, '$.kv_seq')) \
         FROM information_schema.USER_ATTRIBUTES WHERE USER = {name} AND HOST = '%'"
    );
    let Some(row) = session.run(&ask).await?.pop() else { return Ok(false) };
    let sequence = row.into_iter().next().flatten();
    match sequence.and_then(|sequence| sequence.parse::<u64>().ok()) {
        // Nobody of ours made them.
        None => Err(Fault::Privilege.into()),
        Some(sequence) if sequence > fence.sequence => Err(Fault::Fenced.into()),
        Some(_) => Ok(true),
    }
}

/// Gives the user exactly what the level says. Nobody is served with this user now.
async fn grant(
    session: &mut Session,
    database: &str,
    user: &str,
    level: PermissionLevel,
) -> Result<(), TargetError> {
    let database = Ident::my_pattern(database)?;
    // Refused where they have nothing yet. That more stayed than should have is found by logging in.
    session.try_run(&format!("REVOKE ALL PRIVILEGES ON {database}.* FROM {user}")).await?;
    let privileges = match level {
        PermissionLevel::Read => "SELECT, SHOW VIEW",
        PermissionLevel::ReadWrite => "SELECT, SHOW VIEW, INSERT, UPDATE, DELETE",
        PermissionLevel::Admin => "ALL PRIVILEGES",
    };
    session.run(&format!("GRANT {privileges} ON {database}.* TO {user}")).await.map(drop)
}
