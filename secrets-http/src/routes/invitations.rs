//! `/api/v1/teams/{teamId}/invitations`, `/api/v1/invitations`, and the page behind the link in an
//! invitation e-mail.

use std::future::ready;

use secrets_core::invitations::{
    AcceptInvitation, InvitationPublicInfo, ListInvitations, ListMyInvitations, LookUpInvitation,
    ResendInvitation, RevokeInvitation, TeamInvitation,
};
use secrets_core::model::{BaseUrl, Error};
use warp::Filter as _;
use warp::http::Method;
use warp::http::header::CONTENT_TYPE;
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
const PAGE: &str = "/invitations/{token}";

/// Page behind an invitation link. The page is the same for valid and invalid tokens, because the
/// reader is not authenticated.
const PAGE_HTML: &str = include_str!("invitation.html");

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
    let page = target().map(|_| page());
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
        Route::public(Method::GET, PAGE, "invitation.page", page.boxed()),
    ]
}

fn list(target: &Target, links: Result<BaseUrl, Error>) -> Result<ListInvitations, Fault> {
    Ok(ListInvitations { team: target.id("teamId"), links: links? })
}

/// Serves the invitation page. The security headers, added to every response, prevent the page from
/// loading or running anything.
fn page() -> Response {
    let mut response = Response::new(PAGE_HTML.into());
    let kind = warp::http::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
