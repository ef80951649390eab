//! Privileges of the group (the database role that both users of a rotation belong to) in the
//! database.
//!
//! Every rotation grants privileges on existing schemas, tables and sequences. Default privileges
//! cover objects that the administrator creates later. Privileges that the group already holds are
//! not granted again, so a rotation changes the catalogue only if the level or the tables changed.
//! The level `admin` can create tables and change all rows, but can alter or drop only tables that
//! the group owns: PostgreSQL permits this to owners only.

use std::collections::BTreeSet;

use tokio_postgres::types::Type;

use super::transaction::{Transaction, column};
use crate::model::rotations::PermissionLevel;
use crate::ports::rotator::{Fault, TargetError};
use crate::rotators::drivers::quoting::Ident;

/// SQL statement that takes an advisory lock, so that privileges in a database are changed by only
/// one transaction at a time. Concurrent changes would write the same catalogue rows, which fails
/// in PostgreSQL.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('kv:grants', 0))";

/// Query for the privileges that a group lacks or has in excess, in each schema. `$1` is the group,
/// `$2` is true if the group may create objects, `$3` and `$4` are its privileges on tables and on
/// sequences.
const PRIVILEGE_DIFFERENCES: &str = "SELECT n.nspname::text, \
      NOT has_schema_privilege(g.oid, n.oid, 'USAGE') \
        OR $2 AND NOT has_schema_privilege(g.oid, n.oid, 'CREATE'), \
      NOT $2 AND EXISTS (SELECT FROM aclexplode(n.nspacl) a \
        WHERE a.grantee = g.oid AND a.privilege_type = 'CREATE'), \
      EXISTS (SELECT FROM pg_class c, unnest($3) p \
        WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
          AND NOT has_table_privilege(g.oid, c.oid, p)), \
      EXISTS (SELECT FROM pg_class c, aclexplode(c.relacl) a \
        WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
          AND c.relowner <> g.oid AND a.grantee = g.oid AND a.privilege_type <> ALL ($3)), \
      EXISTS (SELECT FROM pg_class c, unnest($4) p \
        WHERE c.relnamespace = n.oid AND c.relkind = 'S' \
          AND NOT has_sequence_privilege(g.oid, c.oid, p)), \
      EXISTS (SELECT FROM pg_class c, aclexplode(c.relacl) a \
        WHERE c.relnamespace = n.oid AND c.relkind = 'S' \
          AND c.relowner <> g.oid AND a.grantee = g.oid AND a.privilege_type <> ALL ($4)) \
    FROM pg_namespace n, pg_roles g \
    WHERE g.rolname = $1 AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";

/// Query for the default privileges of a group on objects that the administrator creates later.
const DEFAULTS: &str = "SELECT d.defaclobjtype::text, a.privilege_type \
    FROM pg_default_acl d, aclexplode(d.defaclacl) a, pg_roles g \
    WHERE d.defaclrole = (SELECT oid FROM pg_roles WHERE rolname = current_user) AND d.defaclnamespace = 0 \
      AND a.grantee = g.oid AND g.rolname = $1";

/// Query that returns the name of the current database, and true if the group `$1` may connect to
/// this database.
const DATABASE: &str = "SELECT current_database()::text, \
    has_database_privilege(g.oid, current_database(), 'CONNECT') \
    FROM pg_roles g WHERE g.rolname = $1";

/// Privileges that a permission level ([`PermissionLevel`]) gives in a database.
pub(super) struct Level {
    creates: bool,
    tables: &'static [&'static str],
    sequences: &'static [&'static str],
}

impl Level {
    pub(super) fn of(level: PermissionLevel) -> Self {
        match level {
            PermissionLevel::Read => {
                Self { creates: false, tables: &["SELECT"], sequences: &["SELECT"] }
            }
            PermissionLevel::ReadWrite => Self {
                creates: false,
                tables: &["SELECT", "INSERT", "UPDATE", "DELETE"],
                sequences: &["USAGE", "SELECT"],
            },
            PermissionLevel::Admin => Self {
                creates: true,
                tables: &[
                    "SELECT",
                    "INSERT",
                    "UPDATE",
                    "DELETE",
                    "TRUNCATE",
                    "REFERENCES",
                    "TRIGGER",
                ],
                sequences: &["USAGE", "SELECT", "UPDATE"],
            },
        }
    }

