//! Requests of the test, their outcomes, and the strategies that generate them.

use std::collections::BTreeMap;

use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest_state_machine::ReferenceStateMachine;
use secrets_core::model::MemberAccess;

use crate::model::Model;

/// Name of an environment, or a secret key.
pub(crate) type Name = &'static str;

const NAMES: [Name; 6] = ["base", "development", "preview", "production", "qa", "staging"];
const KEYS: [Name; 4] = ["API_KEY", "HOST", "PASSWORD", "USER"];

/// Caller of a request. Members and service tokens are given by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Principal {
    Owner,
    Member(usize),
    Token(usize),
}

/// Request to one of two nodes. The nodes may be restarted before the request.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) node: usize,
    pub(crate) restart: bool,
    pub(crate) by: Principal,
    pub(crate) request: Request,
}

/// Request to the service. A value of `None` hides the secret.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    CreateEnvironment { name: Name, parent: Option<Name> },
    SetParent { name: Name, parent: Option<Name> },
    DeleteEnvironment { name: Name },
    Create { at: Name, key: Name, value: Option<u8> },
    Update { at: Name, key: Name, value: Option<u8>, expected: Option<u32> },
    RollBack { at: Name, key: Name, version: u32, expected: Option<u32> },
    Delete { at: Name, key: Name, expected: Option<u32> },
    Import { at: Name, values: BTreeMap<Name, u8>, overwrite: bool },
    Get { at: Name, key: Name },
    List { at: Name },
    Export { at: Name },
    History { at: Name, key: Name },
    Grant { at: Name, member: usize, access: MemberAccess },
    Revoke { at: Name, member: usize },
    SetRole { member: usize, is_admin: bool },
    Remove { member: usize },
    Invite { member: usize },
    CreateToken { may_read: bool, may_write: bool, environments: Option<Vec<Name>> },
    DeleteToken { token: usize },
}

/// Outcome of a request: the answer, or the kind of the error.
pub(crate) type Outcome = Result<Answer, &'static str>;

/// The parts of an answer that the model predicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    Version(u32),
    Imported { created: usize, updated: usize, skipped: usize },
    Values(Vec<Read>),
    List(Vec<Listed>),
    History(Vec<(u32, Option<String>)>),
}

/// A secret with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) version: u32,
    pub(crate) inherited_from: Option<String>,
}

/// A secret in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) key: String,
    pub(crate) version: u32,
    pub(crate) inherited_from: Option<String>,
    pub(crate) is_hidden: bool,
    pub(crate) is_restricted: bool,
}

/// Returns the text of a value.
pub(crate) fn value_text(value: u8) -> String {
    format!("value {value}")
}

impl Request {
    /// True if only a person may send the request, not a service token.
    pub(crate) fn needs_person(&self) -> bool {
        !matches!(
            self,
            Self::Create { .. }
                | Self::Update { .. }
                | Self::RollBack { .. }
                | Self::Delete { .. }
                | Self::Import { .. }
                | Self::Get { .. }
                | Self::List { .. }
                | Self::Export { .. }
                | Self::History { .. }
        )
    }

    /// Returns the action in the audit log if the request succeeds; `None` if it is not recorded.
    pub(crate) fn action(&self) -> Option<&'static str> {
        Some(match self {
            Self::CreateEnvironment { .. } => "environment.created",
            Self::SetParent { .. } => "environment.updated",
            Self::DeleteEnvironment { .. } => "environment.deleted",
            Self::Create { value: None, .. } | Self::Update { value: None, .. } => "secret.hidden",
            Self::Create { .. } => "secret.created",
            Self::Update { .. } => "secret.updated",
            Self::RollBack { .. } => "secret.rolled_back",
            Self::Delete { .. } => "secret.deleted",
            Self::Import { .. } => "secrets.imported",
            Self::Get { .. } | Self::History { .. } => "secret.read",
            Self::List { .. } => return None,
            Self::Export { .. } => "secrets.exported",
            Self::Grant { .. } => "permission.set",
            Self::Revoke { .. } => "permission.deleted",
            Self::SetRole { .. } => "member.role_changed",
            Self::Remove { .. } => "member.removed",
            Self::Invite { .. } => "member.invited",
            Self::CreateToken { .. } => "token.created",
            Self::DeleteToken { .. } => "token.deleted",
        })
    }
}

impl Step {
    /// Returns the requests that read everything a principal can read in an environment.
    pub(crate) fn reads(by: Principal, at: Name) -> Vec<Self> {
        let mut requests = vec![Request::List { at }, Request::Export { at }];
        for key in KEYS {
            requests.extend([Request::Get { at, key }, Request::History { at, key }]);
        }
        let step = |(node, request): (usize, Request)| Self {
            node: node % 2,
            restart: false,
            by,
            request,
        };
        requests.into_iter().enumerate().map(step).collect()
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::new()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        let restart = prop::bool::weighted(0.05);
        let parts = (0..2_usize, restart, principal(state.tokens()), request(state.tokens()));
        parts.prop_map(|(node, restart, by, request)| Step { node, restart, by, request }).boxed()
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.perform(step);
        state
    }

