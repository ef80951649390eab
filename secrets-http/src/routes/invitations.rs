//! `/api/v1/teams/{teamId}/invitations`, `/api/v1/invitations`, and the page an invitation leads to

use std::future::ready;

use secrets_core::model::{BaseUrl, Error};
use secrets_core::invitations::{AcceptInvitation, ListInvitations, ListMyInvitations, LookUpInvitation, ResendInvitation, RevokeInvitation};
use warp::Filter as _;
use warp::http::Method;
use warp::http::header::CONTENT_TYPE;
use warp::reply::Response;

use super::known;
use crate::api::Api;
use crate::fault::Fault;
use crate::links::base_url;
use crate::reply::Shape;
use crate::router::Route;
use crate::target::{Target, target};

const OF_TEAM: &str = "/api/v1/teams/{teamId}/invitations";
const ONE_OF_TEAM: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}";
const RESEND: &str = "/api/v1/teams/{teamId}/invitations/{invitationId}/resend";
const MINE: &str = "/api/v1/invitations";
const ONE: &str = "/api/v1/invitations/{token}";
const ACCEPT: &str = "/api/v1/invitations/{token}/accept";
const PAGE: &str = "/invitations/{token}";

/// What whoever follows the link of an invitation reads. It is the same for every token, good or
/// not: who reads it has proved nothing.
const TEXT: &str = include_str!("invitation.html");

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
    let sent = |(): &()| Response::default();
    vec![
        api.route(Method::GET, OF_TEAM, Shape::Bare, list)
            .says("List the pending invitations of a team"),
        api.route(Method::DELETE, ONE_OF_TEAM, Shape::Empty, revoke).says("Revoke an invitation"),
        api.route(Method::POST, RESEND, sent, resend)
            .says("Send an invitation again, with a new token")
            .gives(200, Vec::new()),
        api.route(Method::GET, MINE, Shape::Bare, mine).says("List one's own pending invitations"),
        api.route(Method::GET, ONE, Shape::Bare, look_up).says("See an invitation"),
        api.route(Method::POST, ACCEPT, Shape::Bare, accept).says("Accept an invitation"),
        Route::public(Method::GET, PAGE, "invitation.page", page.boxed()),
    ]
}

fn list(target: &Target, links: Result<BaseUrl, Error>) -> Result<ListInvitations, Fault> {
    Ok(ListInvitations { team: target.id("teamId"), links: links? })
}

/// The host's own headers keep it from loading or running anything.
fn page() -> Response {
    let mut response = Response::new(TEXT.into());
    let kind = warp::http::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
