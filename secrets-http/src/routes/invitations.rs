//! `/api/v1/teams/{teamId}/invitations` and `/api/v1/invitations`: invitations to teams.

use std::future::ready;

use secrets_core::invitations::{
    AcceptInvitation, InvitationPublicInfo, ListInvitations, ListMyInvitations, LookUpInvitation,
    ResendInvitation, RevokeInvitation, TeamInvitation,
};
use secrets_core::model::{BaseUrl, Error};
use warp::Filter as _;
use warp::http::Method;
use warp::reply::Response;

use super::known;
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::links::base_url;
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const TEAM_INVITATIONS: &str = "/api/v1/teams/{teamId}/invitations";
const TEAM_INVITATION: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}";
const RESEND: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}/resend";
const MINE: &str = "/api/v1/invitations";
const ONE: &str = "/api/v1/invitations/{token}";
const ACCEPT: &str = "/api/v1/invitations/{token}/accept";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = target().and(base_url()).map(|target, links| ready(list(&target, links)));
    let revoke = target().map(|target: Target| {
        known(RevokeInvitation { team: target.id("teamId"), invitation: target.id("invitationId") })
    });
    let resend = target().map(|target: Target| {
        known(ResendInvitation { team: target.id("teamId"), invitation: target.id("invitationId") })
    });
    let mine = target().map(|_| known(ListMyInvitations));
    let look_up = target()
        .map(|target: Target| known(LookUpInvitation { token: target.parameter("token").into() }));
    let accept = target()
        .map(|target: Target| known(AcceptInvitation { token: target.parameter("token").into() }));
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

fn list(target: &Target, links: Result<BaseUrl, Error>) -> Result<ListInvitations, Fault> {
    Ok(ListInvitations { team: target.id("teamId"), links: links? })
}
