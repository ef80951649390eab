//! `/api/v1/teams/{teamId}/members`: members of a team.

use secrets_core::invitations::{InviteMember, NewInvitation};
use secrets_core::members::{MemberChange, RemoveMember, UpdateMember};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::links::base_url;
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const ALL: &str = "/api/v1/teams/{teamId}/members";
const ONE: &str = "/api/v1/teams/{teamId}/members/{userId}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let invite = target().and(body(LIMIT)).and(base_url()).map(
        |target: Target, body: Body, links| async move {
            Ok(InviteMember {
                team: target.id("teamId"),
                invitation: body.json().await?,
                links: links?,
            })
        },
    );
    let update = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(UpdateMember {
            team: target.id("teamId"),
            user: target.id("userId"),
            change: body.json().await?,
        })
    });
    let remove = target().map(|target: Target| {
        known(RemoveMember { team: target.id("teamId"), user: target.id("userId") })
    });
    vec![
        api.route(Method::POST, ALL, Shape::Created, invite)
            .may_exceed_plan()
            .id("inviteMember")
            .summary("Invite a user to a team by email")
            .json_body::<NewInvitation>(),
        api.route(Method::PATCH, ONE, Shape::Bare, update)
            .id("updateMember")
            .summary("Change a member's role")
            .json_body::<MemberChange>(),
        api.route(Method::DELETE, ONE, Shape::Empty, remove)
            .id("removeMember")
            .summary("Remove a member from a team, or leave the team"),
    ]
}
