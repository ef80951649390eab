//! `dev`: runs the service for development, with all its data in one directory.
//!
//! The signing key in that directory can sign tokens for any user, so the service listens on
//! loopback addresses only.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrets_core::Service;
use secrets_core::crypto::random;
use secrets_core::egress::EgressPolicy;
use secrets_core::engine::Ports;
use secrets_core::jwt::{DevKey, FixedVerifier};
use secrets_core::model::{BaseUrl, Clock, Origin};
use secrets_core::runtime::{TokioOffload, TokioTimer};
use secrets_core::store::Location;
use secrets_core::users::SyncUser;
use tokio::net::TcpStream;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::{open, root_key, say, serve};
use crate::adapters::identity::DevLinks;
use crate::atomic_file::{Access, AtomicFile};
use crate::program::config::{
    DEV_USER, DatabaseSettings, Dev, DevToken, Exit, Failure, ServiceSettings,
};
use crate::serve::browser_sign_in::BrowserSignIn;
use crate::serve::memory::{MemoryBudget, WorkBudget};

/// Destinations to which webhooks and rotations may connect by default: this machine.
const LOOPBACK_DESTINATIONS: &str = "127.0.0.0/8, ::1, localhost";

const DATABASE: &str = "secrets.db";
const ROOT_KEY: &str = "root.key";
const SIGNING_KEY: &str = "signing.key";
const GITIGNORE: &str = ".gitignore";

/// Name of the file that contains the address of the running service, for `dev link`.
const ADDRESS: &str = "address";

/// Timeout of `dev link` for connecting to the service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn run(
    mut dev: Dev,
    unknown: Vec<String>,
    clock: Arc<dyn Clock>,
) -> Result<(), Failure> {
    open::log(&dev.logs, &unknown)?;
    let folder = dev.data_dir.as_path();
    create_private_directory(folder)?;
    ignore_in_git(folder)?;
    let path = folder.join(DATABASE);
    // A new root key would silently make the existing data unreadable.
    if path.exists() && !folder.join(ROOT_KEY).exists() {
        let message = format!("{} exists, but its root key {ROOT_KEY} is missing", path.display());
        return Err(Failure::new(Exit::OrphanData, message));
    }
    let root = read_key(&folder.join(ROOT_KEY), Missing::Create)?;
    let signer = signer(folder, Missing::Create)?;

    // During development, webhooks and databases usually are on the same machine.
    if dev.service.options.egress == EgressPolicy::default() {
        dev.service.options.egress = EgressPolicy::parse(LOOPBACK_DESTINATIONS).map_err(|_| {
            Failure::new(Exit::Configuration, "invalid default for the allowed addresses")
        })?;
    }
    let verifier = FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&clock));
    let store = open::store(&DatabaseSettings::of(Location::Sqlite(path))).await?;
    let memory = Arc::new(MemoryBudget::new(dev.service.memory_budget));
    let ports = Ports {
        clock: Arc::clone(&clock),
        identity: Some(Arc::new(verifier)),
        mail: open::mail(dev.service.mail.as_ref())?,
        rotators: Some(open::rotators(&dev.service.options, &clock)),
        webhooks: Some(open::webhooks(&dev.service.options.egress)?),
        offload: Arc::new(TokioOffload),
        memory: Some(Arc::new(WorkBudget(Arc::clone(&memory)))),
        timer: Some(Arc::new(TokioTimer)),
        ..Ports::new(Arc::clone(&store), root_key::of_bytes(root))
    };
    dev.service.options.max_answer_bytes = MemoryBudget::max_answer_bytes(memory.size());
    let service = open::only_service(ports, dev.service.options.clone()).await?;
    let token = sign(&signer, DEV_USER, clock.as_ref())?;
    sign_in(&service, &token).await?;
    let listener = open::listener(dev.service.listen).await?;
    let address = listener.local_addr().map_or(dev.service.listen, |address| address);
    let base = base_url(&mut dev.service, address)?;
    write_address(&dev.data_dir.join(ADDRESS), address, &base)?;
    let started = clock.now();
    let link = link_to(&base, &signer.code(DEV_USER, started));
    say(&greeting(&base, &link, &token));
    let links = BrowserSignIn::Dev(DevLinks::new(signer, started));
    let served = (service, store, memory, links);
    serve::until_stopped(served, listener, None, dev.service, clock).await
}

/// Returns the base URL of links: the configured URL, or else the URL of the listener, which is
/// then also stored in the settings. A page opened under another host name of this machine, such as
/// `localhost` instead of `127.0.0.1`, then counts as a page of another site.
fn base_url(settings: &mut ServiceSettings, address: SocketAddr) -> Result<BaseUrl, Failure> {
    if let Some(base) = &settings.public_url {
        return Ok(base.clone());
    }
    let base: BaseUrl = format!("http://{address}")
        .parse()
        .map_err(|rule: &str| Failure::new(Exit::Configuration, format!("--listen: {rule}")))?;
    settings.public_url = Some(base.clone());
    Ok(base)
}

/// Writes the address and the base URL of the running service to a file.
fn write_address(path: &Path, address: SocketAddr, base: &BaseUrl) -> Result<(), Failure> {
    AtomicFile::create(path, Access::Private)
        .and_then(|file| file.replace(format!("{address}\n{base}\n").as_bytes()))
        .map_err(|error| unusable_file(path, &error))
}

