//! Hostile servers that pretend to be MySQL or MariaDB.

use super::{Case, SAID, Step, case, meet_all, strangers};
use crate::model::rotations::{DatabaseKind, SslMode};
use crate::ports::rotator::Fault;

const PLAIN: SslMode = SslMode::Disable;
const TLS: SslMode = SslMode::Require;

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&[a, b, c, number][..], body].concat()
}

/// Builds the initial handshake packet of a MySQL server.
fn greeting(version: &str, plugin: &str, capabilities: u32) -> Vec<u8> {
    let [a, b, c, d] = capabilities.to_le_bytes();
    packet(
        0,
        &[
            &[10],
            version.as_bytes(),
            &[0, 1, 0, 0, 0],
            b"01234567\0",
            &[a, b, 45, 2, 0, c, d, 21],
            &[0; 10],
            b"012345678901\0",
            plugin.as_bytes(),
            &[0],
        ]
        .concat(),
    )
}

fn hello(plugin: &str) -> Step {
    Step::Say(greeting("8.0.36", plugin, u32::MAX))
}

fn ok(number: u8) -> Step {
    Step::Say(packet(number, &[0, 0, 0, 2, 0, 0, 0]))
}

fn error(number: u8, code: u16, state: &str) -> Step {
    let body = [&[0xff][..], &code.to_le_bytes(), b"#", state.as_bytes(), SAID.as_bytes()].concat();
    Step::Say(packet(number, &body))
}

/// Builds the packet with which a MySQL server requests another authentication plugin.
fn switch(number: u8, plugin: &str) -> Vec<u8> {
    packet(number, &[&[0xfe], plugin.as_bytes(), b"\x0001234567890123456789\0"].concat())
}

/// Builds a server script for a login without TLS. The packets in `steps` begin with sequence
/// number 2.
fn plain(plugin: &str, steps: &[Step]) -> Vec<Step> {
    [&[hello(plugin), Step::Hear][..], steps].concat()
}

/// Builds a server script for a login with TLS. The packets in `steps` begin with sequence number
/// 3.
fn tls(plugin: &str, steps: &[Step]) -> Vec<Step> {
    // The TLS handshake must not be read as part of the request for TLS.
    [&[hello(plugin), Step::Request, Step::Tls, Step::Hear][..], steps].concat()
}

/// Builds a server script for a successful login and the first SQL statement. The packets in
/// `steps` begin with sequence number 1.
fn later(steps: &[Step]) -> Vec<Step> {
    plain(NATIVE, &[&[ok(2), Step::Hear][..], steps].concat())
}

fn say(bytes: impl Into<Vec<u8>>) -> Step {
    Step::Say(bytes.into())
}

fn servers_that_ask_for_the_password() -> Vec<Case> {
    let full = |number| [say(packet(number, &[1, 4])), Step::Hear, ok(number + 2)];
    let to = |number, plugin| [say(switch(number, plugin)), Step::Hear, ok(number + 2)];
    let more = packet(2, &[1, 9]);
    let twice = [say(switch(2, NATIVE)), Step::Hear, say(switch(4, SHA2)), Step::Hear];
    vec![
        case("all of it, plain", PLAIN, plain(SHA2, &full(2)), Fault::TlsUntrusted),
        case("all of it, TLS", TLS, tls(SHA2, &full(3)), Fault::TlsUntrusted),
        case("not of this way", TLS, tls(NATIVE, &full(3)), Fault::Protocol),
        case(
            "clear, plain",
            PLAIN,
            plain(SHA2, &to(2, "mysql_clear_password")),
            Fault::Unsupported,
        ),
        case("clear, TLS", TLS, tls(SHA2, &to(3, "mysql_clear_password")), Fault::Unsupported),
        case("dialog", TLS, tls(NATIVE, &to(3, "dialog")), Fault::Unsupported),
        case("sha256", TLS, tls(NATIVE, &to(3, "sha256_password")), Fault::Unsupported),
        case("old", PLAIN, plain(NATIVE, &to(2, "mysql_old_password")), Fault::Unsupported),
        case("oldest", PLAIN, plain(NATIVE, &[say(packet(2, &[0xfe]))]), Fault::Unsupported),
        case("twice", PLAIN, plain(SHA2, &twice), Fault::Protocol),
        case("something", PLAIN, plain(SHA2, &[say(more)]), Fault::Protocol),
        case(
            "a file",
            PLAIN,
            later(&[say(packet(1, b"\xfb/etc/passwd")), Step::Hear, ok(3)]),
            Fault::Protocol,
        ),
    ]
}

