//! Members of a team: their roles, and leaving. How they join: [`crate::invitations`].

mod remove;
mod update;

pub use remove::RemoveMember;
pub use update::{MemberChange, UpdateMember};

use crate::model::{Code, Error, Result, Role, Subject, UserId};
use crate::store::MemberRecord;

const OWNERS_ONLY: Error = Error::Forbidden("only an owner of the team may do this to an owner");

/// The member with this id.
fn member(members: &[MemberRecord], user: Option<UserId>) -> Result<&MemberRecord> {
    let found = members.iter().find(|member| Some(member.user) == user);
    found.ok_or(Error::NotFound(Subject::User))
}

/// Refuses that the last owner stops being one. Ask while the team is held, or two owners can let
/// each other go.
fn keep_an_owner(members: &[MemberRecord], leaving: &MemberRecord) -> Result<()> {
    let is_owner = |member: &&MemberRecord| member.role == Role::Owner;
    let mut others = members.iter().filter(is_owner).filter(|member| member.user != leaving.user);
    if leaving.role != Role::Owner || others.next().is_some() {
        return Ok(());
    }
    let reason = "a team keeps at least one owner: make another member an owner first";
    Err(Error::Refused { code: Code::SoleOwner, reason: reason.into() })
}
