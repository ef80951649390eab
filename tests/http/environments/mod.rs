//! Tests of the endpoints below `/api/v1/projects/{projectId}/environments`.

mod create;
mod delete;
mod read;
mod update;
