//! Tests of the endpoints below `/api/v1/projects`.

mod create;
mod delete;
mod purge;
mod read;
mod restore;
mod update;

const PROJECTS: &str = "/api/v1/projects";
