//! Fuzz target of the messages from a PostgreSQL server.

use super::{AUTHENTICATION, Frames, MAX_ITERATIONS, Seen, Trust};
use crate::ports::rotator::Fault;

/// Fuzz target: checks messages from a server. The first byte of the input selects the trust in the
/// server, the second is the number of bytes that arrive at once, and the rest are the messages.
pub fn postgres_login(bytes: &[u8]) {
    let [trust, size, messages @ ..] = bytes else { return };
    let trust = [Trust::Proven, Trust::Bound, Trust::Plain, Trust::Open][usize::from(trust % 4)];
    let size = usize::from(*size).max(1);
    let whole = verdict(trust, [messages]);
    assert_eq!(whole, verdict(trust, messages.chunks(size)), "the verdict depends on the pieces");
    if let (Ok(()), let_in) = whole {
        accepted(trust, messages, let_in);
    }
}

/// Checks messages that arrive in these pieces. Returns the result, and true if the server
/// requested no authentication.
fn verdict<'a>(
    trust: Trust,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<(), Fault>, bool) {
    let (seen, mut frames) = (Seen::default(), Frames::new(trust));
    let verdict = pieces.into_iter().try_for_each(|piece| frames.read(piece, &seen));
    (verdict, seen.let_in())
}

/// Checks that each complete message of an accepted login is permitted.
fn accepted(trust: Trust, mut messages: &[u8], let_in: bool) {
    let mut has_asked = false;
    while let [tag, a, b, c, d, rest @ ..] = messages {
        let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
        assert!((4..=1024 * 1024).contains(&length), "a message has a valid length");
        let Some((body, rest)) = rest.split_at_checked(length - 4) else { return };
        if *tag == AUTHENTICATION {
            has_asked |= permitted(trust, body, has_asked, let_in);
        }
        messages = rest;
    }
}

/// Checks that a request for authentication is permitted. Returns true if the server requests the
/// password or a proof of it.
fn permitted(trust: Trust, body: &[u8], has_asked: bool, let_in: bool) -> bool {
    let (kind, body) = body.split_at(4);
    match kind {
        [0, 0, 0, 0] => assert!(has_asked || (let_in && trust != Trust::Bound)),
        [0, 0, 0, 3 | 5] => {
            assert_eq!(trust, Trust::Proven, "the password goes to a proven server only");
            return true;
        }
        [0, 0, 0, 10] => {
            let name: &[u8] = b"SCRAM-SHA-256-PLUS";
            let binds = body.windows(name.len()).any(|part| part == name);
            assert!(binds || trust != Trust::Bound, "the proof is bound to the channel");
            return true;
        }
        [0, 0, 0, 11] => {
            let text = String::from_utf8_lossy(body);
            let count = text.split(',').find_map(|part| part.strip_prefix("i="));
            let count = count.and_then(|count| count.parse::<u64>().ok());
            assert!(count.is_some_and(|count| count <= MAX_ITERATIONS));
        }
        [0, 0, 0, 12] => assert!(body.starts_with(b"v=")),
        _ => panic!("an unknown request for authentication is accepted"),
    }
    assert!(trust != Trust::Open || kind == [0; 4], "a second login asks for nothing");
    false
}