    fn preconditions(state: &Self, step: &Step) -> bool {
        let known = |token| token < state.tokens();
        let by_known = !matches!(step.by, Principal::Token(token) if !known(token));
        by_known && !matches!(step.request, Request::DeleteToken { token } if !known(token))
    }
}

/// Strategy for callers. Half of the requests are from the owner, so that many succeed.
fn principal(tokens: usize) -> BoxedStrategy<Principal> {
    let owner = Just(Principal::Owner);
    let member = (0..2_usize).prop_map(Principal::Member);
    if tokens == 0 {
        return prop_oneof![2 => owner, 2 => member].boxed();
    }
    let token = (0..tokens).prop_map(Principal::Token);
    prop_oneof![3 => owner, 2 => member, 1 => token].boxed()
}

fn request(tokens: usize) -> BoxedStrategy<Request> {
    let secrets = prop_oneof![
        3 => (at(), key(), value()).prop_map(|(at, key, value)| Request::Create { at, key, value }),
        3 => (at(), key(), value(), expected())
            .prop_map(|(at, key, value, expected)| Request::Update { at, key, value, expected }),
        1 => (at(), key(), 1..4_u32, expected()).prop_map(|(at, key, version, expected)| {
            Request::RollBack { at, key, version, expected }
        }),
        1 => (at(), key(), expected())
            .prop_map(|(at, key, expected)| Request::Delete { at, key, expected }),
        1 => (at(), btree_map(key(), any::<u8>(), 1..4), any::<bool>())
            .prop_map(|(at, values, overwrite)| Request::Import { at, values, overwrite }),
        2 => (at(), key()).prop_map(|(at, key)| Request::Get { at, key }),
        1 => at().prop_map(|at| Request::List { at }),
        1 => at().prop_map(|at| Request::Export { at }),
        1 => (at(), key()).prop_map(|(at, key)| Request::History { at, key }),
    ];
    let environments = prop_oneof![
        2 => (at(), option::of(at()))
            .prop_map(|(name, parent)| Request::CreateEnvironment { name, parent }),
        3 => (at(), option::weighted(0.8, at()))
            .prop_map(|(name, parent)| Request::SetParent { name, parent }),
        1 => at().prop_map(|name| Request::DeleteEnvironment { name }),
    ];
    prop_oneof![5 => secrets, 2 => environments, 2 => members(), 1 => token_requests(tokens)]
        .boxed()
}

fn members() -> BoxedStrategy<Request> {
    use MemberAccess::{Admin, None, Read, Write};
    let member = || 0..2_usize;
    prop_oneof![
        4 => (at(), member(), select(vec![None, Read, Write, Admin]))
            .prop_map(|(at, member, access)| Request::Grant { at, member, access }),
        1 => (at(), member()).prop_map(|(at, member)| Request::Revoke { at, member }),
        1 => (member(), any::<bool>())
            .prop_map(|(member, is_admin)| Request::SetRole { member, is_admin }),
        1 => member().prop_map(|member| Request::Remove { member }),
        1 => member().prop_map(|member| Request::Invite { member }),
    ]
    .boxed()
}

fn token_requests(tokens: usize) -> BoxedStrategy<Request> {
    let permissions = select(vec![(true, false), (false, true), (true, true)]);
    let scope = option::of(subsequence(NAMES.to_vec(), 1..3));
    let create = (permissions, scope).prop_map(|((may_read, may_write), environments)| {
        Request::CreateToken { may_read, may_write, environments }
    });
    if tokens == 0 {
        return create.boxed();
    }
    let delete = (0..tokens).prop_map(|token| Request::DeleteToken { token });
    prop_oneof![2 => create, 1 => delete].boxed()
}

/// Strategy for environments. Most requests name one environment and one key, so that many find a
/// secret.
fn at() -> impl Strategy<Value = Name> {
    prop_oneof![Just("production"), select(NAMES.to_vec())]
}

fn key() -> impl Strategy<Value = Name> {
    prop_oneof![2 => Just("API_KEY"), 1 => select(KEYS.to_vec())]
}

/// Strategy for values of secrets; `None` hides a secret.
fn value() -> impl Strategy<Value = Option<u8>> {
    option::weighted(0.8, any::<u8>())
}

fn expected() -> impl Strategy<Value = Option<u32>> {
    option::weighted(0.2, 1..4_u32)
}
