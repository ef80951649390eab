//! Hostile servers that pretend to be PostgreSQL.

use super::{Case, Meeting, SAID, Step, case, meet_all, strangers};
use crate::model::rotations::{DatabaseKind, PermissionLevel, SslMode};
use crate::ports::rotator::{Fault, Login};

const PLAIN: SslMode = SslMode::Disable;
const TLS: SslMode = SslMode::Require;

fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

pub(super) fn authentication(kind: u32, body: &[u8]) -> Vec<u8> {
    frame(b'R', &[&kind.to_be_bytes()[..], body].concat())
}

/// Builds the messages `AuthenticationOk` and `ReadyForQuery`, which let a client in without a
/// password.
pub(super) fn let_in() -> Vec<u8> {
    [authentication(0, b""), frame(b'Z', b"I")].concat()
}

fn error(state: &str) -> Vec<u8> {
    frame(b'E', format!("SFATAL\0VFATAL\0C{state}\0M{SAID}\0D{SAID}\0\0").as_bytes())
}

fn scram(mechanisms: &str) -> Vec<u8> {
    authentication(10, format!("{mechanisms}\0\0").as_bytes())
}

/// Builds a server script for a login without TLS.
fn plain(steps: &[Step]) -> Vec<Step> {
    [&[Step::Hear][..], steps].concat()
}

/// Builds a server script for a login with TLS.
fn tls(steps: &[Step]) -> Vec<Step> {
    let begin = [Step::Hear, Step::Say(b"S".to_vec()), Step::Tls, Step::Hear];
    [&begin[..], steps].concat()
}

/// Builds a server script for a successful login and the first SQL statement.
fn later(steps: &[Step]) -> Vec<Step> {
    [&[Step::Hear, Step::Say(let_in()), Step::Hear][..], steps].concat()
}

fn say(bytes: impl Into<Vec<u8>>) -> Step {
    Step::Say(bytes.into())
}

fn servers_that_ask_for_the_password() -> Vec<Case> {
    let ask = |kind, body: &[u8]| [say(authentication(kind, body)), Step::Hear, say(let_in())];
    let both = "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256";
    let bad = Step::Scram { iterations: "4096", signature: "v=bm90IHRoZSBzaWduYXR1cmU=" };
    let none = Step::Scram { iterations: "4096", signature: "" };
    let many = |iterations| Step::Scram { iterations, signature: "v=" };
    vec![
        case("clear, plain", PLAIN, plain(&ask(3, b"")), Fault::Protocol),
        case("clear, TLS", TLS, tls(&ask(3, b"")), Fault::TlsUntrusted),
        case("md5, plain", PLAIN, plain(&ask(5, b"salt")), Fault::Protocol),
        case("md5, TLS", TLS, tls(&ask(5, b"salt")), Fault::TlsUntrusted),
        case("Kerberos", PLAIN, plain(&ask(2, b"")), Fault::Unsupported),
        case("GSS", TLS, tls(&ask(7, b"")), Fault::Unsupported),
        case("unknown", PLAIN, plain(&ask(4711, b"")), Fault::Unsupported),
        case("nothing, TLS", TLS, tls(&[say(let_in())]), Fault::TlsUntrusted),
        case("unbound", TLS, tls(&[say(scram("SCRAM-SHA-256"))]), Fault::TlsUntrusted),
        case("unknown SASL", PLAIN, plain(&[say(scram("OAUTHBEARER"))]), Fault::Protocol),
        case("no signature", TLS, tls(&[say(scram(both)), none]), Fault::Protocol),
        case("bad, TLS", TLS, tls(&[say(scram(both)), bad.clone()]), Fault::Protocol),
        case("bad, plain", PLAIN, plain(&[say(scram("SCRAM-SHA-256")), bad]), Fault::Protocol),
        case(
            "in halfway",
            TLS,
            tls(&[say(scram(both)), Step::Hear, say(let_in())]),
            Fault::Protocol,
        ),
        case("2^31", PLAIN, plain(&[say(scram(both)), many("2147483648")]), Fault::Protocol),
        case("100001", PLAIN, plain(&[say(scram(both)), many("100001")]), Fault::Protocol),
        case("none", PLAIN, plain(&[say(scram(both)), many("x")]), Fault::Protocol),
    ]
}

