//! `/api/v1/projects/{projectId}/environments/{environmentId}/secrets`.

mod create;
mod delete;
mod export;
mod hide;
mod import;
mod inherit;
mod list;
mod read;
mod update;
