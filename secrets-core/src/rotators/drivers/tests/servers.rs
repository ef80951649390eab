//! Real database servers, started by the test runner.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_postgres::SimpleQueryMessage;

use crate::crypto::{Plaintext, random};
use crate::egress::{Dialer, EgressPolicy, Resolver};
use crate::model::RotationId;
use crate::model::rotations::{DatabaseKind, PermissionLevel, Slot};
use crate::ports::rotator::{Apply, DatabaseRotator, Fence, Login, Target, TargetError};
use crate::rotations::{draw_password, group_role, slot_user};
use crate::rotators::drivers::Who;
use crate::rotators::drivers::mysql::MySqlRotator;
use crate::rotators::drivers::postgres::{Credentials, PostgresRotator, drive};
use crate::rotators::drivers::quoting::Ident;
use crate::testing::targets::Dialect;

/// Host name that resolves to this machine but is not in the certificate of any server.
pub(super) const OTHER_NAME: &str = "other.example";

/// A real database server.
pub(super) struct Server {
    pub rotator: Arc<dyn DatabaseRotator>,
    pub target: Target,
    pub is_mariadb: bool,
    postgres: PostgresRotator,
    mysql: MySqlRotator,
}

/// DNS resolver that returns the loopback address for every name.
struct Here;

#[async_trait]
impl Resolver for Here {
    async fn addresses(&self, _name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec![[127, 0, 0, 1].into()])
    }
}

/// Creates a dialer that permits connections to this machine.
pub(super) fn gate() -> Arc<Dialer> {
    Arc::new(Dialer::with_resolver(EgressPolicy::parse("127.0.0.0/8").unwrap(), Arc::new(Here)))
}

/// Creates the driver for a kind of database.
pub(super) fn driver(kind: DatabaseKind) -> Arc<dyn DatabaseRotator> {
    match kind.name {
        "postgresql" => Arc::new(PostgresRotator::new(gate())),
        "mysql" => Arc::new(MySqlRotator::new(gate())),
        other => panic!("no driver for {other}"),
    }
}

fn server(dialect: Dialect) -> Server {
    let target = dialect.target();
    let rotator = driver(target.kind);
    let (postgres, mysql) = (PostgresRotator::new(gate()), MySqlRotator::new(gate()));
    Server { rotator, target, is_mariadb: dialect == Dialect::MariaDb, postgres, mysql }
}

pub(super) fn postgres() -> Server {
    server(Dialect::Postgres)
}

/// Returns the servers that use the MySQL protocol: MariaDB, and MySQL where available.
pub(super) fn mysqls() -> Vec<Server> {
    all().into_iter().filter(|server| !server.is_postgres()).collect()
}

/// Returns all real database servers.
pub(super) fn all() -> Vec<Server> {
    Dialect::all().into_iter().map(server).collect()
}

impl Server {
    pub(super) fn is_postgres(&self) -> bool {
        self.target.kind == DatabaseKind::POSTGRESQL
    }

    /// Quotes an identifier for SQL statements of this server.
    pub(super) fn quoted(&self, name: &str) -> Ident {
        if self.is_postgres() { Ident::pg(name) } else { Ident::my(name) }.unwrap()
    }

    /// Creates a database with the table `things (id)`, which has one row. Returns it as the target
    /// of a rotation.
    pub(super) async fn database(&self, name: &str) -> Target {
        let name = format!("{name}{:08x}", u32::from_be_bytes(random()));
        self.admin(&self.target, &format!("CREATE DATABASE {}", self.quoted(&name))).await.unwrap();
        let target = Target { database: name, ..self.target.clone() };
        self.admin(&target, "CREATE TABLE things (id integer PRIMARY KEY)").await.unwrap();
        self.admin(&target, "INSERT INTO things VALUES (1)").await.unwrap();
        target
    }