fn servers_that_send_too_much() -> Vec<Case> {
    let row = [&u16::to_be_bytes(1)[..], &u32::to_be_bytes(1000), &[b'x'; 1000]].concat();
    let announced = |tag: u8, length: u32| [&[tag][..], &length.to_be_bytes()].concat();
    let notice = frame(b'N', format!("SNOTICE\0C00000\0M{SAID}\0\0").as_bytes());
    let status = frame(b'S', b"x\0kvc_server_said\0");
    vec![
        case(
            "1 GiB row",
            PLAIN,
            later(&[say(announced(b'D', 1 << 30)), Step::Wait]),
            Fault::Protocol,
        ),
        case("rows", PLAIN, later(&[Step::Repeat(frame(b'D', &row))]), Fault::Protocol),
        case("notices", PLAIN, later(&[Step::Repeat(notice.clone())]), Fault::Protocol),
        case("early notices", PLAIN, plain(&[Step::Repeat(notice)]), Fault::Protocol),
        case(
            "statuses",
            PLAIN,
            plain(&[say(authentication(0, b"")), Step::Repeat(status)]),
            Fault::Protocol,
        ),
        case("negative", PLAIN, plain(&[say(announced(b'R', u32::MAX))]), Fault::Protocol),
        case("zero", PLAIN, plain(&[say(announced(b'R', 0)), Step::Wait]), Fault::Protocol),
        case("long", PLAIN, plain(&[say(announced(b'R', 1 << 16)), Step::Wait]), Fault::Protocol),
        case("short", PLAIN, plain(&[say(frame(b'R', b"ab"))]), Fault::Protocol),
        case(
            "garbage row",
            PLAIN,
            later(&[say(frame(b'Z', b"T")), Step::Hear, say(frame(b'T', &[255; 40])), Step::Wait]),
            Fault::Protocol,
        ),
        case("unknown tag", PLAIN, later(&[say(frame(b'?', b"")), Step::Wait]), Fault::Protocol),
    ]
}

fn other_servers() -> Vec<Case> {
    let full = SslMode::VerifyFull;
    let strip = [Step::Hear, say("N"), Step::Hear];
    let injected = [say([b"S".to_vec(), authentication(3, b"")].concat()), Step::Tls];
    let mut cases = vec![
        case("stripped", TLS, strip.to_vec(), Fault::TlsNotOffered),
        case("stripped, full", full, strip.to_vec(), Fault::TlsNotOffered),
        case("error for TLS", TLS, plain(&[say(error("00000"))]), Fault::Protocol),
        case("injected", TLS, plain(&injected), Fault::Protocol),
        case("unknown authority", full, tls(&[say(let_in())]), Fault::TlsUntrusted),
        case(
            "unknown authority, ca",
            SslMode::VerifyCa,
            tls(&[say(let_in())]),
            Fault::TlsUntrusted,
        ),
        case("refused", PLAIN, plain(&[say(error("28P01"))]), Fault::AdminRejected),
        case("no state", PLAIN, plain(&[say(error("<scri"))]), Fault::Protocol),
        case("refused later", PLAIN, later(&[say(error("42501"))]), Fault::Privilege),
        case("full", PLAIN, plain(&[say(error("53300"))]), Fault::Unreachable),
    ];
    for (name, said) in strangers() {
        cases.push(case(name, PLAIN, vec![say(said.clone()), Step::Wait], Fault::Protocol));
        cases.push(case(name, TLS, vec![say(said), Step::Wait], Fault::Protocol));
    }
    cases
}

