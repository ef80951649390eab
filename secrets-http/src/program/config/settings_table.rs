//! Table of all settings. The flags, the environment variables, the keys of the configuration file
//! and the help text are all generated from this table.

/// Definition of a setting, from which the flag, the variable, the key of the file and the help
/// text are generated.
pub(super) struct Setting {
    /// Name of the setting, which is its key in the configuration file. The environment variable is
    /// `SECRETS_` followed by this name in upper case; the flag is `--` followed by this name with
    /// dashes.
    pub(super) name: &'static str,
    /// Placeholder for the value in the help text.
    pub(super) value: &'static str,
    /// Help text of the setting.
    pub(super) help: &'static str,
    /// Sources from which the value can be read.
    pub(super) sources: Sources,
}

/// Settings that are listed under one heading of the help text.
pub(super) struct Group {
    pub(super) heading: &'static str,
    /// Category of the settings, which determines the commands that accept them.
    pub(super) part: Part,
    pub(super) settings: &'static [Setting],
}

/// Category of settings. It determines the commands that accept the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Logging settings, accepted by all commands that have settings.
    Log,
    /// Database settings, accepted by all commands that use a database, except `dev`.
    Storage,
    /// Root key settings, accepted by `serve`, `check`, `doctor verify`, `keys rotate-root` and
    /// `restore`.
    Key,
    /// Settings of the identity provider, of TLS, and for several nodes, accepted by `serve` and
    /// `check`. `dev` does not accept them, because it uses its own values or needs none.
    Trust,
    /// Settings for the behavior of the service, accepted by `serve`, `check` and `dev`.
    Service,
}

/// Sources from which the value of a setting can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sources {
    /// The value is given as a flag, as an environment variable or in the configuration file.
    Plain,
    /// The value, or the path of a file that contains the value, is given as a flag, as an
    /// environment variable or in the configuration file.
    PlainOrFile,
    /// The value is given as an environment variable or in the configuration file. The path of a
    /// file that contains the value can also be given as a flag. The value itself is never accepted
    /// as a flag.
    Secret,
}

impl Setting {
    pub(super) fn variable(&self) -> String {
        variable(self.name)
    }

    pub(super) fn has_flag(&self) -> bool {
        self.sources != Secret
    }

    pub(super) fn has_file(&self) -> bool {
        self.sources != Plain
    }

    /// Returns the name of the companion setting, whose value is the path of a file that contains
    /// the value of this setting.
    pub(super) fn file_name(&self) -> String {
        format!("{}_file", self.name)
    }
}

pub(super) fn variable(name: &str) -> String {
    format!("SECRETS_{}", name.to_ascii_uppercase())
}

pub(super) fn flag(name: &str) -> String {
    name.replace('_', "-")
}

const fn setting(
    name: &'static str,
    value: &'static str,
    sources: Sources,
    help: &'static str,
) -> Setting {
    Setting { name, value, help, sources }
}

use Part::{Key, Log, Service, Storage, Trust};
use Sources::{Plain, PlainOrFile, Secret};

