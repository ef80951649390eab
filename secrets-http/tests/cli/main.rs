//! The program `secrets`, as processes, against the real server program.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod api;
mod audit;
mod bundle;
mod check;
mod completion;
mod copy;
mod credentials;
mod diff;
mod edit;
mod export;
mod get;
mod history;
mod home;
mod hook;
mod hostile;
mod import;
mod init;
mod list;
mod login;
mod manual;
mod offline;
mod project;
mod repository;
mod resources;
mod run;
mod scan;
mod screen;
mod script;
mod secrets;
mod server;
mod service;
mod set;
mod settings;
mod tokens;
mod unset;
