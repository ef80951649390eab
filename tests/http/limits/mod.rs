//! Limits: how much a plan has room for, and how often one may ask.

mod addresses;
mod failures;
mod plans;
mod principals;
