//! `/api/v1/projects/{projectId}/environments/{environmentId}/secrets`

use secrets_core::error::Error;
use secrets_core::formats::dotenv;
use secrets_core::secrets::{
    CreateSecret, DeleteSecret, ExportSecrets, GetSecret, Import, ImportSecrets, ImportedSecret,
    KeyRef, ListSecrets, SubmittedImport, UpdateSecret,
};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::api::Api;
use crate::body::{BULK_LIMIT, Body, LIMIT, body};
use crate::fault::Fault;
use crate::reply::Shape;
use crate::router::Route;
use crate::target::{Target, target};

const ALL: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets";
const EXPORT: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/export";
const BULK: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bulk";
const ONE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = target().map(|target: Target| known(ListSecrets { at: target.environment() }));
    let create = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(CreateSecret { at: target.environment(), secret: body.json().await? })
    });
    let export = target().map(|target: Target| known(ExportSecrets { at: target.environment() }));
    let import = target().and(body(BULK_LIMIT)).map(|target: Target, body: Body| async move {
        Ok(ImportSecrets { at: target.environment(), import: import(&target, body).await? })
    });
    let get = target()
        .map(|target: Target| known(GetSecret { at: target.environment(), key: key(&target) }));
    let update = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(UpdateSecret { at: target.environment(), key: key(&target), change: body.json().await? })
    });
    let delete = target()
        .map(|target: Target| known(DeleteSecret { at: target.environment(), key: key(&target) }));
    vec![
        api.route(Method::GET, ALL, Shape::Named("secrets"), list),
        api.route(Method::POST, ALL, Shape::CreatedNamed("secret"), create),
        api.route(Method::GET, EXPORT, Shape::Named("secrets"), export),
        api.route(Method::POST, BULK, Shape::Bare, import),
        api.route(Method::GET, ONE, Shape::Named("secret"), get),
        api.route(Method::PUT, ONE, Shape::Named("secret"), update),
        api.route(Method::DELETE, ONE, Shape::Empty, delete),
    ]
}

fn key(target: &Target) -> KeyRef {
    KeyRef::new(target.parameter("key"))
}

/// Secrets to import: a JSON document, or a `.env` file as `text/plain` with `?overwrite=`.
async fn import(target: &Target, body: Body) -> Result<Import, Fault> {
    if !body.is_text() {
        return Ok(body.json::<SubmittedImport>().await?.try_into()?);
    }
    let overwrite = match target.query("overwrite")? {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(Error::invalid("overwrite", "must be true or false").into()),
    };
    let text = body.text().await?;
    let secrets = dotenv::parse(&text).map_err(|bad| Error::invalid("body", bad.to_string()))?;
    let secrets = secrets
        .into_iter()
        .map(|(key, value)| ImportedSecret { key, value, description: None })
        .collect();
    Ok(Import { secrets, overwrite })
}
