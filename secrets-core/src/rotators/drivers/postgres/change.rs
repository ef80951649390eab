//! Changes to users of PostgreSQL.
//!
//! User, password, privileges and fencing token are changed in one transaction. The fencing token
//! is stored in the comment of the role, `kv:<rotation>:<sequence>`; a role without such a comment
//! of this rotation is never changed.

use std::fmt::Write as _;

use tokio_postgres::types::Type;

use super::connect::Peer;
use super::grants::Level;
use super::transaction::{Transaction, column};
use crate::ports::rotator::{Applied, Apply, Fault, Fence, ServerCode, TargetError};
use crate::rotators::drivers::Who;
use crate::rotators::drivers::deadlines::Work;
use crate::rotators::drivers::faults::Stage;
use crate::rotators::drivers::quoting::{Ident, Literal};

/// Settings that keep the next SQL statements out of the server's logs. A statement usually
/// contains a password verifier and not the password, but the verifier should not be logged either.
const NO_LOGGING: &[(&str, &str)] = &[
    ("log_statement", "none"),
    ("log_min_error_statement", "panic"),
    ("log_min_duration_statement", "-1"),
    ("log_duration", "off"),
];

/// Creates the database roles if missing, grants the privileges and sets the password. `proven` is
/// true if the server was verified by its TLS certificate.
pub(super) async fn apply(
    peer: &Peer,
    work: Work,
    apply: &Apply,
    proven: bool,
) -> Result<Applied, TargetError> {
    let transaction = begin(peer, work, apply.fence).await?;
    let identity = identity(&transaction).await?;
    if let (Some(known), Some(found)) = (&apply.identity, &identity)
        && known != found
    {
        return Err(Fault::Identity.into());
    }
    create_roles(&transaction, apply).await?;
    Level::of(apply.level).grant(&transaction, &apply.group).await?;
    let sent_in_clear = set_password(&transaction, apply, proven).await?;
    for name in [&apply.group, &apply.login.username] {
        set_fence(&transaction, apply.fence, name).await?;
    }
    transaction.commit().await?;
    Ok(Applied { identity, sent_in_clear })
}

/// Disables the login of a database user (`NOLOGIN`).
pub(super) async fn lock(
    peer: &Peer,
    work: Work,
    fence: Fence,
    username: &str,
) -> Result<(), TargetError> {
    let transaction = begin(peer, work, fence).await?;
    if !exists(&transaction, fence, username).await? {
        return Ok(());
    }
    transaction.run(&format!("ALTER ROLE {} NOLOGIN", Ident::pg(username)?)).await?;
    set_fence(&transaction, fence, username).await?;
    transaction.commit().await
}

/// Begins a transaction and takes the rotation's advisory lock in the database.
async fn begin(peer: &Peer, work: Work, fence: Fence) -> Result<Transaction<'_>, TargetError> {
    let transaction = Transaction::begin(peer, work, Stage::Work(Who::Admin)).await?;
    disable_logging(&transaction).await?;
    let key = fence.rotation.to_string();
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('kv:' || $1, 0))";
    transaction.rows(lock, &[(&key, Type::TEXT)]).await?;
    Ok(transaction)
}

/// Turns off the logging of SQL statements, if the administrator is permitted to do so. Most
/// administrators are not.
async fn disable_logging(transaction: &Transaction<'_>) -> Result<(), TargetError> {
    let mut statements = String::new();
    for (name, value) in NO_LOGGING {
        write!(statements, "SET LOCAL {name} = '{value}';").map_err(|_| Fault::Protocol)?;
    }
    transaction.try_run(&statements).await?.ok();
    Ok(())
}

/// Reads the system identifier of the PostgreSQL cluster; `None` if the administrator lacks the
/// privilege.
async fn identity(transaction: &Transaction<'_>) -> Result<Option<String>, TargetError> {
    let is_permitted = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')";
    if !column::<bool>(&transaction.row(is_permitted, &[]).await?, 0)? {
        return Ok(None);
    }
    let query = "SELECT system_identifier::text FROM pg_control_system()";
    column(&transaction.row(query, &[]).await?, 0).map(Some)
}