fn link_to(base: &BaseUrl, code: &str) -> String {
    base.to(&format!("/sign-in/dev?code={code}"))
}

/// Runs `dev link`: prints a link that signs a browser in to the running service as the user
/// `user`.
pub(super) async fn link(user: &DevToken, clock: &dyn Clock) -> Result<(), Failure> {
    let folder = user.data_dir.display();
    let stopped = || {
        let message = format!(
            "no service is running with the data in {folder}: run `secrets-http dev` first, or name its data with --data-dir"
        );
        Failure::new(Exit::Configuration, message)
    };
    let text = fs::read_to_string(user.data_dir.join(ADDRESS)).map_err(|_| stopped())?;
    let (address, base) = text.trim_end().split_once('\n').ok_or_else(stopped)?;
    let connection = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
    drop(connection.ok().and_then(Result::ok).ok_or_else(stopped)?);
    let base = base.parse().map_err(|_| stopped())?;
    let signer = signer(&user.data_dir, Missing::Fail)?;
    say(&link_to(&base, &signer.code(&user.email, clock.now())));
    Ok(())
}

/// Runs `dev token`: signs a token for a user and prints it. The user account is created when the
/// token is first used.
pub(super) fn token(token: &DevToken, clock: &dyn Clock) -> Result<(), Failure> {
    if !token.data_dir.join(SIGNING_KEY).exists() {
        let folder = token.data_dir.display();
        let message = format!(
            "{folder} has no signing key: run `secrets-http dev` in this folder first, or name its data with --data-dir"
        );
        return Err(Failure::new(Exit::Configuration, message));
    }
    let signer = signer(&token.data_dir, Missing::Fail)?;
    say(&sign(&signer, &token.email, clock)?);
    Ok(())
}

fn greeting(address: &BaseUrl, link: &str, token: &str) -> String {
    format!(
        "secrets is ready. To sign in as {DEV_USER} with a browser, open this link. It works once and for 5 minutes;\n\
         `secrets-http dev link` prints another.\n\n    {link}\n\n\
         In a shell, paste these lines. The token is valid for 24 hours.\n\n\
         export SECRETS_URL={address}\n\
         export SECRETS_TOKEN={token}\n\
         curl -s -H \"Authorization: Bearer $SECRETS_TOKEN\" $SECRETS_URL/api/v1/users/me\n"
    )
}

async fn sign_in(service: &Service, token: &str) -> Result<(), Failure> {
    let sign_in_error = |error: secrets_core::model::Error| {
        Failure::new(Exit::Database, format!("cannot sign in {DEV_USER}: {error}"))
    };
    let caller = service.authenticate(token, Origin::default()).await.map_err(sign_in_error)?;
    service.run(&caller, SyncUser).await.map_err(sign_in_error)?;
    Ok(())
}

fn sign(signer: &DevKey, email: &str, clock: &dyn Clock) -> Result<String, Failure> {
    signer.sign(email, clock.now()).map_err(|error| unusable_key(&error.to_string()))
}

fn signer(folder: &Path, missing: Missing) -> Result<DevKey, Failure> {
    let seed = read_key(&folder.join(SIGNING_KEY), missing)?;
    DevKey::from_seed(seed).map_err(|error| unusable_key(&error.to_string()))
}

/// Behavior of [`read_key`] if the key file does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Create,
    Fail,
}

/// Reads a key file, which contains 32 bytes in base64. If the file does not exist, `missing`
/// decides whether it is created; a new file is readable by its owner only.
fn read_key(path: &Path, missing: Missing) -> Result<Zeroizing<[u8; 32]>, Failure> {
    let mut text = Zeroizing::new(String::new());
    match File::open(path) {
        Ok(mut file) => {
            file.read_to_string(&mut text).map_err(|error| unusable_file(path, &error))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound && missing == Missing::Create => {
            return create_key_file(path).map_err(|error| unusable_file(path, &error));
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

/// Creates a key file. Fails if the file exists, because another process may use its key.
fn create_key_file(path: &Path) -> io::Result<Zeroizing<[u8; 32]>> {
    let key = Zeroizing::new(random());
    let text = Zeroizing::new(STANDARD.encode(key.as_slice()));
    AtomicFile::create(path, Access::Private)?.write_new(text.as_bytes())?;
    Ok(key)
}

fn create_private_directory(path: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| unusable_file(path, &error))
}

/// Creates a `.gitignore` file, so that Git ignores the keys and the database in the folder.
fn ignore_in_git(folder: &Path) -> Result<(), Failure> {
    let path = folder.join(GITIGNORE);
    let written =
        AtomicFile::create(&path, Access::Private).and_then(|file| file.write_new(b"*\n"));
    match written {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(unusable_file(&path, &error)),
        _ => Ok(()),
    }
}

fn unusable_file(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Configuration, format!("{}: {error}", path.display()))
}

fn unusable_key(reason: &str) -> Failure {
    Failure::new(Exit::Configuration, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::test_folder;

    #[test]
    fn a_key_file_of_another_process_is_not_replaced() {
        let folder = tempfile::tempdir_in(test_folder()).unwrap();
        let path = folder.path().join(ROOT_KEY);
        let key = create_key_file(&path).unwrap();

        let error = create_key_file(&path).unwrap_err();

        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(read_key(&path, Missing::Fail).unwrap(), key);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