/// Groups of all settings, in the order of the help text.
pub(super) static GROUPS: &[Group] = &[
    Group {
        heading: "Network",
        part: Service,
        settings: &[
            setting(
                "listen",
                "ADDRESS",
                Plain,
                "Address and port to listen on; port 0 picks a free port [default: 127.0.0.1:8080]",
            ),
            setting(
                "public_url",
                "URL",
                Plain,
                "Base URL of links in mail and responses [default: scheme and host of the request]",
            ),
            setting(
                "trusted_proxies",
                "NETWORKS",
                Plain,
                "Networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted, separated by commas [default: none]",
            ),
            setting(
                "envelope",
                "NAMES",
                Plain,
                "Response envelope: named, or both to return lists and objects under `data` as well [default: named]",
            ),
            setting(
                "metrics_listen",
                "ADDRESS",
                Plain,
                "Address and port on which metrics are served for Prometheus, without authentication; port 0 picks a free port [default: no metrics]",
            ),
            setting("dashboard", "ON|OFF", Plain, "Serve the dashboard for browsers [default: on]"),
            setting(
                "shutdown_delay",
                "SECONDS",
                Plain,
                "Seconds between the signal to stop and the refusal of new connections, while /health responds with 503 so that load balancers choose other nodes, 0 to 30 [default: 0]",
            ),
        ],
    },
    Group {
        heading: "TLS",
        part: Trust,
        settings: &[
            setting(
                "tls_cert",
                "PATH",
                Plain,
                "File with the TLS certificate chain (PEM), to serve https; requires --tls-key",
            ),
            setting(
                "tls_key",
                "PATH",
                Plain,
                "File with the private key of the TLS certificate (PEM)",
            ),
        ],
    },
    Group {
        heading: "Database",
        part: Storage,
        settings: &[
            setting(
                "database_url",
                "URL",
                PlainOrFile,
                "Database: sqlite://PATH, postgres://..., or memory: (required)",
            ),
            setting(
                "database_connections",
                "COUNT",
                Plain,
                "Maximum connections to the database for requests, 2 to 1000 [default: 12, half of them for writes; on SQLite: 4, for reads]",
            ),
            setting(
                "database_cache",
                "MEBIBYTES",
                Plain,
                "Memory for a cache of encrypted records from the database, 0 to 65536 MiB; 0 for no cache [default: 24]",
            ),
            setting(
                "epoch_path",
                "PATH",
                Plain,
                "File for a copy of the database's epoch, on another volume than the database; the service does not start if the database was replaced by an earlier state of it [default: no copy]",
            ),
        ],
    },
    Group {
        heading: "Root key",
        part: Key,
        settings: &[
            setting(
                "root_key",
                "KEY",
                Secret,
                "Root key that encrypts all other keys: 32 bytes in base64 (required, or one of the next two)",
            ),
            setting(
                "root_key_command",
                "COMMAND",
                Plain,
                "Command that prints the root key; it is run without a shell",
            ),
            setting(
                "root_key_url",
                "URL",
                Plain,
                "Root key in a key service: https://HOST/v1/transit/keys/NAME for Vault or OpenBao, or awskms:///KEY for AWS KMS",
            ),
            setting("root_key_token", "TOKEN", Secret, "Token for Vault or OpenBao"),
            setting(
                "previous_root_key",
                "KEY",
                Secret,
                "Previous root key, accepted until `keys rotate-root` has replaced it [default: none]",
            ),
            setting(
                "previous_root_key_command",
                "COMMAND",
                Plain,
                "Command that prints the previous root key",
            ),
            setting("previous_root_key_url", "URL", Plain, "Previous root key in a key service"),
            setting(
                "previous_root_key_token",
                "TOKEN",
                Secret,
                "Token for the Vault or OpenBao with the previous root key",
            ),
        ],
    },
    Group {
        heading: "Identity provider",
        part: Trust,
        settings: &[
            setting(
                "jwt_issuer",
                "ISSUER",
                Plain,
                "Issuer of the user tokens, their `iss` claim (required)",
            ),
            setting(
                "jwt_audience",
                "AUDIENCE",
                Plain,
                "Audience of the user tokens: must be in their `aud` claim (required)",
            ),
            setting(
                "jwt_jwks_url",
                "URL",
                Plain,
                "URL of the issuer's JSON Web Key Set [default: from the issuer's OpenID discovery document]",
            ),
            setting(
                "jwt_hs256_secret",
                "SECRET",
                Secret,
                "HS256 secret shared with the issuer, at least 32 bytes; used instead of a key set",
            ),
            setting(
                "oidc_client_id",
                "ID",
                Plain,
                "Client ID of this service at the issuer, so that browsers can sign in; requires --public-url [default: browsers cannot sign in]",
            ),
            setting(
                "oidc_client_secret",
                "SECRET",
                Secret,
                "Client secret [default: none, for a public client]",
            ),
            setting(
                "oidc_scopes",
                "SCOPES",
                Plain,
                "Scopes requested when a browser signs in, separated by spaces [default: openid email profile]",
            ),
            setting(
                "session_hours",
                "HOURS",
                Plain,
                "Lifetime of a browser session, 1 to 720 hours [default: 12]",
            ),
            setting(
                "session_idle_minutes",
                "MINUTES",
                Plain,
                "Time without a request after which a browser session ends, 5 to 1440 minutes [default: 60]",
            ),
        ],
    },
    Group {
        heading: "Teams",
        part: Service,
        settings: &[
            setting(
                "default_plan",
                "PLAN",
                Plain,
                "Plan of new teams: unlimited, free, team, enterprise, or a plan defined in the [plans] of the file [default: unlimited]",
            ),
            setting(
                "operators",
                "ADDRESSES",
                Plain,
                "Email addresses of the operators, who may change the plan of a team, separated by commas [default: none]",
            ),
            setting(
                "default_member_role",
                "ROLE",
                Plain,
                "Permission of members without a permission of their own: none, read, write or admin [default: write]",
            ),
        ],
    },
    Group {
        heading: "Limits",
        part: Service,
        settings: &[
            setting(
                "rate_limit_per_ip",
                "COUNT",
                Plain,
                "Maximum requests per minute from an IP address without a valid credential; 0 for no limit [default: 100]",
            ),
            setting(
                "rate_limit_per_principal",
                "COUNT",
                Plain,
                "Maximum requests per minute from a user or service token; 0 for no limit [default: 60]",
            ),
            setting(
                "rate_limit_per_team",
                "COUNT",
                Plain,
                "Maximum requests per minute for all teams that one user created and is a member of, and for each other team; 0 for no limit [default: 10 times the limit of a user]",
            ),
            setting(
                "request_timeout",
                "SECONDS",
                Plain,
                "Time limit of a request's work on the database, 1 to 60 seconds; eight times as long for imports, exports, lists of values and large deletions [default: 4]",
            ),
            setting(
                "memory_budget",
                "MEBIBYTES",
                Plain,
                "Memory for large request bodies, and for large responses until they are read, 16 to 65536 MiB; a quarter of it for one account [default: 256]",
            ),
            setting(
                "watch_limit",
                "COUNT",
                Plain,
                "Maximum watches of environments and projects at a time, 4 to 10000; a quarter of them for one team [default: 100]",
            ),
        ],
    },
    Group {
        heading: "Several nodes",
        part: Trust,
        settings: &[setting(
            "redis_url",
            "URL",
            PlainOrFile,
            "Redis server in which the nodes count requests for rate limits together: redis://USER:PASSWORD@HOST, or rediss://... for TLS [default: each node counts by itself]",
        )],
    },
    Group {
        heading: "Outgoing connections",
        part: Service,
        settings: &[
            setting(
                "smtp_url",
                "URL",
                PlainOrFile,
                "Mail server: smtps://USER:PASSWORD@HOST, or smtp://...; requires --smtp-from and --public-url [default: no mail is sent]",
            ),
            setting(
                "smtp_from",
                "ADDRESS",
                Plain,
                "Sender of mail, such as Secrets <secrets@example.com>",
            ),
            setting(
                "egress_allow",
                "NETWORKS",
                Plain,
                "Networks, IP addresses and host names that webhooks and rotations may connect to although they are not public, and without TLS, separated by commas [default: none]",
            ),
        ],
    },
    Group {
        heading: "Audit log and scans",
        part: Service,
        settings: &[
            setting(
                "audit_reads",
                "ON|OFF",
                Plain,
                "Record reads of secret values in the audit log; exports are always recorded [default: on]",
            ),
            setting(
                "scan_rules",
                "PATH",
                Plain,
                "File with additional rules for scans, in the TOML format of gitleaks [default: built-in rules only]",
            ),
        ],
    },
    Group {
        heading: "Log",
        part: Log,
        settings: &[
            setting(
                "log",
                "FILTER",
                Plain,
                "Log filter: error, warn, info, debug, or target=level,... [default: info]",
            ),
            setting("log_format", "FORMAT", Plain, "Log format: text or json [default: text]"),
        ],
    },
];

/// Iterates over all settings.
pub(super) fn all() -> impl Iterator<Item = &'static Setting> {
    GROUPS.iter().flat_map(|group| group.settings)
}
