//! Commands of the program, with one module for each command.

pub(crate) mod api;
pub(crate) mod audit;
pub(crate) mod bundle;
pub(crate) mod check;
pub(crate) mod completion;
pub(crate) mod copy;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod env;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod invite;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod member;
pub(crate) mod open;
pub(crate) mod project;
pub(crate) mod rollback;
pub(crate) mod rotation;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod set;
pub(crate) mod status;
pub(crate) mod team;
pub(crate) mod token;
pub(crate) mod unset;
pub(crate) mod webhook;
pub(crate) mod whoami;

use crate::arguments::Command;
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;

/// Runs a command and returns its result.
pub(crate) async fn run(cx: &Invocation, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Login(login) => login.run(cx).await,
        Command::Logout(logout) => logout.run(cx).await,
        Command::Whoami(whoami) => whoami.run(cx).await,
        Command::Status(status) => status.run(cx).await,
        Command::Init(init) => init.run(cx).await,
        Command::Run(run) => run.run(cx).await,
        Command::List(list) => list.run(cx).await,
        Command::Get(get) => get.run(cx).await,
        Command::Set(set) => set.run(cx).await,
        Command::Unset(unset) => unset.run(cx).await,
        Command::Edit(edit) => edit.run(cx).await,
        Command::Export(export) => export.run(cx).await,
        Command::Import(import) => import.run(cx).await,
        Command::Diff(diff) => diff.run(cx).await,
        Command::Copy(copy) => copy.run(cx).await,
        Command::Check(check) => check.run(cx).await,
        Command::History(history) => history.run(cx).await,
        Command::Rollback(rollback) => rollback.run(cx).await,
        Command::Scan(scan) => scan.run(cx).await,
        Command::Env(env) => env.run(cx).await,
        Command::Project(project) => project.run(cx).await,
        Command::Team(team) => team.run(cx).await,
        Command::Member(member) => member.run(cx).await,
        Command::Invite(invite) => invite.run(cx).await,
        Command::Token(token) => token.run(cx).await,
        Command::Rotation(rotation) => rotation.run(cx).await,
        Command::Webhook(webhook) => webhook.run(cx).await,
        Command::Audit(audit) => audit.run(cx).await,
        Command::Bundle(bundle) => bundle.run(cx).await,
        Command::Open(open) => open.run(cx),
        Command::Api(api) => api.run(cx).await,
        Command::Completion(completion) => completion.run(cx),
        Command::Man(man) => man.run(cx),
    }
}
