//! Redis server that a test starts and stops.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{MetadataExt as _, chown};

use secrets_tests::{targets, until};

use crate::ordinary_user::OrdinaryUser;
use crate::servers::{Server, address};

/// Password of the Redis users. The test runner searches logs and files for it.
const PASSWORD: &str = "kvc_redis_password";

/// Permissions of the Redis user of the service, as the guide for operators recommends them.
const RIGHTS: &str = "~secrets:rate:* +get +set +evalsha +script|load";

/// Settings of a Redis server, which a test can start several times.
pub(crate) struct Redis {
    name: &'static str,
    user: OrdinaryUser,
    host: String,
    port: u16,
    has_tls: bool,
}

impl Redis {
    /// Creates the settings of a Redis server without TLS. Does not start the server.
    pub(crate) fn new(name: &'static str) -> Self {
        let (address, port) = address();
        let user = OrdinaryUser::new(name);
        Self { name, user, host: address.to_string(), port, has_tls: false }
    }

    /// Creates the settings of a Redis server with TLS and the certificate of the test servers.
    /// Does not start the server.
    pub(crate) fn with_tls(name: &'static str) -> Self {
        let port = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
        let redis = Self { host: "127.0.0.3".to_owned(), port, has_tls: true, ..Self::new(name) };
        let owner = fs::metadata(&redis.user.folder).unwrap();
        for file in ["certificate.pem", "key.pem"] {
            let copy = redis.user.folder.join(file);
            fs::copy(targets::servers().join(file), &copy).unwrap();
            chown(&copy, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        redis
    }

    /// Returns the URL with which the service connects to the Redis server.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.has_tls { "rediss" } else { "redis" };
        format!("{scheme}://secrets:{PASSWORD}@{}:{}", self.host, self.port)
    }

    /// Starts the Redis server, and waits until it accepts connections.
    pub(crate) async fn start(&self) -> Server {
        let port = self.port;
        let address: Ipv4Addr = self.host.parse().unwrap();
        let listen = if self.has_tls {
            format!(
                "port 0\ntls-port {port}\ntls-cert-file certificate.pem\ntls-key-file key.pem\n\
                 tls-auth-clients no\n"
            )
        } else {
            format!("port {port}\n")
        };
        let config = format!(
            "bind {address}\n{listen}save \"\"\nappendonly no\nuser default off\n\
             user secrets on >{PASSWORD} {RIGHTS}\nuser test on >{PASSWORD} ~* +@all\n"
        );
        let server = Server::start(&self.user, self.name, "redis-server", &["-"], &config);
        until("Redis accepts connections", async || {
            tokio::net::TcpStream::connect((address, port)).await.is_ok()
        })
        .await;
        server
    }

    /// Returns all keys that are stored in the running Redis server.
    pub(crate) async fn keys(&self) -> Vec<String> {
        let url = self.url().replace("//secrets:", "//test:");
        let client = redis::Client::open(url).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap()
    }
}
