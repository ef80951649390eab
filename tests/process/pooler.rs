//! Tests of the server program with PgBouncer between it and PostgreSQL. The program must refuse to
//! start if PgBouncer does not keep the session of a connection (transaction pooling).

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

use percent_encoding::percent_decode_str;
use secrets_core::testing::postgres::TestDatabase;

use secrets_tests::until;

use crate::ordinary_user::OrdinaryUser;
use crate::program::{Ended, Program};
use crate::servers::{Server, address};

/// Path of PgBouncer on Debian, which is outside of the PATH of ordinary users.
const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// Running PgBouncer, and the URL of the test database through it.
struct Pooler {
    _server: Server,
    url: String,
}

impl Pooler {
    async fn start(user: &OrdinaryUser, store: &TestDatabase, settings: &str) -> Self {
        let url: url::Url = store.url().parse().unwrap();
        let password = percent_decode_str(url.password().unwrap()).decode_utf8().unwrap();
        let name = url.username();
        let (host, port) = address();
        // The files are outside of the folder that is searched for secret values, because a file
        // contains the password of the database.
        let folder = user.folder.parent().unwrap();
        let (config, users) = (folder.join("pgbouncer.ini"), folder.join("users.txt"));
        write(user, &users, &format!("\"{name}\" \"{password}\"\n"));
        write(
            user,
            &config,
            &format!(
                "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = {host}\nlisten_port = {port}\n\
                 unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\n{settings}\n",
                url.host_str().unwrap(),
                url.port().unwrap(),
                users.display(),
            ),
        );
        let server = Server::start(user, "pgbouncer", PROGRAM, &[config.to_str().unwrap()], "");
        until("PgBouncer accepts connections", async || {
            tokio::net::TcpStream::connect((host, port)).await.is_ok()
        })
        .await;
        let mut through = url.clone();
        through.set_host(Some(&host.to_string())).unwrap();
        through.set_port(Some(port)).unwrap();
        Self { _server: server, url: through.into() }
    }

    fn check(&self, name: &str) -> Ended {
        Program::configured(name, "check", "unused".as_ref())
            .with("SECRETS_DATABASE_URL", &self.url)
            .run()
    }
}

fn write(user: &OrdinaryUser, path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    let owner = fs::metadata(&user.folder).unwrap();
    chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_keeps_no_sessions_is_refused_at_the_start() {
    let (store, user) = (TestDatabase::create().await, OrdinaryUser::new("pooler"));

    for settings in [
        "pool_mode = transaction",
        "pool_mode = transaction\nserver_round_robin = 1\nmin_pool_size = 3",
        "pool_mode = statement",
    ] {
        let pooler = Pooler::start(&user, &store, settings).await;
        let Ended { code, stderr, .. } = pooler.check("pooler_refused");

        assert_eq!(code, Some(69), "{settings}: {stderr}");
        assert!(stderr.contains("SECRETS_DATABASE_URL"), "{settings}: {stderr}");
        assert!(stderr.contains("`pool_mode = session`"), "{settings}: {stderr}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_keeps_sessions_works() {
    let (store, user) = (TestDatabase::create().await, OrdinaryUser::new("pooler_session"));
    let pooler = Pooler::start(&user, &store, "pool_mode = session").await;
    let program = Program::serve("pooler_session", "unused".as_ref())
        .with("SECRETS_DATABASE_URL", &pooler.url)
        .start();

    let alice = program.person("alice").await;
    let project = alice.project("Web").await;

    alice.secret(&project, "development", "KEY", "kvc_value").await;
    alice.get("/health").await.is(200);
}
