//! `webhook`: manages the webhooks of a rotation.

use clap::{Args, Subcommand};
use secrets_core::model::rotations::WebhookEvent;
use serde::Serialize;

use crate::arguments::named;
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;
use crate::output::Column;
use crate::resource::{Kind, Resource};

const WEBHOOKS: Kind = Kind {
    noun: "webhook",
    list: "webhooks",
    id: "id",
    names: &["url"],
    columns: &[
        Column::new("ID", "id"),
        Column::new("URL", "url"),
        Column::new("EVENTS", "events"),
        Column::new("ENABLED", "enabled"),
        Column::time("CREATED", "created_at"),
        // Present only in the response to the creation.
        Column::new("SIGNING SECRET", "secret"),
    ],
};

const LISTED: Kind = Kind { columns: WEBHOOKS.columns.first_chunk::<5>().unwrap(), ..WEBHOOKS };

const DELIVERIES: Kind = Kind {
    noun: "delivery",
    list: "deliveries",
    id: "id",
    names: &[],
    columns: &[
        Column::new("ID", "id"),
        Column::new("EVENT", "event"),
        Column::new("STATUS", "status"),
        Column::new("RESPONSE", "response_status"),
        Column::new("ATTEMPTS", "attempts"),
        Column::time("NEXT ATTEMPT", "next_attempt_at"),
        Column::time("CREATED", "created_at"),
    ],
};

/// Options of the command `secrets webhook`.
#[derive(Debug, Args)]
pub(crate) struct Webhook {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the webhooks of a rotation.
    List {
        /// Name of the rotation.
        rotation: String,
    },
    /// Create a webhook and print its signing secret, which is shown only once.
    Create {
        /// Name of the rotation.
        rotation: String,
        #[command(flatten)]
        webhook: NewWebhook,
    },
    /// Send a test event to a webhook.
    Test(One),
    /// List the deliveries of a webhook.
    Deliveries(One),
    /// Send a delivery of a webhook again.
    Redeliver {
        #[command(flatten)]
        webhook: One,
        /// ID of the delivery.
        delivery: String,
    },
    /// Delete a webhook.
    Delete {
        #[command(flatten)]
        webhook: One,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

/// Arguments that select a webhook of a rotation.
#[derive(Debug, Args)]
struct One {
    /// Name of the rotation.
    rotation: String,
    /// Webhook: its ID or URL.
    webhook: String,
}

#[derive(Debug, Args, Serialize)]
struct NewWebhook {
    /// Address that receives the events.
    url: String,
    /// Events that are sent to the webhook, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = named(WebhookEvent::ALL),
        default_value = "rotation.completed,rotation.failed"
    )]
    events: Vec<WebhookEvent>,
}

impl Webhook {
    /// Runs the chosen subcommand of `webhook`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let webhooks = Resource::connect(cx, &WEBHOOKS)?;
        let place = cx.place(&webhooks.service).await?;
        match self.action {
            Action::List { rotation } => {
                let path = place.path(&["rotations", &rotation, "webhooks"]);
                Resource::connect(cx, &LISTED)?.list(&path).await
            }
            Action::Create { rotation, webhook } => {
                let path = place.path(&["rotations", &rotation, "webhooks"]);
                webhooks.create(&path, &webhook).await
            }
            Action::Test(one) => {
                let (deliveries, id) = one.connect(cx, &webhooks).await?;
                deliveries.post(&place.path(&one.path(&id, &["test"]))).await
            }
            Action::Deliveries(one) => {
                let (deliveries, id) = one.connect(cx, &webhooks).await?;
                deliveries.list(&place.path(&one.path(&id, &["deliveries"]))).await
            }
            Action::Redeliver { webhook, delivery } => {
                let (deliveries, id) = webhook.connect(cx, &webhooks).await?;
                let path = webhook.path(&id, &["deliveries", &delivery, "redeliver"]);
                deliveries.post(&place.path(&path)).await
            }
            Action::Delete { webhook, yes } => {
                let (_, id) = webhook.connect(cx, &webhooks).await?;
                let question = format!("Delete the webhook of {}?", webhook.rotation);
                webhooks.delete(&place.path(&webhook.path(&id, &[])), &question, yes).await
            }
        }
    }
}

impl One {
    /// Returns a client for requests about deliveries, and the ID of the webhook that the command
    /// line names.
    async fn connect<'a>(
        &self,
        cx: &'a Invocation,
        webhooks: &Resource<'_>,
    ) -> Result<(Resource<'a>, String), Failure> {
        let place = cx.place(&webhooks.service).await?;
        let all = place.path(&["rotations", &self.rotation, "webhooks"]);
        let id = webhooks.id(&all, &self.webhook).await?;
        Ok((Resource::connect(cx, &DELIVERIES)?, id))
    }

    /// Returns the path segments of the webhook with this ID, relative to the environment, followed
    /// by the segments `rest`.
    fn path<'a>(&'a self, id: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
        let mut path = vec!["rotations", self.rotation.as_str(), "webhooks", id];
        path.extend(rest);
        path
    }
}
