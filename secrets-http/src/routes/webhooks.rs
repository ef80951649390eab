//! `/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/webhooks`:
//! webhooks of a rotation.

use secrets_core::rotations::webhooks::{
    CreateWebhook, DeleteWebhook, ListDeliveries, ListWebhooks, NewWebhook, Redeliver, TestWebhook,
    Webhook, WebhookDelivery,
};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::openapi::Variant;
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

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
    let list = target().map(|target: Target| {
        known(ListWebhooks { at: target.environment(), rotation: rotation(&target) })
    });
    let create = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        let (at, rotation) = (target.environment(), rotation(&target));
        Ok(CreateWebhook { at, rotation, webhook: body.json().await? })
    });
    let delete = target().map(|target: Target| {
        let (at, rotation) = (target.environment(), rotation(&target));
        known(DeleteWebhook { at, rotation, webhook: target.id("webhookId") })
    });
    let test = target().map(|target: Target| {
        let (at, rotation) = (target.environment(), rotation(&target));
        known(TestWebhook { at, rotation, webhook: target.id("webhookId") })
    });
    let deliveries = target().map(|target: Target| {
        let (at, rotation) = (target.environment(), rotation(&target));
        known(ListDeliveries { at, rotation, webhook: target.id("webhookId") })
    });
    let redeliver = target().map(|target: Target| {
        let (at, rotation) = (target.environment(), rotation(&target));
        let (webhook, delivery) = (target.id("webhookId"), target.id("deliveryId"));
        known(Redeliver { at, rotation, webhook, delivery })
    });
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

fn rotation(target: &Target) -> String {
    target.parameter("rotationName").to_owned()
}
