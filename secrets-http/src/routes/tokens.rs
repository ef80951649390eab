//! `/api/v1/tokens`: listing, creating, rotating and revoking service tokens.

use std::future::ready;

use secrets_core::model::{Error, ids};
use secrets_core::tokens::{
    CreateToken, DeleteToken, ListTokens, NewToken, RotateToken, ServiceToken, TokenRotation,
};
use warp::http::Method;

use super::known;
use crate::openapi::{Form, Variant};
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::fault::Fault;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;
use crate::serve::target::Target;

/// Variant of the schema of a service token that contains the token's text. Only creation and
/// rotation return it.
const TOKEN_WITH_TEXT: Variant =
    Variant { name: "ServiceTokenWithToken", present: &["token"], absent: &[] };

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = |request: Request| ready(list(&request.target));
    let create =
        |request: Request| async { Ok(CreateToken { token: request.body(LIMIT).json().await? }) };
    let delete = |request: Request| known(DeleteToken { token: request.target.id("id") });
    let rotate = |request: Request| async move {
        Ok(RotateToken {
            token: request.target.id("id"),
            rotation: request.body(LIMIT).json_if_any().await?,
        })
    };
    vec![
        api.route(Method::GET, "/api/v1/tokens", Shape::Named("tokens"), list)
            .list_of::<ServiceToken>()
            .id("listTokens")
            .summary("List service tokens")
            .query(
                "team_id",
                Form::Id,
                "Only tokens of this team (default: all teams the caller administers)",
            ),
        api.route(Method::POST, "/api/v1/tokens", Shape::Created, create)
            .variant(TOKEN_WITH_TEXT)
            .may_exceed_plan()
            .id("createToken")
            .summary("Create a service token (its text is returned only once)")
            .json_body::<NewToken>(),
        api.route(Method::POST, "/api/v1/tokens/{id}/rotate", Shape::Bare, rotate)
            .variant(TOKEN_WITH_TEXT)
            .id("rotateToken")
            .summary("Rotate a service token (the new text is returned only once)")
            .optional_json_body::<TokenRotation>(),
        api.route(Method::DELETE, "/api/v1/tokens/{id}", Shape::Empty, delete)
            .id("deleteToken")
            .summary("Delete a service token"),
    ]
}

fn list(target: &Target) -> Result<ListTokens, Fault> {
    let Some(team) = target.query("team_id")? else { return Ok(ListTokens { team: None }) };
    let team = ids::parse(team).ok_or_else(|| Error::invalid("team_id", "must be a UUID"))?;
    Ok(ListTokens { team: Some(team.into()) })
}
