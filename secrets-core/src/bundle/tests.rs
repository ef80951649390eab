use std::io::{Cursor, Read, Seek, SeekFrom};

use chrono::TimeDelta;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::format::{Header, MAC, PREFIX, SIGNATURE};
use super::seal::signed;
use super::*;
use crate::crypto::{Passphrase, Plaintext};

const NOW: i64 = 1_767_225_600;

fn now() -> Time {
    Time::from_timestamp(NOW, 0).unwrap()
}

fn metadata() -> BundleMetadata {
    let (project, environment) = (Uuid::from_u128(0xaa).into(), Uuid::from_u128(0xbb).into());
    let created_at = now() + TimeDelta::microseconds(7);
    BundleMetadata { project, environment, seq: 3, created_at, expires_at: None }
}

fn secret(key: &str, value: &str) -> BundledSecret {
    BundledSecret {
        key: key.parse().unwrap(),
        value: Plaintext::new(value.to_owned()).unwrap(),
        description: Some(Plaintext::new("what \"it\" is {for}".to_owned()).unwrap()),
        version: 2,
        inherited_from: Some("staging".parse().unwrap()),
        updated_at: now(),
    }
}

fn secrets() -> Vec<BundledSecret> {
    let plain = BundledSecret { description: None, inherited_from: None, ..secret("A", "kvc_a") };
    vec![plain, secret("B", "kvc_\u{1}\\\"}]{[é日\n"), secret("C", "")]
}

/// Creates 400 secrets, which fill several chunks and have values that cross chunk boundaries.
fn many() -> Vec<BundledSecret> {
    let value = |at: usize| format!("kvc_{}", "\"\\{".repeat(at));
    (0..400).map(|at| secret(&format!("KEY_{at:04}"), &value(at))).collect()
}

struct Made {
    file: Vec<u8>,
    key: BundleKey,
    signer: Signer,
}

fn made(metadata: &BundleMetadata, secrets: &[BundledSecret]) -> Made {
    let (key, signing) = (BundleKey::generate(), SigningKey::generate());
    let file = seal(metadata, secrets, &Recipients::key(&key), &signing).unwrap();
    Made { file, key, signer: signing.signer() }
}

impl Made {
    fn opener(&self) -> Opener {
        let unlock = Unlock::Key(self.key.reveal().parse().unwrap());
        Opener { unlock, signer: Some(self.signer), at_least: 0, now: now() }
    }
}

fn all(opener: &Opener, file: &[u8]) -> Result<Vec<BundledSecret>, &'static str> {
    let bundle = opener.open_bytes(file).map_err(|refused| refused.kind())?;
    bundle.collect::<Result<_, _>>().map_err(|refused| refused.kind())
}

#[test]
fn a_bundle_opens_to_the_sealed_secrets() {
    for sealed in [Vec::new(), secrets(), many()] {
        let made = made(&metadata(), &sealed);

        let opened = made.opener().open_bytes(&made.file).unwrap();

        assert_eq!((opened.metadata(), opened.signer()), (&metadata(), made.signer));
        assert_eq!(opened.collect::<Result<Vec<_>, _>>().unwrap(), sealed);
        assert!(!made.file.windows(4).any(|bytes| bytes == b"kvc_"));
    }
}

#[test]
fn a_bundle_is_opened_at_the_current_position_of_its_source() {
    let made = made(&metadata(), &many());
    let mut file = b"before it".to_vec();
    file.extend_from_slice(&made.file);
    let mut source = Cursor::new(file);
    source.seek(SeekFrom::Start(9)).unwrap();

    let opened = made.opener().open(source).unwrap();

    assert_eq!(opened.collect::<Result<Vec<_>, _>>().unwrap(), many());
}

#[test]
fn a_bundle_can_be_read_again() {
    let made = made(&metadata(), &many());
    let mut opened = made.opener().open_bytes(&made.file).unwrap();

    for read in [0, 3, 399, 400, 401] {
        assert_eq!(opened.by_ref().take(read).flatten().count(), read.min(400));
        opened.rewind().unwrap();
    }

    assert_eq!(opened.collect::<Result<Vec<_>, _>>().unwrap(), many());
}

#[test]
fn no_bit_of_a_bundle_can_be_changed() {
    let made = made(&metadata(), &secrets());

    for place in 0..made.file.len() {
        let mut changed = made.file.clone();
        changed[place] ^= 1;
        assert!(all(&made.opener(), &changed).is_err(), "byte {place}");
    }
}

#[test]
fn no_byte_of_a_bundle_can_be_left_out_or_added() {
    let made = made(&metadata(), &secrets());

    for length in 0..made.file.len() {
        assert!(all(&made.opener(), &made.file[..length]).is_err(), "{length} bytes");
    }
    let longer = [made.file.as_slice(), b"\0"].concat();
    assert_eq!(all(&made.opener(), &longer), Err("tampered"));
}

