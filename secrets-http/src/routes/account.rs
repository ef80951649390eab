//! `/api/v1/account`: the caller's account and data exports.

use secrets_core::account::{
    AccountArchive, AccountChange, AccountData, Confirmation, DeleteAccount, ExportAccount,
    ExportAccountSecrets, GetAccount, NewArchive, UpdateAccount,
};
use warp::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use warp::http::{HeaderValue, Method, StatusCode};
use warp::reply::Response;

use super::known;
use crate::openapi::{Content, Described};
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::{self, Envelope, Shape};
use crate::serve::request::Request;
use crate::serve::router::Route;

const ACCOUNT: &str = "/api/v1/account";
const EXPORT: &str = "/api/v1/account/data-export";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let get = |_: Request| known(GetAccount);
    let update = |request: Request| async {
        Ok(UpdateAccount { change: request.body(LIMIT).json().await? })
    };
    let delete = |request: Request| async {
        Ok(DeleteAccount { confirmation: request.body(LIMIT).json().await? })
    };
    let export = |_: Request| known(ExportAccount);
    let archive = |request: Request| async {
        let passphrase = request.body(LIMIT).json::<NewArchive>().await?.passphrase()?;
        Ok(ExportAccountSecrets { passphrase })
    };
    vec![
        api.route(Method::GET, ACCOUNT, Shape::Bare, get)
            .id("getAccount")
            .summary("Get the caller's account"),
        api.route(Method::PATCH, ACCOUNT, Shape::Bare, update)
            .id("updateAccount")
            .summary("Update the display name of the caller's account")
            .json_body::<AccountChange>(),
        api.route(Method::DELETE, ACCOUNT, Shape::Empty, delete)
            .id("deleteAccount")
            .summary("Delete the caller's account and the teams without other members")
            .json_body::<Confirmation>(),
        api.route(Method::GET, EXPORT, document, export)
            .id("exportAccountData")
            .summary("Export the data of the caller's account, without secret values")
            .response(200, vec![Content::json(Described::of::<AccountData>())]),
        api.route(Method::POST, EXPORT, file, archive)
            .id("exportAccountSecrets")
            .summary("Export all secrets the caller may read as a passphrase-encrypted archive")
            .json_body::<NewArchive>()
            .response(200, vec![Content::text("application/octet-stream")]),
    ]
}

fn document(data: &AccountData, envelope: Envelope) -> Response {
    let response = reply::object(StatusCode::OK, data, envelope);
    with_disposition(response, "attachment; filename=\"secrets-account.json\"")
}

fn file(archive: &AccountArchive, _: Envelope) -> Response {
    let mut response = Response::new(archive.0.clone().into());
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    with_disposition(response, "attachment; filename=\"secrets-account.scx\"")
}

fn with_disposition(mut response: Response, disposition: &'static str) -> Response {
    response.headers_mut().insert(CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    response
}
