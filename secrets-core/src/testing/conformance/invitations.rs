//! Conformance rules for invitations.

use std::slice::from_ref;

use chrono::TimeDelta;

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::crypto::{TokenMac, random};
use crate::model::{InvitationId, Role, Subject};
use crate::store::{InvitationRecord, Store, TeamRecord, UserRecord};
use crate::testing::fixtures::{World, at, invitation};

/// An invitation is found by its ID, token MAC, team and e-mail address, with all its fields.
pub async fn an_invitation_is_found_by_id_hash_team_and_address(store: &dyn Store) {
    let world = World::build(store).await;
    let full = InvitationRecord {
        role: Role::Admin,
        mac: TokenMac([0, 1, 127, 128, 254, 255, b'\'', b'\\'].repeat(4).try_into().unwrap()),
        times_sent: 7,
        created_at: at(1),
        last_sent_at: at(2),
        expires_at: at(3),
        ..invitation(&world.team, &world.owner, "o'néill+x@exämple.com")
    };
    let mut tx = begin(store).await;

    tx.insert_invitation(&full).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.invitation(full.id).await.unwrap(), Some(full.clone()));
    assert_eq!(seen.invitation_by_mac(&full.mac).await.unwrap(), Some(full.clone()));
    assert_eq!(seen.invitations(world.team.id).await.unwrap(), from_ref(&full));
    assert_eq!(seen.invitations_to(&full.email).await.unwrap(), [full]);
}

/// A lookup by an unknown ID, MAC, team or address finds no invitation, even if the value is
/// similar to a known one.
pub async fn an_unknown_invitation_is_not_found(store: &dyn Store) {
    let world = World::build(store).await;
    let known = invitation(&world.team, &world.owner, "new@example.com");
    let mut tx = begin(store).await;
    tx.insert_invitation(&known).await.unwrap();
    let mut close = known.mac.0;
    close[31] ^= 1;

    let mut seen = committed(store, tx).await;

    assert_eq!(seen.invitation(InvitationId::draw(at(0))).await.unwrap(), None);
    assert_eq!(seen.invitation_by_mac(&TokenMac(close)).await.unwrap(), None);
    assert_eq!(seen.invitations(world.other_team.id).await.unwrap(), []);
    let other = "newer@example.com".parse().unwrap();
    assert_eq!(seen.invitations_to(&other).await.unwrap(), []);
}

/// Inviting an address twice to the same team fails with `Duplicate`. An address may be invited to
/// several teams.
pub async fn an_address_is_invited_to_a_team_once(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.insert_invitation(&invitation(&world.team, &world.owner, "x@example.com")).await.unwrap();

    let again = invitation(&world.team, &world.member, "x@example.com");
    let elsewhere = invitation(&world.other_team, &world.outsider, "x@example.com");

    assert_duplicate(tx.insert_invitation(&again).await, Subject::Invitation);
    tx.insert_invitation(&elsewhere).await.unwrap();
    let found = committed(store, tx).await.invitations_to(&again.email).await.unwrap();
    assert_eq!(found.len(), 2);
}

/// Two invitations cannot have the same token MAC.
pub async fn an_invitation_hash_is_unique(store: &dyn Store) {
    let world = World::build(store).await;
    let first = invitation(&world.team, &world.owner, "x@example.com");
    let second = InvitationRecord {
        mac: first.mac,
        ..invitation(&world.other_team, &world.outsider, "y@example.com")
    };
    let mut tx = begin(store).await;
    tx.insert_invitation(&first).await.unwrap();

    assert_duplicate(tx.insert_invitation(&second).await, Subject::Invitation);
}

/// Invitations are listed in order of creation, even if they were sent again later.
pub async fn invitations_come_oldest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let made = |age, email: &str| InvitationRecord {
        created_at: at(age),
        last_sent_at: at(100 - age),
        ..invitation(&world.team, &world.owner, email)
    };
    let all = [made(30, "a@example.com"), made(10, "b@example.com"), made(20, "c@example.com")];
    let mut tx = begin(store).await;

    for invitation in &all {
        tx.insert_invitation(invitation).await.unwrap();
    }

    let found = committed(store, tx).await.invitations(world.team.id).await.unwrap();
    let found: Vec<_> = found.iter().map(|invitation| invitation.email.as_str()).collect();
    assert_eq!(found, ["b@example.com", "c@example.com", "a@example.com"]);
}

/// An invitation is loaded with the current names of the team and the inviter.
pub async fn an_invitation_names_team_and_inviter_as_they_are_now(store: &dyn Store) {
    let world = World::build(store).await;
    let sent = invitation(&world.team, &world.owner, "x@example.com");
    let renamed = UserRecord {
        name: "Néw".to_owned(),
        email: "new@example.com".to_owned(),
        ..world.owner.clone()
    };
    let mut tx = begin(store).await;
    let forgotten = TeamRecord { name: "not kept".parse().unwrap(), ..world.team.clone() };
    let written = InvitationRecord { team_name: forgotten.name, ..sent.clone() };
    tx.insert_invitation(&written).await.unwrap();

    tx.update_user(&renamed).await.unwrap();

    let found = committed(store, tx).await.invitation(sent.id).await.unwrap();
    let expected =
        InvitationRecord { inviter_name: renamed.name, inviter_email: renamed.email, ..sent };
    assert_eq!(found, Some(expected));
}

