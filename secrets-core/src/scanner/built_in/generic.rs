//! Detection rules for generic credentials of any issuer, and for tokens of this service.

use super::super::heuristics;
use super::Form::{Token, Written};
use super::{Definition, token};
use crate::model::scans::Severity::{High, Low, Medium};

pub(super) static ALL: [Definition; 11] = [
    token("secrets-service-token", "Service token of this service", High, "", &["env_"])
        .form(Token("env_[0-9A-Za-z]{49}"))
        .check(heuristics::service_token),
    token("private-key", "Private key", High, "", &["private key-----", "private key block-----"])
        .form(Written(concat!(
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
            r"((?:\\[nr]|[\s])+(?:[A-Za-z0-9\-]{3,20}: [^\n]{1,120}\s+){0,4}",
            r"(?:[A-Za-z0-9+/=]|\\[nr]|[\s]){40,})"
        )))
        .entropy(3.5)
        .below(12_288),
    token("putty-private-key", "PuTTY private key", High, "", &["putty-user-key-file"])
        .form(Written(concat!(
            r"PuTTY-User-Key-File-[23]: [^\n]{1,60}(?s:.*?)",
            r"Private-Lines: [0-9]{1,3}\s+([A-Za-z0-9+/=\s]{40,})"
        )))
        .entropy(3.5)
        .below(12_288),
    token("database-url-password", "Address of a database with its password", High, "", &["://"])
        .form(Written(concat!(
            r#"\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|mssql|sqlserver|rediss?|valkey|amqps?|"#,
            r#"clickhouse|cockroachdb|oracle|nats|ldaps?|smtps?|s?ftp)(?:\+[a-z0-9_]{1,16})?"#,
            r#"://[^\s:/@"'<>]{0,64}:([^\s@/"'<>]{3,200})@[A-Za-z0-9_.\[-]"#
        )))
        .entropy(1.5)
        .check(heuristics::password),
    token("basic-auth-url", "Address with a password", High, "", &["://"])
        .form(Written(concat!(
            r#"\b(?:https?|wss?|git|ssh|svn)"#,
            r#"://[^\s:/@"'<>]{1,100}:([^\s@/:"'<>]{3,200})@[A-Za-z0-9_.\[-]"#
        )))
        .entropy(1.5)
        .check(heuristics::password),
    token("basic-auth-header", "Basic authorization header", Medium, "", &["basic "])
        .form(Written(concat!(
            r#"(?i:authorization)["']?[ \t]*[:=,][ \t]*["']?"#,
            r#"(?i:basic)[ \t]+([A-Za-z0-9+/]{12,200}={0,2})"#
        )))
        .entropy(3.0),
    token("json-web-token", "JSON web token", Medium, "", &["eyj"])
        .form(Written(concat!(
            r"\b(eyJ[A-Za-z0-9_\-]{10,2000}[.]eyJ[A-Za-z0-9_\-]{10,4000}",
            r"[.][A-Za-z0-9_\-]{20,1400})(?:[^A-Za-z0-9_\-]|$)"
        )))
        .entropy(3.5),
    token("bearer-header", "Bearer authorization header", Medium, "", &["bearer"])
        .form(Written(concat!(
            r#"(?i:authorization)["']?[ \t]*[:=,][ \t]*["']?"#,
            r#"(?i:bearer)[ \t]+([A-Za-z0-9_.~+/\-]{20,2000}={0,2})"#
        )))
        .entropy(3.5),
    token(
        "generic-credential",
        "Something random that is called a key, token or secret",
        Medium,
        "",
        &["key", "token", "secret", "passw", "pwd", "credential", "auth"],
    )
    .form(Written(concat!(
            r#"(?i:[a-z0-9_.\-]{0,40}(?:api|access|account|auth|private|signing|encryption|master|"#,
            r#"deploy)[_.\-]?key[a-z0-9_.\-]{0,30}|[a-z0-9_.\-]{0,40}(?:secret|token|passwd|password|"#,
            r#"passwort|pwd|credential)[a-z0-9_.\-]{0,30})"#,
            r#"["'`]?[ \t]*(?:=>|:=|[=:])[ \t]*(?:["'`]|\\")?"#,
            r#"([A-Za-z0-9_+/=.\-]{16,200})(?:[^A-Za-z0-9_+/=.\-(\[]|$)"#
        )))
    .entropy(3.4)
    .check(heuristics::assigned),
    token("generic-password", "Password in quotes", Low, "", &["passw", "pwd", "secret"])
        .form(Written(concat!(
            r#"(?i:[a-z0-9_.\-]{0,40}(?:passwd|password|passwort|passphrase|pwd|secret))"#,
            r#"["'`]?[ \t]*(?:=>|:=|[=:])[ \t]*["']([^\s"']{8,64})["']"#
        )))
        .entropy(2.8)
        .check(heuristics::quoted_password),
    token("htpasswd-hash", "Hashed password of a web server", Low, "", &["$apr1$", "$2y$"])
        .form(Written(concat!(
            r"(?m:^)[A-Za-z0-9_.@\-]{1,64}:",
            r"([$](?:apr1[$][./0-9A-Za-z]{1,8}[$][./0-9A-Za-z]{22}|2y[$][0-9]{2}[$][./0-9A-Za-z]{53}))"
        )))
        .entropy(3.5),
];
