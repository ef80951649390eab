//! Random sequences of requests, compared with a [`model`] of the service: the same rules without
//! encryption, transactions, caches and SQL.
//!
//! Each sequence runs on two nodes of one store, which are restarted at random. At the end, every
//! principal reads everything, and the audit log is compared too. A failure is reported as the
//! shortest sequence that fails.
//!
//! The sequences are the same in each run, so that the suite has the same result each time.
//! `SECRETS_TEST_SEQUENCES=10000` runs this number of other, random sequences for each store.
#![cfg(feature = "testing")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod model;
mod request;
mod stores;
mod system;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use secrets_core::crypto::Key;
use tokio::runtime::Runtime;

use model::Model;
use request::{Principal, Step};
use stores::Stores;
use system::System;

/// Maximum number of requests in a sequence.
const LENGTH: usize = 60;

/// Runs sequences of requests on stores, and compares each outcome with the model.
fn compare<S: Stores>(sequences: u32) {
    #[expect(clippy::disallowed_methods, reason = "the only configuration of the tests")]
    let given = std::env::var("SECRETS_TEST_SEQUENCES").ok();
    let given = given.map(|number| number.parse().unwrap());
    let config = Config {
        cases: given.unwrap_or(sequences),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let mut runner = match given {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runner.run(&Model::sequential_strategy(1..=LENGTH), |(model, steps, seen)| {
        let seen = move || {
            if let Some(seen) = &seen {
                seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        };
        run::<S>(&runtime, model, steps, seen)
    });
    match result {
        Ok(()) => (),
        Err(TestError::Fail(reason, (_, steps, _))) => {
            let steps: Vec<_> = steps.iter().map(|step| format!("{step:?}")).collect();
            panic!("{reason}\nafter\n{}", steps.join("\n"));
        }
        Err(error) => panic!("{error}"),
    }
}

fn run<S: Stores>(
    runtime: &Runtime,
    mut model: Model,
    steps: Vec<Step>,
    seen: impl Fn(),
) -> Result<(), TestCaseError> {
    runtime.block_on(async {
        let root = Key::generate();
        let mut store = S::create().await;
        let mut system = System::start(&mut store, &root).await;
        for step in steps {
            seen();
            if step.restart {
                system.restart(&mut store, &root).await;
            }
            model = check(model, &mut system, &step).await?;
        }
        let mut principals = vec![Principal::Owner, Principal::Member(0), Principal::Member(1)];
        principals.extend((0..model.tokens()).map(Principal::Token));
        for by in principals {
            for at in model.names() {
                for step in Step::reads(by, at) {
                    model = check(model, &mut system, &step).await?;
                }
            }
        }
        prop_assert_eq!(system.changed_environments().await, 0);
        let recorded = model.audit.into_iter();
        let recorded = recorded.map(|((by, action), count)| ((by, action.to_owned()), count));
        prop_assert_eq!(system.audit().await, recorded.collect::<BTreeMap<_, _>>());
        Ok(())
    })
}

/// Performs a request on the model and on the service. Fails if the outcomes differ.
async fn check(model: Model, system: &mut System, step: &Step) -> Result<Model, TestCaseError> {
    let model = Model::apply(model, step);
    let outcome = system.perform(step).await;
    prop_assert_eq!(Some(&outcome), model.outcome.as_ref(), "{:?}", step);
    Ok(model)
}

#[test]
fn the_memory_store_follows_the_model() {
    compare::<stores::Memory>(100);
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_follows_the_model() {
    compare::<stores::Sqlite>(20);
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_follows_the_model() {
    compare::<stores::Postgres>(15);
}

/// Outcomes that the sequences must contain, by request.
const OUTCOMES: [(&str, &[&str]); 19] = [
    ("CreateEnvironment", &["ok", "forbidden", "invalid", "plan_limit", "unauthenticated"]),
    ("SetParent", &["ok", "forbidden", "invalid", "not_found", "refused", "unauthenticated"]),
    ("DeleteEnvironment", &["ok", "forbidden", "not_found", "refused", "unauthenticated"]),
    ("Create", &["ok", "conflict", "forbidden", "not_found", "plan_limit", "unauthenticated"]),
    ("Update", &["ok", "forbidden", "not_found", "stale", "unauthenticated"]),
    ("RollBack", &["ok", "forbidden", "not_found", "stale", "unauthenticated"]),
    ("Delete", &["ok", "forbidden", "not_found", "stale", "unauthenticated"]),
    ("Import", &["ok", "forbidden", "not_found", "plan_limit", "unauthenticated"]),
    ("Get", &["ok", "forbidden", "not_found", "unauthenticated"]),
    ("List", &["ok", "forbidden", "not_found", "unauthenticated"]),
    ("Export", &["ok", "forbidden", "not_found", "unauthenticated"]),
    ("History", &["ok", "forbidden", "not_found", "unauthenticated"]),
    ("Grant", &["ok", "forbidden", "not_found", "refused", "unauthenticated"]),
    ("Revoke", &["ok", "forbidden", "not_found", "unauthenticated"]),
    ("SetRole", &["ok", "forbidden", "not_found", "unauthenticated"]),
    ("Remove", &["ok", "forbidden", "not_found", "unauthenticated"]),
    ("Invite", &["ok", "forbidden", "invalid", "unauthenticated"]),
    ("CreateToken", &["ok", "forbidden", "invalid", "plan_limit", "unauthenticated"]),
    ("DeleteToken", &["ok", "forbidden", "not_found", "unauthenticated"]),
];

#[test]
fn the_sequences_contain_each_outcome_of_each_request() {
    let mut outcomes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config.clone(), rng);
    for _ in 0..config.cases {
        let sequence = Model::sequential_strategy(1..=LENGTH).new_tree(&mut runner).unwrap();
        let (mut model, steps, _) = sequence.current();
        for step in steps {
            model = Model::apply(model, &step);
            let request = format!("{:?}", step.request);
            let name = request.split(' ').next().unwrap().to_owned();
            let kind = model.outcome.as_ref().unwrap().as_ref().err().unwrap_or(&"ok");
            outcomes.entry(name).or_default().insert(kind);
        }
    }
    let expected = OUTCOMES.map(|(name, kinds)| (name.to_owned(), kinds.iter().copied().collect()));
    assert_eq!(outcomes, BTreeMap::from(expected));
}