#[test]
fn another_key_opens_nothing() {
    let made = made(&metadata(), &secrets());

    for unlock in [
        Unlock::Key(BundleKey::generate()),
        Unlock::Private(RecipientKey::generate()),
        Unlock::Passphrase(Passphrase::new("correct horse".to_owned()).unwrap()),
    ] {
        let opener = Opener { unlock, ..made.opener() };
        assert_eq!(all(&opener, &made.file), Err("no_recipient"));
    }
}

#[test]
fn a_bundle_opens_for_each_recipient() {
    let (one, two, signing) =
        (RecipientKey::generate(), RecipientKey::generate(), SigningKey::generate());
    let passphrase = || Passphrase::new("correct horse".to_owned()).unwrap();
    let wanted = vec![
        NewRecipient::X25519 { public_key: one.public() },
        NewRecipient::Passphrase { passphrase: passphrase() },
        NewRecipient::Raw {},
        NewRecipient::X25519 { public_key: two.public() },
    ];
    let (recipients, key) = Recipients::prepare(wanted).unwrap();
    let file = seal(&metadata(), &secrets(), &recipients, &signing).unwrap();

    for unlock in [
        Unlock::Private(one),
        Unlock::Private(two),
        Unlock::Passphrase(passphrase()),
        Unlock::Key(key.unwrap()),
    ] {
        let opener = Opener { unlock, signer: Some(signing.signer()), at_least: 0, now: now() };
        assert_eq!(all(&opener, &file), Ok(secrets()), "{:?}", opener.unlock);
    }
}

#[test]
fn a_recipient_cannot_occur_twice() {
    let public_key = RecipientKey::generate().public();
    let passphrase = || Passphrase::new("correct horse".to_owned()).unwrap();
    let public = |key| NewRecipient::X25519 { public_key: key };

    for wanted in [
        vec![],
        (0..17).map(|_| public(RecipientKey::generate().public())).collect(),
        vec![NewRecipient::Raw {}, NewRecipient::Raw {}],
        vec![public(public_key), public(public_key)],
        vec![
            NewRecipient::Passphrase { passphrase: passphrase() },
            NewRecipient::Passphrase { passphrase: passphrase() },
        ],
    ] {
        assert!(Recipients::prepare(wanted).is_err());
    }
}

#[test]
fn the_signer_must_be_the_expected_one() {
    let made = made(&metadata(), &secrets());
    let other = Some(SigningKey::generate().signer());

    assert_eq!(all(&Opener { signer: other, ..made.opener() }, &made.file), Err("untrusted"));
    assert_eq!(all(&Opener { signer: None, ..made.opener() }, &made.file), Ok(secrets()));
}

/// Returns the bundle with a modified header, signed with a new signing key. This is the most that
/// an attacker who cannot open the bundle can do.
fn signed_anew(file: &[u8], change: impl FnOnce(&mut BundleMetadata)) -> Vec<u8> {
    let length = u32::from_be_bytes(file[PREFIX - 4..PREFIX].try_into().unwrap());
    let (head, rest) = file.split_at(PREFIX + usize::try_from(length).unwrap());
    let (mac, chunks) = (&rest[..MAC], &rest[MAC + SIGNATURE..]);
    let other_key = SigningKey::generate();
    let mut header = Header::read(&head[PREFIX..]).unwrap();
    header.signer = other_key.signer().bytes();
    change(&mut header.metadata);
    let header = header.write().unwrap();
    let length = u32::try_from(header.len()).unwrap().to_be_bytes();
    let head = [&head[..PREFIX - 4], &length, &header, mac].concat();
    let message = signed(&Sha256::digest(&head).into(), &Sha256::digest(chunks).into());
    [head.as_slice(), &other_key.sign(&message), chunks].concat()
}

#[test]
fn a_bundle_with_the_signature_of_another_signer_is_tampered() {
    let passphrase = || Passphrase::new("correct horse".to_owned()).unwrap();
    let wanted = vec![NewRecipient::Raw {}, NewRecipient::Passphrase { passphrase: passphrase() }];
    let (recipients, key) = Recipients::prepare(wanted).unwrap();
    let key = key.unwrap().reveal();
    let expires_at = Some(now() + TimeDelta::seconds(60));
    let expiring = BundleMetadata { expires_at, ..metadata() };
    let file = seal(&expiring, &secrets(), &recipients, &SigningKey::generate()).unwrap();

    for change in [
        |metadata: &mut BundleMetadata| metadata.expires_at = None,
        |metadata: &mut BundleMetadata| metadata.expires_at = Some(now() + TimeDelta::days(365)),
        |metadata: &mut BundleMetadata| metadata.seq += 1,
        |_: &mut BundleMetadata| {},
    ] {
        let forged = signed_anew(&file, change);
        for unlock in [Unlock::Key(key.parse().unwrap()), Unlock::Passphrase(passphrase())] {
            let opener = Opener { unlock, signer: None, at_least: 0, now: now() };
            assert_eq!(all(&opener, &file), Ok(secrets()));
            assert_eq!(all(&opener, &forged), Err("tampered"));
        }
    }
}

