//! `/api/v1/projects/{projectId}/environments/{environmentId}/rotations`. Every rotation uses a
//! target database in memory, which fails on demand; tests with real databases are in
//! `tests/process/rotations`.

mod attempts;
mod create;
mod delete;
mod failures;
mod fair;
mod history;
mod interrupted;
mod limits;
mod managed_keys;
mod overtaken;
mod parents;
mod read;
mod rotate;
mod rules;
mod schedule;
mod secrecy;
mod test;
mod update;
