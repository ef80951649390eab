//! `bundle open` and `bundle keygen`: offline commands that need no service.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::Path;

use secrets_core::bundle::{BundleError, BundledSecret, Opened, Opener, RecipientKey, Unlock};
use secrets_core::crypto::{Passphrase, Plaintext};
use secrets_core::formats::{Format, Unfit};
use secrets_core::model::{Clock, SecretKey};
use zeroize::Zeroizing;

use super::say;
use crate::program::config::{Bundle, BundleOpening, Exit, Failure, UnlockFile};

/// Maximum number of bytes read from a file with an encryption key or a passphrase.
const MAX_KEY_FILE_BYTES: u64 = 8_192;

type Source = BufReader<File>;

pub(super) fn run(bundle: &Bundle, clock: &dyn Clock) -> Result<(), Failure> {
    match bundle {
        Bundle::Open(opening) => open(opening, clock),
        Bundle::KeyGen => {
            let key = RecipientKey::generate();
            let text = Zeroizing::new(format!("# {}\n{}", key.public(), *key.reveal()));
            say(&text);
            Ok(())
        }
    }
}

fn open(opening: &BundleOpening, clock: &dyn Clock) -> Result<(), Failure> {
    let unlock = unlock(&opening.unlock)?;
    let (signer, at_least, now) = (opening.signer, opening.at_least, clock.now());
    let opener = Opener { unlock, signer, at_least, now };
    let file = File::open(&opening.file)
        .map_err(|error| usage(format!("{}: {error}", opening.file.display())))?;
    let mut bundle = opener.open(BufReader::new(file)).map_err(|refused| failure(&refused))?;
    match opening.format {
        // These formats write each secret independently, so the secrets are streamed and not kept
        // in memory. The first pass checks that all of them can be written, before any is printed.
        Format::Dotenv | Format::Docker | Format::Shell | Format::Yaml => {
            for_each_text(&mut bundle, opening, |_| Ok(()))?;
            bundle.rewind().map_err(|refused| failure(&refused))?;
            let count = for_each_text(&mut bundle, opening, print)?;
            if count == 0 { print_all(&[], opening) } else { Ok(()) }
        }
        Format::Json | Format::Csv | Format::Kubernetes => {
            let secrets = bundle.map(|secret| secret.map(pair)).collect::<Result<Vec<_>, _>>();
            print_all(&secrets.map_err(|refused| failure(&refused))?, opening)
        }
    }
}

/// Formats each secret separately, passes the text of each secret to `done`, and returns the number
/// of secrets.
fn for_each_text(
    opened: &mut Opened<Source>,
    opening: &BundleOpening,
    mut done: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    let mut count = 0;
    for secret in opened {
        let secret = secret.map(pair).map_err(|refused| failure(&refused))?;
        let text =
            opening.format.write(&[secret], &opening.name).map_err(|keys| format_error(&keys))?;
        done(&text)?;
        count += 1;
    }
    Ok(count)
}

fn print_all(secrets: &[(SecretKey, Plaintext)], opening: &BundleOpening) -> Result<(), Failure> {
    let text = opening.format.write(secrets, &opening.name).map_err(|keys| format_error(&keys))?;
    print(&text)
}

fn pair(secret: BundledSecret) -> (SecretKey, Plaintext) {
    (secret.key, secret.value)
}

fn print(text: &str) -> Result<(), Failure> {
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|error| usage(format!("standard output: {error}")))
}

fn unlock(file: &UnlockFile) -> Result<Unlock, Failure> {
    let (path, unlock) = match file {
        UnlockFile::Key(path) => (path, read_line(path, true)?.parse().map(Unlock::Key)),
        UnlockFile::Private(path) => (path, read_line(path, true)?.parse().map(Unlock::Private)),
        UnlockFile::Passphrase(path) => {
            let text = read_line(path, false)?.as_str().to_owned();
            (path, Passphrase::new(text).map(Unlock::Passphrase))
        }
    };
    unlock.map_err(|broken| usage(format!("{}: {broken}", path.display())))
}

/// Reads a file, or standard input for `-`, that must contain exactly one line. Comment lines are
/// skipped if they are allowed.
fn read_line(path: &Path, may_have_comments: bool) -> Result<Zeroizing<String>, Failure> {
    let mut text =
        Zeroizing::new(String::with_capacity(MAX_KEY_FILE_BYTES.try_into().unwrap_or_default()));
    let read = if path == Path::new("-") {
        io::stdin().take(MAX_KEY_FILE_BYTES).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MAX_KEY_FILE_BYTES).read_to_string(&mut text))
    };
    read.map_err(|error| usage(format!("{}: {error}", path.display())))?;
    let mut lines = text.lines().filter(|line| !(may_have_comments && line.starts_with('#')));
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(Zeroizing::new(line.to_owned())),
        _ => Err(usage(format!("{}: must contain exactly one line", path.display()))),
    }
}

fn usage(message: String) -> Failure {
    Failure::new(Exit::Usage, message)
}

fn format_error(keys: &[Unfit]) -> Failure {
    let messages = keys.iter().map(|Unfit { key, rule }| match key {
        Some(key) => format!("{key} {rule}"),
        None => (*rule).to_owned(),
    });
    usage(messages.collect::<Vec<_>>().join("; "))
}

fn failure(refused: &BundleError) -> Failure {
    let code = match refused {
        BundleError::NoRecipient => Exit::RootKey,
        BundleError::Unreadable(_) => Exit::Usage,
        _ => Exit::Tampered,
    };
    Failure::new(code, format!("{refused} ({})", refused.kind()))
}