    /// Drops a test database and the users that rotations created.
    pub(super) async fn clear(&self, target: &Target, applies: &[&Apply]) {
        let drop = format!("DROP DATABASE {}", self.quoted(&target.database));
        let force = if self.is_postgres() { " WITH (FORCE)" } else { "" };
        self.admin(&self.target, &format!("{drop}{force}")).await.unwrap();
        for apply in applies {
            let [user, group] = [&apply.login.username, &apply.group];
            let drop = if self.is_postgres() {
                format!("DROP ROLE IF EXISTS {user}, {group}")
            } else {
                format!("DROP USER IF EXISTS {user}")
            };
            self.admin(&self.target, &drop).await.unwrap();
        }
    }

    /// Runs an SQL statement as the administrator and returns the first column of the result.
    pub(super) async fn admin(
        &self,
        target: &Target,
        sql: &str,
    ) -> Result<Vec<String>, TargetError> {
        let password = target.admin_password.reveal();
        let credentials =
            Credentials { who: Who::Admin, username: &target.admin_username, password };
        self.run(target, credentials, sql).await
    }

    /// As the administrator, runs an SQL statement that takes a lock. Then awaits `work` while the
    /// open session holds the lock.
    pub(super) async fn holding<T>(
        &self,
        target: &Target,
        sql: &str,
        work: impl Future<Output = T>,
    ) -> T {
        let (who, password) = (Who::Admin, target.admin_password.reveal());
        let username = target.admin_username.as_str();
        if !self.is_postgres() {
            let mut session = self.mysql.log_in(target, who, username, password).await.unwrap();
            session.run(sql).await.unwrap();
            let outcome = work.await;
            session.close().await;
            return outcome;
        }
        let credentials = Credentials { who, username, password };
        let mut session = self.postgres.connect(target, credentials).await.unwrap();
        drive(&mut session.driver, session.peer.client.simple_query(sql)).await.unwrap();
        let outcome = work.await;
        session.close().await;
        outcome
    }

    /// Runs an SQL statement as a rotated user and returns the first column of the result.
    pub(super) async fn user(
        &self,
        target: &Target,
        login: &Login,
        sql: &str,
    ) -> Result<Vec<String>, TargetError> {
        let (username, password) = (&login.username, login.password.reveal());
        self.run(target, Credentials { who: Who::User, username, password }, sql).await
    }

    async fn run(
        &self,
        target: &Target,
        credentials: Credentials<'_>,
        sql: &str,
    ) -> Result<Vec<String>, TargetError> {
        let Credentials { who, username, password } = credentials;
        if !self.is_postgres() {
            let mut session = self.mysql.log_in(target, who, username, password).await?;
            let rows = session.run(sql).await;
            session.close().await;
            let first = |row: Vec<Option<String>>| row.into_iter().next().flatten();
            return Ok(rows?.into_iter().filter_map(first).collect());
        }
        let mut session = self.postgres.connect(target, credentials).await?;
        let answer = drive(&mut session.driver, session.peer.client.simple_query(sql)).await;
        session.close().await;
        let answer = answer.map_err(|error| {
            let stage = crate::rotators::drivers::faults::Stage::Work(who);
            crate::rotators::drivers::faults::of_state(error.code().unwrap().code(), stage)
        })?;
        let first = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        };
        Ok(answer.into_iter().filter_map(first).collect())
    }
}

/// Creates the parameters of the first attempt of a new rotation, with a new password.
pub(super) fn apply(level: PermissionLevel) -> Apply {
    let rotation = RotationId::from(uuid::Uuid::from_bytes(random()));
    let password = format!("kvc_{}", draw_password().reveal());
    Apply {
        fence: Fence { rotation, sequence: 1 },
        group: group_role(rotation),
        login: Login {
            username: slot_user(rotation, Slot::A),
            password: Plaintext::new(password).unwrap(),
        },
        level,
        identity: None,
    }
}

/// Creates the parameters of a later attempt for the same database user, with another password.
pub(super) fn later(apply: &Apply, sequence: u64) -> Apply {
    let password = Plaintext::new(format!("kvc_{}", draw_password().reveal())).unwrap();
    let login = Login { password, ..apply.login.clone() };
    Apply { fence: Fence { sequence, ..apply.fence }, login, ..apply.clone() }
}