fn slow_servers() -> Vec<Case> {
    let slow = authentication(10, &[b'x'; 200]);
    let cut = authentication(10, b"SCRAM-SHA-256\0\0");
    let cut = say(&cut[..cut.len() / 2]);
    vec![
        case("silent", PLAIN, vec![Step::Wait], Fault::Unreachable),
        case("silent, TLS", TLS, vec![Step::Wait], Fault::Unreachable),
        case("silent in TLS", TLS, tls(&[Step::Wait]), Fault::Unreachable),
        case("half of TLS", TLS, plain(&[say("S"), Step::Hear, Step::Wait]), Fault::Unreachable),
        case("drip", PLAIN, plain(&[Step::Drip(slow.clone())]), Fault::Unreachable),
        case("drip in TLS", TLS, tls(&[Step::Drip(slow)]), Fault::Unreachable),
        case("gone", PLAIN, vec![], Fault::Unreachable),
        case("gone, TLS", TLS, vec![], Fault::Unreachable),
        case("gone before TLS", TLS, plain(&[]), Fault::Unreachable),
        case("gone for TLS", TLS, plain(&[say("S")]), Fault::Unreachable),
        case("gone in TLS", TLS, tls(&[]), Fault::Unreachable),
        case("gone after start", PLAIN, plain(&[]), Fault::Unreachable),
        case("cut", PLAIN, vec![Step::Hear, cut.clone()], Fault::Unreachable),
        case("cut in TLS", TLS, tls(&[cut]), Fault::Unreachable),
        case("gone when in", PLAIN, plain(&[say(let_in())]), Fault::Unreachable),
        case("gone later", PLAIN, later(&[]), Fault::Unreachable),
    ]
}

/// Builds the script of a server that accepts every login and reports all privileges.
fn permissive(username: &str) -> Vec<Step> {
    let done = |tag: &[u8]| [frame(b'C', tag), frame(b'Z', b"T")].concat();
    let column = |kind: u32, size: i16| {
        let kind = [&kind.to_be_bytes()[..], &size.to_be_bytes(), &[255; 4], &[0, 1]].concat();
        [&b"x\0\0\0\0\0\0\0"[..], &kind].concat()
    };
    let columns = [column(25, -1), column(16, 1), column(16, 1), column(16, 1)].concat();
    let length = u32::try_from(username.len()).unwrap().to_be_bytes();
    let values = [&length[..], username.as_bytes(), &[0, 0, 0, 1, 1].repeat(2), &[0, 0, 0, 1, 0]];
    let answer = [
        frame(b'1', b""),
        frame(b'2', b""),
        frame(b'T', &[&[0, 4][..], &columns].concat()),
        frame(b'D', &[&[0, 4][..], &values.concat()].concat()),
        done(b"SELECT 1\0"),
    ];
    tls(&[
        say(let_in()),
        Step::Hear,
        say(done(b"BEGIN\0")),
        Step::Hear,
        say(answer.concat()),
        Step::Hear,
        say(done(b"ROLLBACK\0")),
    ])
}

/// Checks that a rotated user's login succeeds on a server that requests no password, and that the
/// administrator's login is refused there.
#[tokio::test]
async fn a_server_without_authentication_accepts_a_user_but_not_the_administrator() {
    let case = case("open", TLS, permissive("kv_x_a"), Fault::TlsUntrusted);
    let meeting = Meeting::begin(DatabaseKind::POSTGRESQL, &case).await;
    let password = crate::crypto::Plaintext::new("kvc_wrong".into()).unwrap();
    let login = Login { username: "kv_x_a".into(), password };
    let (rotator, target) = (&meeting.rotator, &meeting.target);

    rotator.verify(target, &login, PermissionLevel::Read).await.unwrap();
    let error = rotator.test(target).await.unwrap_err();

    assert_eq!(error.fault, Fault::TlsUntrusted);
}

#[tokio::test]
async fn no_server_gets_a_password_on_request() {
    meet_all(DatabaseKind::POSTGRESQL, servers_that_ask_for_the_password()).await;
}

#[tokio::test]
async fn endless_responses_do_not_fill_the_memory() {
    meet_all(DatabaseKind::POSTGRESQL, servers_that_send_too_much()).await;
}

#[tokio::test]
async fn other_servers_are_refused() {
    meet_all(DatabaseKind::POSTGRESQL, other_servers()).await;
}

#[tokio::test]
async fn slow_servers_reach_a_timeout() {
    meet_all(DatabaseKind::POSTGRESQL, slow_servers()).await;
}
