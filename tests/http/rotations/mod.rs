//! Tests of the endpoints for rotations. The rotations use a fake database in memory, which a test
//! can make fail. Tests with real databases are in `tests/process/rotations`.

mod attempts;
mod create;
mod delete;
mod drivers;
mod failures;
mod fair;
mod history;
mod interrupted;
mod limits;
mod managed_keys;
mod nodes;
mod overtaken;
mod parents;
mod read;
mod rotate;
mod rules;
mod schedule;
mod secrecy;
mod test;
mod unanswered;
mod update;
