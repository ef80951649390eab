//! `/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks`:
//! webhooks of a rotation.

use secrets_core::rotations::webhooks::{
    CreateWebhook, DeleteWebhook, ListDeliveries, ListWebhooks, NewWebhook, Redeliver, TestWebhook,
    Webhook, WebhookDelivery,
};
use warp::http::Method;

use super::known;
use super::rotations::path_and_name;
use crate::openapi::Variant;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

const ALL: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks";
const ONE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}";
const TEST: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/test";
const DELIVERIES: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/deliveries";
const REDELIVER: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver";

/// Variant of the schema of a webhook that contains its signing secret. Only the creation of a
/// webhook returns it.
const WEBHOOK_WITH_SECRET: Variant =
    Variant { name: "RotationWebhookWithSecret", present: &["secret"], absent: &[] };

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = |request: Request| {
        let (at, rotation) = path_and_name(&request.target);
        known(ListWebhooks { at, rotation })
    };
    let create = |request: Request| async move {
        let (at, rotation) = path_and_name(&request.target);
        Ok(CreateWebhook { at, rotation, webhook: request.body(LIMIT).json().await? })
    };
    let delete = |request: Request| {
        let (at, rotation) = path_and_name(&request.target);
        known(DeleteWebhook { at, rotation, webhook: request.target.id("webhookId") })
    };
    let test = |request: Request| {
        let (at, rotation) = path_and_name(&request.target);
        known(TestWebhook { at, rotation, webhook: request.target.id("webhookId") })
    };
    let deliveries = |request: Request| {
        let (at, rotation) = path_and_name(&request.target);
        known(ListDeliveries { at, rotation, webhook: request.target.id("webhookId") })
    };
    let redeliver = |request: Request| {
        let (at, rotation) = path_and_name(&request.target);
        let (webhook, delivery) = (request.target.id("webhookId"), request.target.id("deliveryId"));
        known(Redeliver { at, rotation, webhook, delivery })
    };
    vec![
        api.route(Method::GET, ALL, Shape::Bare, list)
            .list_of::<Webhook>()
            .id("listWebhooks")
            .summary("List the webhooks of a rotation"),
        api.route(Method::POST, ALL, Shape::Created, create)
            .variant(WEBHOOK_WITH_SECRET)
            .id("createWebhook")
            .summary("Create a webhook (its signing secret is returned only once)")
            .json_body::<NewWebhook>(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .id("deleteWebhook")
            .summary("Delete a webhook"),
        api.route(Method::POST, TEST, Shape::Bare, test)
            .id("testWebhook")
            .summary("Send a test event to a webhook"),
        api.route(Method::GET, DELIVERIES, Shape::Named("deliveries"), deliveries)
            .list_of::<WebhookDelivery>()
            .id("listWebhookDeliveries")
            .summary("List the deliveries of a webhook"),
        api.route(Method::POST, REDELIVER, Shape::Bare, redeliver)
            .id("redeliverWebhookEvent")
            .summary("Resend a delivery to a webhook"),
    ]
}