    /// Grants the group exactly the privileges of this level, and revokes all others.
    pub(super) async fn grant(
        &self,
        transaction: &Transaction<'_>,
        group: &str,
    ) -> Result<(), TargetError> {
        if self.statements(transaction, group).await?.is_empty() {
            return Ok(());
        }
        transaction.run(LOCK).await?;
        for statement in self.statements(transaction, group).await? {
            transaction.run(&statement).await?;
        }
        // The server only warns about a grant that has no effect, so the result is checked again.
        if self.statements(transaction, group).await?.is_empty() {
            Ok(())
        } else {
            Err(Fault::Privilege.into())
        }
    }

    /// Returns the SQL statements that give the group exactly the privileges of this level; empty
    /// if nothing needs to change.
    async fn statements(
        &self,
        transaction: &Transaction<'_>,
        group: &str,
    ) -> Result<Vec<String>, TargetError> {
        let quoted = Ident::pg(group)?;
        let mut statements = Vec::new();
        let database = transaction.row(DATABASE, &[(&group, Type::TEXT)]).await?;
        if !column::<bool>(&database, 1)? {
            let name = Ident::pg(column(&database, 0)?)?;
            statements.push(format!("GRANT CONNECT ON DATABASE {name} TO {quoted}"));
        }
        self.in_schemas(transaction, group, &quoted, &mut statements).await?;
        self.by_default(transaction, group, &quoted, &mut statements).await?;
        Ok(statements)
    }

    async fn in_schemas(
        &self,
        transaction: &Transaction<'_>,
        group: &str,
        quoted: &Ident,
        statements: &mut Vec<String>,
    ) -> Result<(), TargetError> {
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 4] = [
            (&group, Type::TEXT),
            (&self.creates, Type::BOOL),
            (&self.tables, Type::TEXT_ARRAY),
            (&self.sequences, Type::TEXT_ARRAY),
        ];
        for row in transaction.rows(PRIVILEGE_DIFFERENCES, &parameters).await? {
            let schema = Ident::pg(column(&row, 0)?)?;
            let usage = if self.creates { "USAGE, CREATE" } else { "USAGE" };
            let on_schema = format!("SCHEMA {schema}");
            let on_tables = format!("ALL TABLES IN SCHEMA {schema}");
            let on_sequences = format!("ALL SEQUENCES IN SCHEMA {schema}");
            for (lacks, exceeds, what, on) in [
                (column(&row, 1)?, column(&row, 2)?, usage.to_owned(), on_schema),
                (column(&row, 3)?, column(&row, 4)?, self.tables.join(", "), on_tables),
                (column(&row, 5)?, column(&row, 6)?, self.sequences.join(", "), on_sequences),
            ] {
                if exceeds {
                    statements.push(format!("REVOKE ALL ON {on} FROM {quoted}"));
                }
                if lacks || exceeds {
                    statements.push(format!("GRANT {what} ON {on} TO {quoted}"));
                }
            }
        }
        Ok(())
    }

    async fn by_default(
        &self,
        transaction: &Transaction<'_>,
        group: &str,
        quoted: &Ident,
        statements: &mut Vec<String>,
    ) -> Result<(), TargetError> {
        let rows = transaction.rows(DEFAULTS, &[(&group, Type::TEXT)]).await?;
        for (kind, what, on) in [("r", self.tables, "TABLES"), ("S", self.sequences, "SEQUENCES")] {
            let mut held = BTreeSet::new();
            for row in &rows {
                if column::<&str>(row, 0)? == kind {
                    held.insert(column::<&str>(row, 1)?);
                }
            }
            if held == what.iter().copied().collect() {
                continue;
            }
            let what = what.join(", ");
            statements.push(format!("ALTER DEFAULT PRIVILEGES REVOKE ALL ON {on} FROM {quoted}"));
            statements.push(format!("ALTER DEFAULT PRIVILEGES GRANT {what} ON {on} TO {quoted}"));
        }
        Ok(())
    }
}
