//! Settings of the root keys. A root key is given as a value, as a command that prints it, or as
//! the URL of a key in a key service.

use hyper::Uri;
use zeroize::Zeroizing;

use super::failure::Failure;
use super::hidden::Hidden;
use super::layers::Layers;
use super::settings::optional;
use super::settings_table;
use super::types::RootKeySource;
use super::values::{self, InvalidValue};

/// Names of the settings of one root key.
pub(super) struct Names {
    value: &'static str,
    command: &'static str,
    url: &'static str,
    token: &'static str,
}

/// Settings of the current root key.
pub(super) const CURRENT: Names = Names {
    value: "root_key",
    command: "root_key_command",
    url: "root_key_url",
    token: "root_key_token",
};

/// Settings of the previous root key.
pub(super) const PREVIOUS: Names = Names {
    value: "previous_root_key",
    command: "previous_root_key_command",
    url: "previous_root_key_url",
    token: "previous_root_key_token",
};

/// Key in a key service, as parsed from its URL.
enum KeyUrl {
    Transit(Uri),
    AwsKms(String),
}

impl Names {
    /// Returns the names of the three settings that can give the root key. At most one of them may
    /// be set.
    fn alternatives(&self) -> [&'static str; 3] {
        [self.value, self.command, self.url]
    }

    /// True if one of the settings that give the root key is set.
    pub(super) fn is_given(&self, layers: &Layers) -> bool {
        self.alternatives().iter().any(|name| layers.has(name))
    }
}

/// Returns the source of a root key; `None` if no root key is given.
pub(super) fn source(
    layers: &Layers,
    names: &Names,
) -> Result<Option<Box<RootKeySource>>, Failure> {
    let given = names.alternatives().into_iter().filter_map(|name| layers.described(name));
    if let [one, other, ..] = &given.collect::<Vec<_>>()[..] {
        return Err(Failure::configuration(format!("{one} and {other} are both given: keep one")));
    }
    let value = optional(layers, names.value, values::root_key)?.map(RootKeySource::Value);
    let words = optional(layers, names.command, command)?;
    let variable = settings_table::variable(names.command);
    let command = words.map(|words| RootKeySource::Command { variable, words });
    let token = optional(layers, names.token, token)?;
    let variable = settings_table::variable(names.url);
    let url = match (optional(layers, names.url, url)?, token) {
        (Some(KeyUrl::Transit(url)), Some(token)) => {
            Some(RootKeySource::Transit { variable, url, token })
        }
        (Some(KeyUrl::AwsKms(key)), None) => Some(RootKeySource::AwsKms { variable, key }),
        (None, None) => None,
        (Some(KeyUrl::Transit(_)), None) => {
            let token = settings_table::variable(names.token);
            return Err(Failure::configuration(format!(
                "{token} is not set: give a token of the Vault or OpenBao server"
            )));
        }
        (Some(KeyUrl::AwsKms(_)) | None, Some(_)) => {
            let [token, url] = [names.token, names.url].map(settings_table::variable);
            return Err(Failure::configuration(format!(
                "{token} has no effect: {url} is not the URL of a key in Vault or OpenBao"
            )));
        }
    };
    Ok(value.or(command).or(url).map(Box::new))
}

/// Parses the output of a command that prints a root key. `variable` is the environment variable of
/// the setting that contains the command, for the error.
pub fn printed(variable: &str, text: &str) -> Result<Zeroizing<[u8; 32]>, Failure> {
    let refused =
        |rule| Failure::configuration(format!("{variable}: the output of the command {rule}"));
    values::root_key(text).map(Hidden::into_inner).map_err(refused)
}

/// Splits a command into words, like a shell.
fn command(text: &str) -> Result<Vec<String>, InvalidValue> {
    let words = shlex::split(text).filter(|words| !words.is_empty());
    words.ok_or("must be a command with its arguments, quoted as in a shell")
}

fn token(text: &str) -> Result<Hidden<Zeroizing<String>>, InvalidValue> {
    let is_printable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_printable {
        return Err("must be a token without spaces");
    }
    Ok(Hidden::new(Zeroizing::new(text.to_owned())))
}

/// Parses the URL of a key in a key service. Plaintext keys are sent to the service, so `http` is
/// permitted only for a loopback address, such as that of a Vault agent.
fn url(text: &str) -> Result<KeyUrl, InvalidValue> {
    let rule = "must be https://HOST/v1/transit/keys/NAME or awskms:///KEY";
    if let Some(key) = text.strip_prefix("awskms:///") {
        let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        return if is_key { Ok(KeyUrl::AwsKms(key.to_owned())) } else { Err(rule) };
    }
    let url = values::url(text).map_err(|_| rule)?;
    let is_local = values::is_loopback(url.host().unwrap_or_default());
    if url.scheme_str() != Some("https") && !is_local {
        return Err("must begin with https://, except for a loopback address");
    }
    let segments: Vec<_> = url.path().split('/').skip(1).collect();
    let is_key = matches!(segments[..], ["v1", _, .., "keys", _])
        && segments.iter().all(|segment| !segment.is_empty())
        && url.query().is_none();
    if is_key { Ok(KeyUrl::Transit(url)) } else { Err(rule) }
}
