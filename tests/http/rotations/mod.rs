//! `/api/v1/projects/{projectId}/environments/{environmentId}/rotations`. Every rotation leads to a
//! database in memory, which does what it is told to; real ones are in `tests/rotation`.

mod attempts;
mod create;
mod delete;
mod failures;
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