/// True if the role exists. Fails if a later attempt has changed the role, or if the role does not
/// belong to this rotation.
async fn exists(
    transaction: &Transaction<'_>,
    fence: Fence,
    name: &str,
) -> Result<bool, TargetError> {
    let query = "SELECT shobj_description(oid, 'pg_authid'), rolsuper \
        FROM pg_roles WHERE rolname = $1";
    let Some(row) = transaction.rows(query, &[(&name, Type::TEXT)]).await?.pop() else {
        return Ok(false);
    };
    match sequence_in(column(&row, 0)?, fence) {
        // The role was not created by this rotation, or was made a superuser since.
        None => Err(Fault::Privilege.into()),
        Some(_) if column(&row, 1)? => Err(Fault::Privilege.into()),
        Some(sequence) if sequence > fence.sequence => Err(Fault::Fenced.into()),
        Some(_) => Ok(true),
    }
}

/// Parses the sequence number in a role's comment; `None` if the comment was not written by this
/// rotation.
fn sequence_in(comment: Option<&str>, fence: Fence) -> Option<u64> {
    let rest = comment?.strip_prefix("kv:")?;
    let (rotation, sequence) = rest.split_once(':')?;
    (rotation == fence.rotation.to_string()).then(|| sequence.parse().ok())?
}

async fn set_fence(
    transaction: &Transaction<'_>,
    fence: Fence,
    name: &str,
) -> Result<(), TargetError> {
    let comment = Literal::pg(&format!("kv:{}:{}", fence.rotation, fence.sequence));
    transaction.run(&format!("COMMENT ON ROLE {} IS {comment}", Ident::pg(name)?)).await
}

/// Creates the missing roles: the group and the user. Objects that the user creates will belong to
/// the group, so that both users of the rotation own them.
async fn create_roles(transaction: &Transaction<'_>, apply: &Apply) -> Result<(), TargetError> {
    let (g, u) = (Ident::pg(&apply.group)?, Ident::pg(&apply.login.username)?);
    if !exists(transaction, apply.fence, &apply.group).await? {
        transaction.run(&format!("CREATE ROLE {g} NOLOGIN")).await?;
    }
    if !exists(transaction, apply.fence, &apply.login.username).await? {
        transaction.run(&format!("CREATE ROLE {u} NOLOGIN INHERIT")).await?;
    }
    let query = "SELECT pg_has_role($1, $2, 'MEMBER'), EXISTS (SELECT FROM pg_db_role_setting s \
        WHERE s.setdatabase = 0 AND s.setrole = $1::regrole \
          AND ('role=' || $3) = ANY (s.setconfig))";
    let (name, of) = (&apply.login.username, &apply.group);
    let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 3] =
        [(&name, Type::TEXT), (&of, Type::TEXT), (&of, Type::TEXT)];
    let found = transaction.row(query, &parameters).await?;
    if !column::<bool>(&found, 0)? {
        transaction.run(&format!("GRANT {g} TO {u}")).await?;
    }
    if !column::<bool>(&found, 1)? {
        transaction.run(&format!("ALTER ROLE {u} SET role = {g}")).await?;
    }
    Ok(())
}

/// Sets the password as a SCRAM verifier, from which the password cannot be read. If a module of
/// the server requires the password itself, the password is sent, but only to a verified server.
/// Returns true if the password itself was sent.
async fn set_password(
    transaction: &Transaction<'_>,
    apply: &Apply,
    proven: bool,
) -> Result<bool, TargetError> {
    let user = Ident::pg(&apply.login.username)?;
    let password = &apply.login.password;
    let verifier = postgres_protocol::password::scram_sha_256(password.reveal().as_bytes());
    let statement =
        |secret: &str| format!("ALTER ROLE {user} LOGIN PASSWORD {}", Literal::pg(secret));
    let outcome = transaction.try_run(&statement(&verifier)).await?;
    let is_policy = |error: &TargetError| {
        let code = error.code.as_ref().map(ServerCode::as_str);
        matches!(code, Some("22023" | "28000" | "28P01" | "0A000"))
    };
    match outcome {
        Ok(()) => Ok(false),
        Err(error) if !is_policy(&error) => Err(error),
        Err(error) if !proven => Err(TargetError { fault: Fault::PasswordPolicy, ..error }),
        Err(_) => {
            let clear = zeroize::Zeroizing::new(statement(password.reveal()));
            let outcome = transaction.try_run(&clear).await?;
            outcome.map(|()| true).map_err(|error| {
                let fault = if is_policy(&error) { Fault::PasswordPolicy } else { error.fault };
                TargetError { fault, ..error }
            })
        }
    }
}
