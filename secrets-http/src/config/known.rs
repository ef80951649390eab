//! Everything that can be configured. The flags, the variables, the keys of the file and the help
//! all come from this table.

/// One thing that can be configured.
pub(super) struct Known {
    /// The key in the file. The variable is `SECRETS_` and this in capitals, the flag `--` and
    /// this with dashes.
    pub(super) name: &'static str,
    /// What the help calls its value.
    pub(super) value: &'static str,
    /// What the help says about it.
    pub(super) help: &'static str,
    /// Which commands want it.
    pub(super) part: Part,
    /// Where it may come from.
    pub(super) sources: Sources,
}

/// What a setting is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The log: every command.
    Log,
    /// The database: `serve`, `check`, `migrate`, `doctor`.
    Storage,
    /// What opens it: `serve`, `check`, `doctor`.
    Key,
    /// What `dev` brings with it: `serve`, `check`.
    Trust,
    /// How the service behaves: `serve`, `check`, `dev`.
    Service,
}

/// Where a setting may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sources {
    /// Flag, variable, file.
    Plain,
    /// The same, and each of them may name a file that holds the value.
    PlainOrFile,
    /// Variable or file, or the name of a file that holds the value; that may be a flag.
    Secret,
}

impl Known {
    pub(super) fn variable(&self) -> String {
        variable(self.name)
    }

    pub(super) fn has_flag(&self) -> bool {
        self.sources != Secret
    }

    pub(super) fn has_file(&self) -> bool {
        self.sources != Plain
    }

    /// The name of its twin, which names a file.
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

const fn known(
    name: &'static str,
    value: &'static str,
    part: Part,
    sources: Sources,
    help: &'static str,
) -> Known {
    Known { name, value, help, part, sources }
}

use Part::{Key, Log, Service, Storage, Trust};
use Sources::{Plain, PlainOrFile, Secret};

/// In the order of the help.
pub(super) static ALL: &[Known] = &[
    known(
        "listen",
        "ADDRESS",
        Service,
        Plain,
        "Where to listen; port 0 picks one [default: 127.0.0.1:8080]",
    ),
    known(
        "database_url",
        "URL",
        Storage,
        PlainOrFile,
        "sqlite://PATH, postgres://..., or memory: (required)",
    ),
    known(
        "root_key",
        "KEY",
        Key,
        Secret,
        "What protects everything: 32 bytes in base64 (required)",
    ),
    known(
        "jwt_issuer",
        "ISSUER",
        Trust,
        Plain,
        "`iss` of the tokens people sign in with (required)",
    ),
    known(
        "jwt_audience",
        "AUDIENCE",
        Trust,
        Plain,
        "`aud` of these tokens, or one of them (required)",
    ),
    known(
        "jwt_jwks_url",
        "URL",
        Trust,
        Plain,
        "Where the issuer's keys are [default: what the issuer says]",
    ),
    known(
        "jwt_hs256_secret",
        "SECRET",
        Trust,
        Secret,
        "A secret shared with the issuer, of 32 bytes or more, instead of its keys",
    ),
    known(
        "rate_limit_per_ip",
        "COUNT",
        Service,
        Plain,
        "Requests a minute from an address without a valid credential; 0: any [default: 100]",
    ),
    known(
        "rate_limit_per_principal",
        "COUNT",
        Service,
        Plain,
        "Requests a minute from a person or token; 0: any [default: 60]",
    ),
    known(
        "trusted_proxies",
        "NETWORKS",
        Service,
        Plain,
        "Networks whose X-Forwarded-For and -Proto are believed, separated by commas [default: none]",
    ),
    known(
        "public_url",
        "URL",
        Service,
        Plain,
        "Where the links that people are given begin [default: where the request was sent]",
    ),
    known(
        "envelope",
        "NAMES",
        Service,
        Plain,
        "named, or both to give lists and objects under `data` as well [default: named]",
    ),
    known(
        "smtp_url",
        "URL",
        Service,
        PlainOrFile,
        "Mail server: smtps://USER:PASSWORD@HOST, or smtp://... [default: no mail is sent]",
    ),
    known(
        "smtp_from",
        "ADDRESS",
        Service,
        Plain,
        "Whom mail is from, such as Secrets <secrets@example.com>",
    ),
    known(
        "default_plan",
        "PLAN",
        Service,
        Plain,
        "Plan of new teams: unlimited, free, team, enterprise or one of the file's [plans] [default: unlimited]",
    ),
    known(
        "operators",
        "ADDRESSES",
        Service,
        Plain,
        "E-mail addresses of those who may put a team on another plan, separated by commas [default: none]",
    ),
    known(
        "default_member_role",
        "ROLE",
        Service,
        Plain,
        "What members may do where nobody restricted it: none, read, write or admin [default: write]",
    ),
    known(
        "audit_reads",
        "ON|OFF",
        Service,
        Plain,
        "Whether reading a value is recorded; exports always are [default: on]",
    ),
    known(
        "scan_rules",
        "PATH",
        Service,
        Plain,
        "Rules of your own for scans, as gitleaks writes them (TOML) [default: ours alone]",
    ),
    known(
        "egress_allow",
        "NETWORKS",
        Service,
        Plain,
        "Networks, addresses and host names where webhooks and databases may be though they are not on the internet, and without TLS, separated by commas [default: none]",
    ),
    known("tls_cert", "PATH", Trust, Plain, "Certificate chain (PEM), to serve https"),
    known("tls_key", "PATH", Trust, Plain, "Its private key (PEM)"),
    known(
        "log",
        "FILTER",
        Log,
        Plain,
        "What is logged: error, warn, info, debug, or target=level,... [default: info]",
    ),
    known("log_format", "FORMAT", Log, Plain, "How: text or json [default: text]"),
];
