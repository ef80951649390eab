//! Tests of the server program `secrets-http` as a separate process, which a test starts, kills and
//! starts again.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod backup;
mod browser;
mod bundle;
mod database;
mod doctor;
mod epoch;
mod fairness;
mod keys;
mod mail;
mod mail_server;
mod ordinary_user;
mod pooler;
mod program;
mod provider;
mod purge;
mod readme;
mod redis_server;
mod root_keys;
mod rotations;
mod servers;
mod shared_limits;
mod sign_in;
mod standby;
mod standby_pair;
mod start;
mod stop;
mod traces;
mod upgrade;
mod webhooks;
