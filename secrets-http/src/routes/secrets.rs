//! `/api/v1/projects/{projectId}/environments/{environmentId}/secrets`: secrets of an
//! environment.

use std::future::ready;

use bytes::Bytes;
use secrets_core::formats::Format;
use secrets_core::model::{Error, Violation};
use secrets_core::secrets::{
    CreateSecret, DeleteSecret, Export, ExportBundle, ExportSecrets, ExportedText, GetSecret,
    HistoryEntry, ImportSecrets, KeyRef, ListSecrets, NewBundle, NewSecret, ReadHistory,
    RollBackSecret, Rollback, Secret, SecretChange, SubmittedImport, UpdateSecret,
};
use warp::http::header::CONTENT_TYPE;
use warp::http::{HeaderValue, Method};
use warp::reply::Response;

use super::{import, known};
use crate::openapi::{Content, Described, Form, Variant};
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::conditions::WithTag;
use crate::serve::fault::Fault;
use crate::serve::reply::{Envelope, Render, Shape};
use crate::serve::request::{Head, Request};
use crate::serve::router::Route;
use crate::serve::target::Target;

const ALL: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets";
const EXPORT: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/export";
const BULK: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bulk";
const BUNDLE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/bundle";
const ONE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}";
const HISTORY: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}/history";
const ROLLBACK: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}/rollback";

/// Regular expression for a valid name of a Kubernetes Secret.
const KUBERNETES_NAME_PATTERN: &str =
    "^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$";

/// Variant of the schema of a secret, for responses that contain values or inherited secrets.
const SECRET_WITH_INHERITANCE: Variant =
    Variant { name: "SecretWithInheritance", present: &[], absent: &["value"] };
const SECRET_WITH_VALUE: Variant =
    Variant { name: "SecretWithValue", present: &["value"], absent: &["hidden", "restricted"] };
const SECRET_WITH_VALUE_AND_INHERITANCE: Variant =
    Variant { name: "SecretWithValueAndInheritance", ..SECRET_WITH_VALUE };

/// Names of the export formats that the query parameter `format` accepts.
const EXPORT_FORMATS: &[&str] = &["dotenv", "docker", "shell", "json", "yaml", "csv", "k8s"];
/// Names of the import formats that the query parameter `format` accepts.
const IMPORT_FORMATS: &[&str] = &["json", "yaml", "dotenv"];

