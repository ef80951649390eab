//! `/api/v1/account`

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

/// How often a person may export in an hour, from this node.
const EXPORTS: u32 = 5;

/// What exports have in common.
#[derive(Clone)]
struct Exports {
    clock: Arc<dyn Clock>,
    people: Arc<RateLimiter<UserId>>,
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let exports =
        Exports { clock: Arc::clone(&api.clock), people: Arc::new(RateLimiter::hourly(EXPORTS)) };
    let get = target().map(|_| known(GetAccount));
    let update =
        body(LIMIT).map(|body: Body| async { Ok(UpdateAccount { change: body.json().await? }) });
    let delete = body(LIMIT)
        .map(|body: Body| async { Ok(DeleteAccount { confirmation: body.json().await? }) });
    let counted = exports.clone();
    let export = warp::ext::get::<Caller>().map(move |caller: Caller| {
        let exports = counted.clone();
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
        api.route(Method::GET, ACCOUNT, Shape::Bare, get).says("See the account"),
        api.route(Method::PATCH, ACCOUNT, Shape::Bare, update)
            .says("Rename it")
            .takes::<AccountChange>(),
        api.route(Method::DELETE, ACCOUNT, Shape::Empty, delete)
            .says("Delete it, with the teams that nobody else is in")
            .takes::<Confirmation>(),
        api.route(Method::GET, EXPORT, document, export)
            .says("Take along what is kept of one, without values")
            .gives(200, vec![Content::json(Described::of::<AccountData>())]),
        api.route(Method::POST, EXPORT, file, archive)
            .says("Take along what one may read, under a passphrase")
            .takes::<NewArchive>()
            .gives(200, vec![Content::text("application/octet-stream")]),
    ]
}

impl Exports {
    /// Counts an export of the caller's, and refuses it if it is one too many.
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
    attached(response, "attachment; filename=\"secrets-account.json\"")
}

fn file(archive: &AccountArchive) -> Response {
    let mut response = Response::new(archive.0.clone().into());
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    attached(response, "attachment; filename=\"secrets-account.scx\"")
}

fn attached(mut response: Response, disposition: &'static str) -> Response {
    response.headers_mut().insert(CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    response
}
