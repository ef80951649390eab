//! `rotation`: manages rotations of database credentials.

mod connection;

use std::time::Duration;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use self::connection::Create;
use crate::failure::{Failure, Outcome};
use crate::invocation::{Invocation, Place};
use crate::output::Column;
use crate::resource::{Kind, Resource};
use crate::service::{Request, Response, Service};

/// Time for which `rotate` waits for the result if `--wait` is not given. The service continues the
/// rotation afterwards.
const START_TIME: Duration = Duration::from_secs(2);

/// Time limit of `rotate --wait`. The service ends an attempt after 45 seconds.
const WAIT_TIME: Duration = Duration::from_mins(1);

const ROTATIONS: Kind = Kind {
    noun: "rotation",
    list: "rotations",
    id: "name",
    names: &["id"],
    columns: &[
        Column::new("NAME", "name"),
        Column::new("TYPE", "integration_type"),
        Column::new("STATUS", "status"),
        Column::new("DAYS", "rotation_interval_days"),
        Column::time("LAST", "last_rotation_at"),
        Column::time("NEXT", "next_rotation_at"),
        Column::new("SECRETS", "injected_secrets"),
        Column::new("ERROR", "error_message"),
    ],
};

const ATTEMPTS: Kind = Kind {
    noun: "attempt",
    list: "history",
    id: "id",
    names: &[],
    columns: &[
        Column::new("VERSION", "version"),
        Column::new("STATUS", "status"),
        Column::new("TRIGGER", "trigger_type"),
        Column::time("STARTED", "started_at"),
        Column::time("COMPLETED", "completed_at"),
        Column::new("ERROR", "error_message"),
    ],
};

const TEST: [Column; 2] = [Column::new("SUCCESS", "success"), Column::new("MESSAGE", "message")];

/// Options of the command `secrets rotation`.
#[derive(Debug, Args)]
pub(crate) struct Rotation {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the rotations of the environment.
    List,
    /// Show a rotation.
    Show(Name),
    /// Create a rotation. The administrator's password is asked for, or read from a file.
    Create(Box<Create>),
    /// Test the connection of a rotation: exit code 1 if the test fails.
    Test(Name),
    /// Start a rotation now: exit code 1 if the rotation fails.
    Rotate {
        #[command(flatten)]
        name: Name,
        /// Wait for the end of the rotation.
        #[arg(long)]
        wait: bool,
    },
    /// Pause the schedule of a rotation.
    Pause(Name),
    /// Resume the schedule of a rotation.
    Resume(Name),
    /// Change the interval of a rotation.
    Update {
        #[command(flatten)]
        name: Name,
        /// Days between two rotations.
        #[arg(long, value_name = "DAYS")]
        interval_days: u32,
    },
    /// List the last 200 attempts of a rotation, newest first.
    History(Name),
    /// Delete a rotation.
    Delete {
        #[command(flatten)]
        name: Name,
        /// Also delete the secrets of the rotation, and disable its database users.
        #[arg(long)]
        revoke: bool,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
struct Name {
    /// Name of the rotation.
    name: String,
}

impl Rotation {
    /// Runs the chosen subcommand of `rotation`.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let resource = Resource::connect(cx, &ROTATIONS)?;
        let place = cx.place(&resource.service).await?;
        let one = |name| place.path(&["rotations", name]);
        match self.action {
            Action::List => resource.list(&place.path(&["rotations"])).await,
            Action::Show(Name { name }) => resource.show(&one(&name)).await,
            Action::Create(create) => create.run(cx, &resource, &place).await,
            Action::Test(Name { name }) => {
                let path = place.path(&["rotations", &name, "test"]);
                let request = Request::new(Method::POST, &path);
                print_test(cx, &resource.service.send(request).await?.json()?)
            }
            Action::Rotate { name: Name { name }, wait } => {
                rotate(cx, resource.service, &place, &name, wait).await
            }
            Action::Pause(Name { name }) => {
                resource.change(Method::PUT, &one(&name), &json!({ "status": "paused" })).await
            }
            Action::Resume(Name { name }) => {
                resource.change(Method::PUT, &one(&name), &json!({ "status": "active" })).await
            }
            Action::Update { name: Name { name }, interval_days } => {
                let body = json!({ "rotation_interval_days": interval_days });
                resource.change(Method::PUT, &one(&name), &body).await
            }
            Action::History(Name { name }) => {
                let path = place.path(&["rotations", &name, "history"]);
                Resource::connect(cx, &ATTEMPTS)?.list(&path).await
            }
            Action::Delete { name: Name { name }, revoke, yes } => {
                cx.output.confirm(&format!("Delete the rotation {name} of {place}?"), yes)?;
                let request = Request::new(Method::DELETE, &one(&name));
                let request = request.query("revoke", revoke.to_string());
                resource.service.send(request).await?;
                Ok(Outcome::Done)
            }
        }
    }
}

/// Starts a rotation, and prints its result if it arrives in time. The service continues the
/// rotation even if the response does not arrive in time.
async fn rotate(
    cx: &Invocation,
    service: Service,
    place: &Place,
    name: &str,
    wait: bool,
) -> Result<Outcome, Failure> {
    let path = place.path(&["rotations", name, "rotate"]);
    let request = Request::new(Method::POST, &path);
    let response = if wait {
        service.with_timeout(WAIT_TIME.max(cx.settings.timeout)).send(request).await?
    } else if let Some(response) = start(&service, place, name, &request).await? {
        response
    } else {
        cx.output.note("started; `secrets rotation history` shows the result");
        return Ok(Outcome::Done);
    };
    let attempt: Value = response.json()?;
    cx.output.object(&attempt, ATTEMPTS.columns)?;
    Ok(if attempt["status"] == "success" { Outcome::Done } else { Outcome::Negative })
}

/// Sends the request that starts a rotation. Returns `None` if no response arrives within
/// [`START_TIME`]. Reads the rotation first, so that a service that cannot be reached, or that
/// refuses requests, is not reported as a started rotation. Sends the request only once, because a
/// wait after the status 429 cannot be distinguished from a running rotation.
async fn start(
    service: &Service,
    place: &Place,
    name: &str,
    request: &Request<'_>,
) -> Result<Option<Response>, Failure> {
    service.value(&place.path(&["rotations", name])).await?;
    let sending = service.send_once(request, Instant::now() + WAIT_TIME);
    match timeout(START_TIME, sending).await {
        Ok(Ok(response)) if response.status().is_success() => Ok(Some(response)),
        Ok(Ok(response)) => Err(response.failure()),
        Ok(Err(failure)) => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Prints the result of a connection test. The exit code is 1 if the test has failed.
fn print_test(cx: &Invocation, result: &Value) -> Result<Outcome, Failure> {
    cx.output.object(result, &TEST)?;
    Ok(if result["success"] == true { Outcome::Done } else { Outcome::Negative })
}
