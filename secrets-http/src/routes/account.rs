//! `/api/v1/account`: the caller's account and data exports.

use std::sync::Arc;

use secrets_core::account::{AccountArchive, AccountChange, AccountData, Confirmation, DeleteAccount, ExportAccount, GetAccount, NewArchive, TakeAccountSecrets, UpdateAccount};
use secrets_core::engine::Caller;
use secrets_core::model::{Clock, Error, UserId};
use secrets_core::limits::RateLimiter;
use warp::Filter as _;
use warp::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use warp::http::{HeaderValue, Method, StatusCode};
use warp::reply::Response;

use super::known;
use crate::api::Api;
use crate::body::{Body, LIMIT, body};
use crate::fault::Fault;
use crate::gate::within;
use crate::openapi::{Content, Described};
use crate::reply::{Shape, self};
use crate::router::Route;
use crate::target::target;

const ACCOUNT: &str = "/api/v1/account";
const EXPORT: &str = "/api/v1/account/data-export";

/// Maximum number of exports per user and hour. Counted separately by each node.
const MAX_EXPORTS_PER_HOUR: u32 = 5;

/// State shared by the two export endpoints.
#[derive(Clone)]
struct Exports {
    clock: Arc<dyn Clock>,
    people: Arc<RateLimiter<UserId>>,
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let exports = Exports {
        clock: Arc::clone(&api.clock),
        people: Arc::new(RateLimiter::hourly(MAX_EXPORTS_PER_HOUR)),
    };
    let get = target().map(|_| known(GetAccount));
    let update =
        body(LIMIT).map(|body: Body| async { Ok(UpdateAccount { change: body.json().await? }) });
    let delete = body(LIMIT)
        .map(|body: Body| async { Ok(DeleteAccount { confirmation: body.json().await? }) });
    let json_exports = exports.clone();
    let export = warp::ext::get::<Caller>().map(move |caller: Caller| {
        let exports = json_exports.clone();
        async move {
            exports.count(&caller)?;
            Ok(ExportAccount)
        }
    });
    let archive =
        body(LIMIT).and(warp::ext::get::<Caller>()).map(move |body: Body, caller: Caller| {
            let exports = exports.clone();
            async move { exports.archive(body, &caller).await }
        });
    vec![
        api.route(Method::GET, ACCOUNT, Shape::Bare, get).says("Get the account"),
        api.route(Method::PATCH, ACCOUNT, Shape::Bare, update)
            .says("Update the account's display name")
            .takes::<AccountChange>(),
        api.route(Method::DELETE, ACCOUNT, Shape::Empty, delete)
            .says("Delete the account and the teams without other members")
            .takes::<Confirmation>(),
        api.route(Method::GET, EXPORT, document, export)
            .says("Export the account's data, without secret values")
            .gives(200, vec![Content::json(Described::of::<AccountData>())]),
        api.route(Method::POST, EXPORT, file, archive)
            .says("Export all readable secrets as a passphrase-encrypted archive")
            .takes::<NewArchive>()
            .gives(200, vec![Content::text("application/octet-stream")]),
    ]
}

impl Exports {
    /// Counts an export by the caller. Fails with `RateLimited` above the hourly limit.
    fn count(&self, caller: &Caller) -> Result<(), Error> {
        within(self.people.count(caller.person()?.id, self.clock.now()))
    }

    async fn archive(&self, body: Body, caller: &Caller) -> Result<TakeAccountSecrets, Fault> {
        let passphrase = body.json::<NewArchive>().await?.passphrase()?;
        self.count(caller)?;
        Ok(TakeAccountSecrets { passphrase })
    }
}

fn document(data: &AccountData) -> Response {
    let response = reply::json(StatusCode::OK, data);
    with_disposition(response, "attachment; filename=\"secrets-account.json\"")
}

fn file(archive: &AccountArchive) -> Response {
    let mut response = Response::new(archive.0.clone().into());
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    with_disposition(response, "attachment; filename=\"secrets-account.scx\"")
}

fn with_disposition(mut response: Response, disposition: &'static str) -> Response {
    response.headers_mut().insert(CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    response
}
