//! `/api/v1/teams/{teamId}/members`: members of a team.

use secrets_core::invitations::{InviteMember, NewInvitation};
use secrets_core::members::{MemberChange, RemoveMember, UpdateMember};
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

const ALL: &str = "/api/v1/teams/{teamId}/members";
const ONE: &str = "/api/v1/teams/{teamId}/members/{userId}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let invite = |request: Request| async move {
        let (team, links) = (request.target.id("teamId"), request.base_url());
        let invitation = request.body(LIMIT).json().await?;
        Ok(InviteMember { team, invitation, links: links? })
    };
    let update = |request: Request| async move {
        Ok(UpdateMember {
            team: request.target.id("teamId"),
            user: request.target.id("userId"),
            change: request.body(LIMIT).json().await?,
        })
    };
    let remove = |request: Request| {
        known(RemoveMember { team: request.target.id("teamId"), user: request.target.id("userId") })
    };
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
