//! `/api/v1/projects`.

mod create;
mod delete;
mod read;
mod update;

const PROJECTS: &str = "/api/v1/projects";
