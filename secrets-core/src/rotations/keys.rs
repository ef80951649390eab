//! Secret keys under which a rotation stores the parts of a credential, and their values.

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::crypto::Plaintext;
use crate::model::{Error, Result, RotationName, SecretKey};
use crate::ports::rotator::{Login, Target};

/// Secret keys under which the parts of a credential are stored. An absent field means the default
/// secret key, such as `MAIN_DB_USERNAME` for the rotation `main-db`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SecretMapping {
    /// Secret key under which the user name is stored.
    pub username: Option<SecretKey>,
    /// Secret key under which the password is stored.
    pub password: Option<SecretKey>,
    /// Secret key under which the host of the database server is stored.
    pub host: Option<SecretKey>,
    /// Secret key under which the port of the database server is stored.
    pub port: Option<SecretKey>,
    /// Secret key under which the database name is stored.
    pub database: Option<SecretKey>,
    /// Secret key under which the connection URL is stored.
    pub url: Option<SecretKey>,
}

/// Secret keys under which a rotation stores the parts of its credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InjectedKeys {
    pub(crate) username: SecretKey,
    pub(crate) password: SecretKey,
    pub(crate) host: SecretKey,
    pub(crate) port: SecretKey,
    pub(crate) database: SecretKey,
    pub(crate) url: SecretKey,
}

impl InjectedKeys {
    /// Determines the secret keys of a rotation: the default keys, such as `MAIN_DB_USERNAME` for
    /// the rotation `main-db`, unless the mapping names others. Fails if two of the keys are equal.
    pub(crate) fn new(name: &RotationName, mapping: SecretMapping) -> Result<Self> {
        let mut prefix = name.as_str().to_ascii_uppercase().replace('-', "_");
        if prefix.starts_with(|first: char| first.is_ascii_digit()) {
            prefix.insert(0, '_');
        }
        let default_key = |part: &str| -> Result<SecretKey> {
            format!("{prefix}_{part}").parse().map_err(Error::internal)
        };
        let key = |given: Option<SecretKey>, part| given.map_or_else(|| default_key(part), Ok);
        let keys = Self {
            username: key(mapping.username, "USERNAME")?,
            password: key(mapping.password, "PASSWORD")?,
            host: key(mapping.host, "HOST")?,
            port: key(mapping.port, "PORT")?,
            database: key(mapping.database, "DATABASE")?,
            url: key(mapping.url, "URL")?,
        };
        let distinct: BTreeSet<_> = keys.all().into_iter().collect();
        if distinct.len() < keys.all().len() {
            return Err(Error::invalid("secret_mapping", "must not contain the same key twice"));
        }
        Ok(keys)
    }

    /// Returns the six secret keys of the rotation.
    pub(crate) fn all(&self) -> [SecretKey; 6] {
        [&self.username, &self.password, &self.host, &self.port, &self.database, &self.url]
            .map(SecretKey::clone)
    }

    /// Encodes the secret keys as a JSON string for storage.
    pub(crate) fn to_text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(Error::internal)
    }

    /// Decodes secret keys from the stored JSON string.
    pub(crate) fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(Error::internal)
    }

    /// Returns the values to store under the secret keys: the parts of the new credential and of
    /// the connection.
    pub(crate) fn values(
        &self,
        target: &Target,
        login: &Login,
    ) -> Result<Vec<(SecretKey, Plaintext)>> {
        let url = zeroize::Zeroizing::new(url(target, login));
        let parts: [&str; 6] = [
            &login.username,
            login.password.reveal(),
            &target.host,
            &target.port.to_string(),
            &target.database,
            &url,
        ];
        let parts = parts.map(|part| Plaintext::new(part.to_owned()).map_err(Error::internal));
        self.all().into_iter().zip(parts).map(|(key, value)| Ok((key, value?))).collect()
    }
}

/// Builds the connection URL:
/// `postgres://user:password@host:5432/database?sslmode=verify-full`.
fn url(target: &Target, login: &Login) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    let encoded = |text| utf8_percent_encode(text, ESCAPED).to_string();
    let is_ipv6 = target.host.contains(':') && !target.host.starts_with('[');
    let host = if is_ipv6 { format!("[{}]", target.host) } else { target.host.clone() };
    let kind = target.kind;
    let mode = target.ssl_mode.effective().as_str();
    let query = kind.url_tls_parameter.map(|parameter| format!("?{parameter}={mode}"));
    format!(
        "{}://{}:{}@{host}:{}/{}{}",
        kind.url_scheme,
        encoded(&login.username),
        encoded(login.password.reveal()),
        target.port,
        encoded(&target.database),
        query.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rotations::{DatabaseKind, SslMode};

    fn target(database: &str) -> Target {
        Target {
            kind: DatabaseKind::POSTGRESQL,
            host: "db.example.com".to_owned(),
            port: 5432,
            database: database.to_owned(),
            admin_username: "admin".to_owned(),
            admin_password: Plaintext::new("kvc_admin".to_owned()).unwrap(),
            ssl_mode: SslMode::VerifyFull,
            ca_certificate: None,
            proxy: None,
        }
    }

    #[test]
    fn keys_are_named_after_the_rotation() {
        let keys = InjectedKeys::new(&"main-db".parse().unwrap(), SecretMapping::default());
        let keys = keys.unwrap().all().map(|key| key.to_string());

        assert_eq!(keys[0], "MAIN_DB_USERNAME");
        assert_eq!(keys[5], "MAIN_DB_URL");
        let digit = InjectedKeys::new(&"7db".parse().unwrap(), SecretMapping::default()).unwrap();
        assert_eq!(digit.host.as_str(), "_7DB_HOST");
    }

    #[test]
    fn a_key_is_named_once() {
        let key: SecretKey = "DB".parse().unwrap();
        let mapping = SecretMapping {
            username: Some(key.clone()),
            url: Some(key),
            ..SecretMapping::default()
        };

        assert!(InjectedKeys::new(&"main".parse().unwrap(), mapping).is_err());
    }

    #[test]
    fn an_odd_database_is_quoted_in_the_address() {
        let password = Plaintext::new("kvc_p-_1".to_owned()).unwrap();
        let login = Login { username: "kv_x_a".to_owned(), password };

        assert_eq!(
            url(&target("a/b?c d"), &login),
            "postgres://kv_x_a:kvc_p-_1@db.example.com:5432/a%2Fb%3Fc%20d?sslmode=verify-full"
        );
    }

    #[test]
    fn the_url_has_the_effective_tls_mode_if_its_clients_read_one() {
        let password = Plaintext::new("kvc_1".to_owned()).unwrap();
        let login = Login { username: "kv_x_a".to_owned(), password };
        let postgres = Target { ssl_mode: SslMode::Prefer, ..target("app") };
        let mysql = Target { kind: DatabaseKind::MYSQL, port: 3306, ..target("app") };

        assert_eq!(
            url(&postgres, &login),
            "postgres://kv_x_a:kvc_1@db.example.com:5432/app?sslmode=require"
        );
        assert_eq!(url(&mysql, &login), "mysql://kv_x_a:kvc_1@db.example.com:3306/app");
    }
}