/// After an invitation is sent again, it is found only by the MAC of its new token.
pub async fn an_invitation_that_is_sent_again_is_found_by_its_new_hash(store: &dyn Store) {
    let world = World::build(store).await;
    let first = invitation(&world.team, &world.owner, "x@example.com");
    let second = InvitationRecord {
        mac: TokenMac(random()),
        times_sent: 2,
        last_sent_at: at(60),
        expires_at: at(120),
        ..first.clone()
    };
    let mut tx = begin(store).await;
    tx.insert_invitation(&first).await.unwrap();

    tx.resend_invitation(&second).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.invitation_by_mac(&first.mac).await.unwrap(), None);
    assert_eq!(seen.invitation_by_mac(&second.mac).await.unwrap(), Some(second));
}

/// If an invitation was sent again after its record was read, sending it again or deleting it with
/// the old record fails with `Stale`.
pub async fn a_concurrently_resent_invitation_is_stale(store: &dyn Store) {
    let world = World::build(store).await;
    let first = invitation(&world.team, &world.owner, "x@example.com");
    let second = InvitationRecord { mac: TokenMac(random()), times_sent: 2, ..first.clone() };
    let late = InvitationRecord { mac: TokenMac(random()), ..second.clone() };
    let mut tx = begin(store).await;
    tx.insert_invitation(&first).await.unwrap();
    tx.resend_invitation(&second).await.unwrap();

    assert_stale(tx.resend_invitation(&late).await, Subject::Invitation);
    assert_stale(tx.delete_invitation(&first).await, Subject::Invitation);

    assert_eq!(committed(store, tx).await.invitation(first.id).await.unwrap(), Some(second));
}

/// An invitation can be deleted only once. After that, its address can be invited again.
pub async fn a_deleted_invitation_is_gone(store: &dyn Store) {
    let world = World::build(store).await;
    let [gone, kept] = ["gone@example.com", "kept@example.com"]
        .map(|email| invitation(&world.team, &world.owner, email));
    let anew = invitation(&world.team, &world.owner, "gone@example.com");
    let mut tx = begin(store).await;
    for invitation in [&gone, &kept] {
        tx.insert_invitation(invitation).await.unwrap();
    }

    tx.delete_invitation(&gone).await.unwrap();

    assert_stale(tx.delete_invitation(&gone).await, Subject::Invitation);
    assert_eq!(tx.invitations(world.team.id).await.unwrap(), [kept]);
    tx.insert_invitation(&anew).await.unwrap();
    assert_eq!(committed(store, tx).await.invitation_by_mac(&gone.mac).await.unwrap(), None);
}

/// `count_members_and_invitations` counts the members of a team and its invitations that have not
/// expired.
pub async fn members_and_invitations_are_counted_together(store: &dyn Store) {
    let world = World::build(store).await;
    let until = |end, email: &str| InvitationRecord {
        expires_at: at(end),
        ..invitation(&world.team, &world.owner, email)
    };
    let mut tx = begin(store).await;
    tx.lock_team(world.team.id).await.unwrap();

    tx.insert_invitation(&until(100, "a@example.com")).await.unwrap();
    tx.insert_invitation(&until(200, "b@example.com")).await.unwrap();

    assert_eq!(tx.count_members_and_invitations(world.team.id, at(0)).await.unwrap(), 4);
    let just_before = at(100) - TimeDelta::microseconds(1);
    assert_eq!(tx.count_members_and_invitations(world.team.id, just_before).await.unwrap(), 4);
    assert_eq!(tx.count_members_and_invitations(world.team.id, at(100)).await.unwrap(), 3);
    assert_eq!(tx.count_members_and_invitations(world.other_team.id, at(0)).await.unwrap(), 1);
}

/// `delete_expired_invitations` deletes the expired invitations of one team, and nothing else.
pub async fn expired_invitations_are_deleted_in_their_team(store: &dyn Store) {
    let world = World::build(store).await;
    let ended = |email: &str| InvitationRecord {
        expires_at: at(100),
        ..invitation(&world.team, &world.owner, email)
    };
    let here = ended("a@example.com");
    let there = InvitationRecord { team: world.other_team.id, ..ended("a@example.com") };
    let there = InvitationRecord { mac: TokenMac(random()), ..there };
    let there = InvitationRecord { id: InvitationId::draw(at(0)), ..there };
    let live = invitation(&world.team, &world.owner, "b@example.com");
    let mut tx = begin(store).await;
    for invitation in [&here, &there, &live] {
        tx.insert_invitation(invitation).await.unwrap();
    }

    tx.delete_expired_invitations(world.team.id, at(100)).await.unwrap();

    tx.commit().await.unwrap();
    let mut seen = read(store).await;
    assert_eq!(seen.invitations(world.team.id).await.unwrap(), [live]);
    assert_eq!(seen.invitations(world.other_team.id).await.unwrap().len(), 1);
}
