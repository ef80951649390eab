//! `/api/v1/teams/{teamId}/invitations` and `/api/v1/invitations`: invitations to teams.

use std::future::ready;

use secrets_core::invitations::{
    AcceptInvitation, InvitationPublicInfo, ListInvitations, ListMyInvitations, LookUpInvitation,
    ResendInvitation, RevokeInvitation, TeamInvitation,
};
use warp::http::Method;
use warp::reply::Response;

use super::known;
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::reply::Shape;
use crate::serve::request::{Head, Request};
use crate::serve::router::Route;

const TEAM_INVITATIONS: &str = "/api/v1/teams/{teamId}/invitations";
const TEAM_INVITATION: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}";
const RESEND: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}/resend";
const MINE: &str = "/api/v1/invitations";
const ONE: &str = "/api/v1/invitations/{token}";
const ACCEPT: &str = "/api/v1/invitations/{token}/accept";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = |request: Request| ready(list(&request));
    let revoke = |request: Request| {
        known(RevokeInvitation {
            team: request.target.id("teamId"),
            invitation: request.target.id("invitationId"),
        })
    };
    let resend = |request: Request| {
        known(ResendInvitation {
            team: request.target.id("teamId"),
            invitation: request.target.id("invitationId"),
        })
    };
    let mine = |_: Request| known(ListMyInvitations);
    let look_up = |request: Request| {
        known(LookUpInvitation { token: request.target.parameter("token").into() })
    };
    let accept = |request: Request| {
        known(AcceptInvitation { token: request.target.parameter("token").into() })
    };
    let sent = |(): &(), _| Response::default();
    vec![
        api.route(Method::GET, TEAM_INVITATIONS, Shape::Bare, list)
            .list_of::<TeamInvitation>()
            .id("listTeamInvitations")
            .summary("List the pending invitations of a team"),
        api.route(Method::DELETE, TEAM_INVITATION, Shape::Empty, revoke)
            .id("revokeInvitation")
            .summary("Revoke an invitation"),
        api.route(Method::POST, RESEND, sent, resend)
            .id("resendInvitation")
            .summary("Resend an invitation email with a new token")
            .response(200, Vec::new()),
        api.route(Method::GET, MINE, Shape::Bare, mine)
            .list_of::<InvitationPublicInfo>()
            .id("listMyInvitations")
            .summary("List the caller's own pending invitations"),
        api.route(Method::GET, ONE, Shape::Bare, look_up)
            .id("getInvitation")
            .summary("Get one of the caller's invitations by its token"),
        api.route(Method::POST, ACCEPT, Shape::Bare, accept)
            .id("acceptInvitation")
            .summary("Accept an invitation"),
    ]
}

fn list(request: &Head) -> Result<ListInvitations, Fault> {
    Ok(ListInvitations { team: request.target.id("teamId"), links: request.base_url()? })
}
