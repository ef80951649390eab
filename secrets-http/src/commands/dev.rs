//! `dev`: everything in one folder, for development. It signs tokens for whoever asks, so it
//! listens on this machine only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrets_core::model::{Clock, Origin};
use secrets_core::crypto::random;
use secrets_core::egress::EgressPolicy;
use secrets_core::jwt::DevKey;
use secrets_core::users::SyncUser;
use secrets_core::engine::Ports;
use secrets_core::service::Service;
use zeroize::Zeroizing;

use super::{open, say, serve};
use crate::config::{Database, Dev, DevToken, Exit, Failure};
use crate::identity::FixedVerifier;

/// What webhooks and rotations may reach unless it is said: this machine.
const LOOPBACK: &str = "127.0.0.0/8, ::1, localhost";

const DATABASE: &str = "secrets.db";
const ROOT_KEY: &str = "root.key";
const SIGNING_KEY: &str = "signing.key";
const PERSON: &str = "dev@example.com";

pub(super) async fn run(
    mut dev: Dev,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&dev.logs, &unknown)?;
    let folder = dev.data_dir.as_path();
    make_private_folder(folder)?;
    let database = folder.join(DATABASE);
    // A new key for data that is there would make it unreadable without a word.
    if database.exists() && !folder.join(ROOT_KEY).exists() {
        let message =
            format!("{} is there and its key is not: {ROOT_KEY} was lost", database.display());
        return Err(Failure::new(Exit::OrphanData, message));
    }
    let root = key(&folder.join(ROOT_KEY), Missing::Made)?;
    let signer = signer(folder, Missing::Made)?;

    // What is tried out first is on the same machine.
    if dev.service.options.egress == EgressPolicy::default() {
        dev.service.options.egress = EgressPolicy::parse(LOOPBACK)
            .map_err(|_| Failure::new(Exit::Configuration, "the addresses of this machine"))?;
    }
    let verifier = FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&clock));
    let ports = Ports {
        store: open::store(&Database::Sqlite(database)).await?,
        clock: Arc::clone(&clock),
        root: open::root_key(root),
        identity: Arc::new(verifier),
        mail: open::mail(dev.service.mail.as_ref())?,
        rotators: Some(open::rotators(&dev.service.options, &clock)),
        webhooks: Some(open::webhooks(&dev.service.options.egress)?),
    };
    let service = open::only_service(ports, dev.service.options.clone()).await?;
    let token = sign(&signer, PERSON, clock.as_ref())?;
    sign_in(&service, &token).await?;
    let listener = open::listener(dev.service.listen).await?;
    let address = listener.local_addr().map_or(dev.service.listen, |address| address);
    say(&greeting(&format!("http://{address}"), &token));
    serve::until_stopped(service, listener, None, dev.service, clock).await
}

/// `dev token`: only signs. Whoever gets the token signs in with it.
pub(super) fn token(token: &DevToken, clock: &dyn Clock) -> Result<(), Failure> {
    let signer = signer(&token.data_dir, Missing::Refused)?;
    say(&sign(&signer, &token.email, clock)?);
    Ok(())
}

fn greeting(address: &str, token: &str) -> String {
    format!(
        "secrets is ready. {PERSON} is signed in for 24 hours. Paste this to begin:\n\n\
         export SECRETS_URL={address}\n\
         export SECRETS_TOKEN={token}\n\
         curl -s -H \"Authorization: Bearer $SECRETS_TOKEN\" $SECRETS_URL/api/v1/users/me\n"
    )
}

async fn sign_in(service: &Service, token: &str) -> Result<(), Failure> {
    let failed = |error: secrets_core::model::Error| {
        Failure::new(Exit::Database, format!("cannot sign in {PERSON}: {error}"))
    };
    let caller = service.authenticate(token, Origin::default()).await.map_err(failed)?;
    service.perform(&caller, SyncUser).await.map_err(failed)?;
    Ok(())
}

fn sign(signer: &DevKey, email: &str, clock: &dyn Clock) -> Result<String, Failure> {
    signer.sign(email, clock.now()).map_err(|error| unusable_key(&error.to_string()))
}

fn signer(folder: &Path, missing: Missing) -> Result<DevKey, Failure> {
    let seed = key(&folder.join(SIGNING_KEY), missing)?;
    DevKey::from_seed(seed).map_err(|error| unusable_key(&error.to_string()))
}

/// What to do where there is no key yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Made,
    Refused,
}

/// The 32 bytes in a file, in base64; a file that only its owner can read.
fn key(path: &Path, missing: Missing) -> Result<Zeroizing<[u8; 32]>, Failure> {
    let mut text = Zeroizing::new(String::new());
    match File::open(path) {
        Ok(mut file) => {
            file.read_to_string(&mut text).map_err(|error| unusable_file(path, &error))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound && missing == Missing::Made => {
            return make_key(path).map_err(|error| unusable_file(path, &error));
        }
        Err(error) => return Err(unusable_file(path, &error)),
    }
    let bytes = Zeroizing::new(STANDARD.decode(text.trim()).unwrap_or_default());
    let mut key = Zeroizing::new([0; 32]);
    if bytes.len() != key.len() {
        return Err(unusable_key(&format!("{} must hold 32 bytes in base64", path.display())));
    }
    key.copy_from_slice(&bytes);
    Ok(key)
}

/// Writes a new key beside and moves it into place: a crash leaves none, not half of one.
fn make_key(path: &Path) -> io::Result<Zeroizing<[u8; 32]>> {
    let key = Zeroizing::new(random());
    let half = path.with_extension("new");
    let _ = fs::remove_file(&half);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&half)?;
    let text = Zeroizing::new(STANDARD.encode(key.as_slice()));
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&half, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(key)
}

fn make_private_folder(path: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| unusable_file(path, &error))
}

fn unusable_file(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Configuration, format!("{}: {error}", path.display()))
}

fn unusable_key(reason: &str) -> Failure {
    Failure::new(Exit::Configuration, reason)
}