pub(super) fn routes(api: &Api) -> Vec<Route> {
    environment_routes(api)
        .into_iter()
        .chain(secret_routes(api))
        .chain(version_routes(api))
        .collect()
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn environment_routes(api: &Api) -> Vec<Route> {
    let list = |request: Request| {
        known(ListSecrets {
            at: request.target.environment(),
            precondition: request.precondition(),
        })
    };
    let create = |request: Request| async move {
        Ok(CreateSecret {
            at: request.target.environment(),
            secret: request.body(LIMIT).json().await?,
        })
    };
    let export = |request: Request| ready(export(&request));
    let import = |request: Request| async move {
        Ok(ImportSecrets { at: request.target.environment(), import: import::read(request).await? })
    };
    vec![
        api.route(Method::GET, ALL, WithTag(Shape::Named("secrets")), list)
            .list_of::<Secret>()
            .variant(SECRET_WITH_INHERITANCE)
            .id("listSecrets")
            .summary(
                "List the secrets of an environment, including inherited ones, without values",
            ),
        api.route(Method::POST, ALL, Shape::CreatedNamed("secret"), create)
            .may_exceed_plan()
            .id("createSecret")
            .summary("Create a secret")
            .json_body::<NewSecret>()
            .may_conflict(),
        api.route(Method::GET, EXPORT, WithTag(Exported), export)
            .id("exportSecrets")
            .summary("Export all secrets of an environment with their values")
            .query(
                "format",
                Form::OneOf(EXPORT_FORMATS),
                "Export format (default: a JSON list with metadata)",
            )
            .query(
                "name",
                Form::Pattern(KUBERNETES_NAME_PATTERN),
                "Name of the Kubernetes Secret (default: the environment name)",
            )
            .response(200, export_contents()),
        bundle_route(api),
        api.route(Method::POST, BULK, Shape::Bare, import)
            .may_exceed_plan()
            .id("importSecrets")
            .summary("Import up to 100 secrets atomically")
            .json_body::<SubmittedImport>()
            .string_map_body()
            .text_body("text/plain")
            .query(
                "overwrite",
                Form::Flag,
                "If true, a file updates existing secrets (default: false)",
            )
            .query(
                "dry_run",
                Form::Flag,
                "If true, returns the plan of the import and imports nothing (default: false)",
            )
            .query(
                "format",
                Form::OneOf(IMPORT_FORMATS),
                "Format of a file (default: by media type)",
            ),
    ]
}

fn bundle_route(api: &Api) -> Route {
    let bundle = |request: Request| async move {
        Ok(ExportBundle {
            at: request.target.environment(),
            bundle: request.body(LIMIT).json().await?,
        })
    };
    api.route(Method::POST, BUNDLE, Shape::Bare, bundle)
        .id("exportBundle")
        .summary("Export all secrets of an environment as an encrypted offline bundle")
        .json_body::<NewBundle>()
        // A secret may have the key `bundle`.
        .shares_path()
}

fn secret_routes(api: &Api) -> [Route; 3] {
    let get = |request: Request| {
        known(GetSecret { at: request.target.environment(), key: key(&request.target) })
    };
    let delete = |request: Request| ready(delete(&request));
    [
        api.route(Method::GET, ONE, Shape::Named("secret"), get)
            .variant(SECRET_WITH_VALUE)
            .id("getSecret")
            .summary("Get a secret with its value"),
        api.route(Method::PUT, ONE, Shape::Named("secret"), update)
            .may_exceed_plan()
            .id("updateSecret")
            .summary("Update a secret (the previous value is kept in its history)")
            .json_body::<SecretChange>()
            .may_conflict(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .id("deleteSecret")
            .summary("Permanently delete a secret and its history")
            .query(
                "expected_version",
                Form::Number(0, u32::MAX),
                "Version that the secret must have for the deletion to happen",
            )
            .may_conflict(),
    ]
}

fn version_routes(api: &Api) -> [Route; 2] {
    let history = |request: Request| ready(history(&request.target));
    [
        api.route(Method::GET, HISTORY, Shape::Named("history"), history)
            .list_of::<HistoryEntry>()
            .id("listSecretVersions")
            .summary("List the previous versions of a secret, newest first")
            .query(
                "values",
                Form::Flag,
                "If true, includes the values (default: true for callers with write access)",
            )
            .query("before", Form::Number(0, u32::MAX), "Only versions older than this one")
            .query(
                "limit",
                Form::Number(1, 100),
                "Maximum number of versions, 1 to 100 (default: 100)",
            ),
        api.route(Method::POST, ROLLBACK, Shape::Named("secret"), roll_back)
            .may_exceed_plan()
            .id("rollBackSecret")
            .summary("Roll back a secret to an earlier version")
            .json_body::<Rollback>()
            .may_conflict(),
    ]
}

fn key(target: &Target) -> KeyRef {
    KeyRef::new(target.parameter("key"))
}

async fn update(request: Request) -> Result<UpdateSecret, Fault> {
    let head = request.head();
    let mut change: SecretChange = request.body(LIMIT).json().await?;
    change.expected_version = head.expected_version(change.expected_version)?;
    Ok(UpdateSecret { at: head.target.environment(), key: key(&head.target), change })
}

fn delete(request: &Head) -> Result<DeleteSecret, Fault> {
    let target = &request.target;
    let stated = target.number("expected_version")?;
    let expected_version = request.expected_version(stated)?;
    Ok(DeleteSecret { at: target.environment(), key: key(target), expected_version })
}

fn history(target: &Target) -> Result<ReadHistory, Fault> {
    Ok(ReadHistory {
        at: target.environment(),
        key: key(target),
        values: target.flag("values")?,
        before: target.number("before")?,
        limit: target.number("limit")?,
    })
}

async fn roll_back(request: Request) -> Result<RollBackSecret, Fault> {
    let head = request.head();
    let mut rollback: Rollback = request.body(LIMIT).json().await?;
    rollback.expected_version = head.expected_version(rollback.expected_version)?;
    Ok(RollBackSecret { at: head.target.environment(), key: key(&head.target), rollback })
}

fn export(request: &Head) -> Result<ExportSecrets, Fault> {
    let target = &request.target;
    let format = target.query("format")?.map(str::parse).transpose();
    let format = format.map_err(|rule: &str| Error::invalid("format", rule))?;
    let name = target.query("name")?.map(str::parse).transpose();
    let name = name.map_err(|broken: Violation| Error::Invalid(vec![broken.at("name")]))?;
    Ok(ExportSecrets {
        at: target.environment(),
        format,
        name,
        precondition: request.precondition(),
    })
}

/// Renders the response to an export: the list of secrets as JSON, or text with the media type of
/// the requested format.
#[derive(Debug, Clone, Copy)]
struct Exported;

impl Render<Export> for Exported {
    fn render(&self, export: &Export, envelope: Envelope) -> Response {
        match export {
            Export::List(secrets) => Shape::Named("secrets").render(secrets, envelope),
            Export::Text(exported) => text(exported),
        }
    }
}

fn export_contents() -> Vec<Content> {
    let list = Described::of::<Vec<Secret>>().under("secrets");
    let list = list.list_of::<Secret>().variant(SECRET_WITH_VALUE_AND_INHERITANCE);
    let yaml = Content { media: "application/yaml", described: Described::anything() };
    let json = Content::json(list.or(Described::texts()));
    vec![json, yaml, Content::text("text/plain"), Content::text("text/csv")]
}

fn text(exported: &ExportedText) -> Response {
    let mut response = Response::new(Bytes::from(exported.text.as_bytes().to_vec()).into());
    let media_type = HeaderValue::from_static(media_type(exported.format));
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

fn media_type(format: Format) -> &'static str {
    match format {
        Format::Dotenv | Format::Docker | Format::Shell => "text/plain; charset=utf-8",
        Format::Json => "application/json",
        Format::Yaml | Format::Kubernetes => "application/yaml",
        Format::Csv => "text/csv; charset=utf-8; header=present",
    }
}
