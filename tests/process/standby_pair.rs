//! Two PostgreSQL servers: a primary and its standby, with synchronous replication.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use secrets_tests::until;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::ordinary_user::OrdinaryUser;
use crate::servers::{Server, Signal, address};

/// Password of the administrator of both servers. The test runner does not search for this
/// password, because the standby stores it in a file in plain text.
const PASSWORD: &str = "password of the standby pair";

/// PostgreSQL primary and its standby, as processes of a test.
pub(crate) struct Pair {
    name: &'static str,
    user: OrdinaryUser,
    host: Ipv4Addr,
    ports: [u16; 2],
    running: [Option<Server>; 2],
    primary: usize,
}

impl Pair {
    /// Creates a database, and starts its primary and its standby server.
    pub(crate) async fn start(name: &'static str) -> Self {
        let (user, (host, port), (_, other)) = (OrdinaryUser::new(name), address(), address());
        let mut pair =
            Self { name, user, host, ports: [port, other], running: [None, None], primary: 0 };
        pair.user.run(&format!(
            "umask 077; echo '{PASSWORD}' > password
             initdb -D server-0 -U postgres --pwfile=password --auth=scram-sha-256 \
                 --encoding=UTF8 --locale=C --no-sync > /dev/null
             {{ echo 'host all all 127.0.0.0/8 scram-sha-256'
                echo 'host replication all 127.0.0.0/8 scram-sha-256'; }} > server-0/pg_hba.conf"
        ));
        pair.run(0).await;
        pair.add_standby().await;
        pair
    }

    /// Returns the URL of the database. It names both servers, and the client connects to the one
    /// that accepts writes.
    pub(crate) fn url(&self) -> String {
        let (host, [one, other]) = (self.host, self.ports);
        let password = PASSWORD.replace(' ', "%20");
        format!(
            "postgres://postgres:{password}@{host}:{one},{host}:{other}/postgres\
             ?target_session_attrs=read-write"
        )
    }

    /// Kills the primary with SIGKILL.
    pub(crate) fn kill_primary(&mut self) {
        self.running[self.primary].take().unwrap().kill();
    }

    /// Stops the processes of the primary with SIGSTOP. Its connections stay open, but it does not
    /// respond.
    pub(crate) fn freeze_primary(&self) {
        self.running[self.primary].as_ref().unwrap().signal_all(Signal::Stop);
    }

    /// Lets the frozen former primary continue, after the other server was promoted.
    pub(crate) fn continue_old(&self) {
        self.running[1 - self.primary].as_ref().unwrap().signal_all(Signal::Continue);
    }

    /// Promotes the standby to primary, and waits until it executes statements.
    pub(crate) async fn promote(&mut self) {
        self.primary = 1 - self.primary;
        self.user.run(&format!("pg_ctl promote -D server-{} > /dev/null", self.primary));
        self.execute("SELECT 1").await;
    }

    /// Replaces the server that is not the primary by a new standby. From then on, the primary
    /// waits for the standby at every commit (synchronous replication).
    pub(crate) async fn add_standby(&mut self) {
        let (from, to, host) = (self.primary, 1 - self.primary, self.host);
        self.running[to] = None;
        self.user.run(&format!(
            "umask 077; rm -rf server-{to}
             export PGPASSWORD='{PASSWORD}' PGAPPNAME=standby
             pg_basebackup -h {host} -p {} -U postgres -D server-{to} -R -X stream --checkpoint=fast --no-sync
             # After a promotion, there is nobody to wait for.
             echo \"synchronous_standby_names = ''\" >> server-{to}/postgresql.auto.conf",
            self.ports[from]
        ));
        self.run(to).await;
        self.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'").await;
        self.execute("SELECT pg_reload_conf()").await;
        until("the standby is synchronous", async || {
            self.number("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").await
                == 1
        })
        .await;
    }

    /// Returns the number that an SQL query on the primary yields.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        let mut connection = self.options(self.primary).connect().await.unwrap();
        let query = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        let number = query.fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        number
    }

    /// Runs an SQL statement on the primary.
    async fn execute(&self, statement: &str) {
        let mut connection = self.options(self.primary).connect().await.unwrap();
        let text = AssertSqlSafe(statement.to_owned());
        sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    fn options(&self, server: usize) -> PgConnectOptions {
        let options = PgConnectOptions::new_without_pgpass().host(&self.host.to_string());
        let options = options.port(self.ports[server]).username("postgres").password(PASSWORD);
        options.database("postgres")
    }

    async fn run(&mut self, server: usize) {
        let found = self.user.run("command -v postgres");
        let program = fs::canonicalize(PathBuf::from(found.trim())).unwrap();
        let (port, addresses) = (self.ports[server].to_string(), self.host.to_string());
        let folder = format!("server-{server}");
        let addresses = format!("listen_addresses={addresses}");
        let mut arguments = vec!["-D", &folder, "-p", &port, "-c", &addresses];
        // `fsync=off`, because no test checks the behaviour after a power failure.
        for setting in
            ["unix_socket_directories=", "fsync=off", "shared_buffers=16MB", "wal_keep_size=256MB"]
        {
            arguments.extend(["-c", setting]);
        }
        let program = program.to_str().unwrap();
        self.running[server] = Some(Server::start(&self.user, self.name, program, &arguments, ""));
        until("the server accepts connections", async || {
            self.options(server).connect().await.is_ok()
        })
        .await;
    }
}
