//! `/api/v1/teams/{teamId}/invitations`, `/api/v1/invitations`, and the page behind the link in an
//! invitation e-mail.

use std::future::ready;

use secrets_core::invitations::{
    AcceptInvitation, InvitationPublicInfo, ListInvitations, ListMyInvitations, LookUpInvitation,
    ResendInvitation, RevokeInvitation, TeamInvitation,
};
use secrets_core::model::{BaseUrl, Error};
use warp::Filter as _;
use warp::http::{Method, StatusCode};
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

/// Page behind an invitation link. Apart from the token in its address, the page is the same for valid
/// and invalid tokens, because the reader is not authenticated.
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
    let page = target().and(base_url()).map(|target: Target, base: Result<BaseUrl, Error>| {
        page(target.parameter("token"), base.ok().as_ref())
    });
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

/// Serves the invitation page, with commands that contain the token and the address of the service. A
/// token or an address that a shell could interpret is replaced by a placeholder.
fn page(token: &str, base: Option<&BaseUrl>) -> Response {
    let is_plain = |text: &str, others: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let token = if is_plain(token, "-_") { token } else { "TOKEN" };
    let address = base.map(BaseUrl::as_str).filter(|address| is_plain(address, "-_.:/[]"));
    let content =
        PAGE_HTML.replace("{token}", token).replace("{address}", address.unwrap_or("ADDRESS"));
    super::page::page(StatusCode::OK, "You have been invited to a team", base, &content)
}
