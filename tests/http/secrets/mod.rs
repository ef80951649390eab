//! Tests of the endpoints for the secrets of an environment.

mod bundle;
mod changes;
mod compare;
mod create;
mod delete;
mod export;
mod formats;
mod hide;
mod history;
mod import;
mod inherit;
mod list;
mod read;
mod tags;
mod update;