fn servers_that_send_too_much() -> Vec<Case> {
    let remembers: Vec<Vec<u8>> = (2..100).map(|number| packet(number, &[1, 3])).collect();
    let switch_short = packet(2, &[&[0xfe], NATIVE.as_bytes(), b"\0short\0"].concat());
    let column = |number| packet(number, b"\x03def\0\0\0\x01x\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0");
    let head = [packet(1, &[1]), column(2), packet(3, &[0xfe, 0, 0, 2, 0])].concat();
    let row = [&[0xfd, 0xe0, 0x93, 4][..], &vec![b'x'; 300_000]].concat();
    let rows: Vec<Vec<u8>> = (4..=255).map(|number| packet(number, &row)).collect();
    vec![
        case(
            "remembers",
            PLAIN,
            plain(SHA2, &[say(remembers.concat()), Step::Wait]),
            Fault::Protocol,
        ),
        case(
            "16 MiB",
            PLAIN,
            plain(NATIVE, &[say([255, 255, 255, 2]), Step::Wait]),
            Fault::Protocol,
        ),
        case("nothing", PLAIN, plain(NATIVE, &[say([0, 0, 0, 2]), Step::Wait]), Fault::Protocol),
        case("out of turn", PLAIN, plain(NATIVE, &[say(packet(9, &[0; 7]))]), Fault::Protocol),
        case("short number", PLAIN, plain(SHA2, &[say(switch_short)]), Fault::Protocol),
        case("rows", PLAIN, later(&[say(head), say(rows.concat()), Step::Wait]), Fault::Protocol),
        case(
            "columns",
            PLAIN,
            later(&[say(packet(1, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f")), Step::Wait]),
            Fault::Protocol,
        ),
        case("half a number", PLAIN, later(&[say(packet(1, b"\xfc\x01"))]), Fault::Protocol),
    ]
}

fn other_servers() -> Vec<Case> {
    let full = SslMode::VerifyFull;
    let without = say(greeting("8.0.36", NATIVE, !0x800));
    let stripped = vec![without, Step::Hear, ok(2)];
    let version =
        |version| vec![say(greeting(version, NATIVE, u32::MAX)), Step::Hear, ok(2), Step::Hear];
    let mut cases = vec![
        case("stripped", TLS, stripped.clone(), Fault::TlsNotOffered),
        case("stripped, full", full, stripped, Fault::TlsNotOffered),
        case("unknown authority", full, tls(NATIVE, &[ok(3)]), Fault::TlsUntrusted),
        case("plain for TLS", TLS, plain(NATIVE, &[ok(2), Step::Wait]), Fault::Protocol),
        case("old", PLAIN, version("5.7.44"), Fault::Unsupported),
        case("old MariaDB", PLAIN, version("5.5.5-10.3.39-MariaDB"), Fault::Unsupported),
        case("no version", PLAIN, version(SAID), Fault::Protocol),
        case("no features", PLAIN, vec![say(greeting("8.0.36", NATIVE, 0))], Fault::Unsupported),
        case("not from here", PLAIN, vec![error(0, 1130, "HY000")], Fault::Unreachable),
        case("of old", PLAIN, vec![say(packet(0, b"\x095.0\0")), Step::Wait], Fault::Protocol),
        case("half a greeting", PLAIN, vec![say(packet(0, b"\x0a8.0.36\0abc"))], Fault::Protocol),
        case("refused", PLAIN, plain(NATIVE, &[error(2, 1045, "28000")]), Fault::AdminRejected),
        case("no state", PLAIN, plain(NATIVE, &[error(2, 9999, "<scr>")]), Fault::Protocol),
        case("no code", PLAIN, plain(NATIVE, &[say(packet(2, &[0xff]))]), Fault::Protocol),
        case("refused later", PLAIN, later(&[error(1, 1227, "42000")]), Fault::Privilege),
    ];
    for (name, said) in strangers() {
        cases.push(case(name, PLAIN, vec![say(said.clone()), Step::Wait], Fault::Protocol));
        cases.push(case(name, TLS, vec![say(said), Step::Wait], Fault::Protocol));
    }
    cases
}

fn slow_servers() -> Vec<Case> {
    let slow = packet(0, &[10; 200]);
    vec![
        case("silent", PLAIN, vec![Step::Wait], Fault::Unreachable),
        case("silent in TLS", TLS, tls(NATIVE, &[Step::Wait]), Fault::Unreachable),
        case("half of TLS", TLS, plain(NATIVE, &[Step::Wait]), Fault::Unreachable),
        case("drip", PLAIN, vec![Step::Drip(slow)], Fault::Unreachable),
        case("gone", PLAIN, vec![], Fault::Unreachable),
        case("cut", PLAIN, vec![say([50, 0, 0, 0, 10, 56])], Fault::Unreachable),
        case("gone before TLS", TLS, vec![hello(NATIVE)], Fault::Unreachable),
        case("gone for TLS", TLS, plain(NATIVE, &[]), Fault::Unreachable),
        case("gone in TLS", TLS, tls(NATIVE, &[]), Fault::Unreachable),
        case("gone after start", PLAIN, plain(NATIVE, &[]), Fault::Unreachable),
        case("gone when in", PLAIN, plain(NATIVE, &[ok(2)]), Fault::Unreachable),
        case("gone later", PLAIN, later(&[]), Fault::Unreachable),
    ]
}

#[tokio::test]
async fn no_server_gets_a_password_or_a_file_on_request() {
    meet_all(DatabaseKind::MYSQL, servers_that_ask_for_the_password()).await;
}

#[tokio::test]
async fn endless_responses_do_not_fill_the_memory() {
    meet_all(DatabaseKind::MYSQL, servers_that_send_too_much()).await;
}

#[tokio::test]
async fn other_servers_are_refused() {
    meet_all(DatabaseKind::MYSQL, other_servers()).await;
}

#[tokio::test]
async fn slow_servers_reach_a_timeout() {
    meet_all(DatabaseKind::MYSQL, slow_servers()).await;
}