#[test]
fn a_private_key_opens_nothing_unless_a_signer_is_named() {
    let (private, signing) = (RecipientKey::generate(), SigningKey::generate());
    let recipients = Recipients::public_key(private.public());
    let file = seal(&metadata(), &secrets(), &recipients, &signing).unwrap();
    let opener = Opener { unlock: Unlock::Private(private), signer: None, at_least: 0, now: now() };

    assert_eq!(all(&opener, &file), Err("untrusted"));
    let signer = Some(signing.signer());
    assert_eq!(all(&Opener { signer, ..opener }, &file), Ok(secrets()));
}

#[test]
fn a_bundle_expires_at_its_expiry_time() {
    let expires_at = Some(now() + TimeDelta::seconds(60));
    let made = made(&BundleMetadata { expires_at, ..metadata() }, &secrets());
    let at = |seconds| Opener { now: now() + TimeDelta::seconds(seconds), ..made.opener() };

    assert!(all(&at(59), &made.file).is_ok());
    assert_eq!(all(&at(60), &made.file), Err("expired"));
}

#[test]
fn a_bundle_with_a_lower_number_than_required_is_refused() {
    let made = made(&metadata(), &secrets());

    assert!(all(&Opener { at_least: 3, ..made.opener() }, &made.file).is_ok());
    assert_eq!(all(&Opener { at_least: 4, ..made.opener() }, &made.file), Err("stale"));
}

#[test]
fn secrets_that_are_not_by_key_are_not_sealed() {
    let (recipients, signing) = (Recipients::key(&BundleKey::generate()), SigningKey::generate());
    let mut backwards = secrets();
    backwards.reverse();
    let twice = vec![secret("A", "kvc_a"), secret("A", "kvc_b")];

    for wrong in [backwards, twice] {
        assert!(seal(&metadata(), &wrong, &recipients, &signing).is_err());
    }
    let too_high = BundleMetadata { seq: 1 << 53, ..metadata() };
    assert!(seal(&too_high, &[], &recipients, &signing).is_err());
}

#[test]
fn nothing_is_given_after_an_error() {
    /// Byte source whose reads fail in the second pass, after that pass has read the number of
    /// bytes in the third field. The second field is true during that pass.
    struct Breaking(Cursor<Vec<u8>>, bool, usize);
    impl Read for Breaking {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = if self.1 { buffer.len().min(self.2) } else { buffer.len() };
            if most == 0 {
                return Err(std::io::ErrorKind::ConnectionReset.into());
            }
            let read = self.0.read(&mut buffer[..most])?;
            self.2 -= if self.1 { read } else { 0 };
            Ok(read)
        }
    }
    impl Seek for Breaking {
        fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
            self.1 |= matches!(to, SeekFrom::Start(_));
            self.0.seek(to)
        }
    }
    let made = made(&metadata(), &many());
    let source = Breaking(Cursor::new(made.file.clone()), false, 200_000);

    let given: Vec<_> = made.opener().open(source).unwrap().collect();

    let (last, before) = given.split_last().unwrap();
    assert_eq!(last.as_ref().unwrap_err().kind(), "unreadable");
    assert!(!before.is_empty() && before.iter().all(Result::is_ok));
}

#[test]
fn only_valid_texts_are_parsed_as_keys() {
    let (key, private, signing) =
        (BundleKey::generate(), RecipientKey::generate(), SigningKey::generate());
    let (public, signer) = (private.public().to_string(), signing.signer().to_string());

    assert_eq!(key.reveal().parse::<BundleKey>().unwrap().reveal(), key.reveal());
    assert_eq!(private.reveal().parse::<RecipientKey>().unwrap().public(), private.public());
    assert_eq!(public.parse(), Ok(private.public()));
    assert_eq!(signer.parse(), Ok(signing.signer()));
    for text in ["", "scbk_", &key.reveal()[..53], &private.reveal(), &public, &signer] {
        assert!(text.parse::<BundleKey>().is_err());
    }
    assert!(public.parse::<Signer>().is_err() && signer.parse::<PublicKey>().is_err());
    assert!(key.reveal().parse::<RecipientKey>().is_err());
}

#[test]
fn points_of_low_order_are_refused_as_keys() {
    let text = |prefix: &str, bytes: &[u8; 32]| crate::crypto::checked::write(prefix, bytes);
    let mut one = [0; 32];
    one[0] = 1;

    for bytes in [[0; 32], one] {
        assert!(text("scbp_", &bytes).parse::<PublicKey>().is_err());
    }
    assert!(text("scbs_", &one).parse::<Signer>().is_err());
}

#[test]
fn nothing_that_is_secret_is_shown() {
    let made = made(&metadata(), &secrets());
    let opened = made.opener().open_bytes(&made.file).unwrap();
    let private = RecipientKey::generate();

    let shown = format!("{:?} {:?} {opened:?} {private:?}", made.opener(), secrets());

    for hidden in ["kvc_", &made.key.reveal()[5..], &private.reveal()[5..], "what"] {
        assert!(!shown.contains(hidden), "{shown}");
    }
}
