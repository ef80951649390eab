//! Comparison of environments: whether each environment has a value for each key, and from which
//! environment the value comes. Contains no values.

use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::{Exit, Failure};
use crate::service::{Request, Service};

/// State of each key in several environments.
#[derive(Debug, Deserialize)]
pub(crate) struct Comparison {
    /// Compared environments, in display order.
    pub(crate) environments: Vec<Environment>,
    /// Rows of the comparison, one for each key, in alphabetical order.
    pub(crate) keys: Vec<Row>,
}

/// Environment in a comparison.
#[derive(Debug, Deserialize)]
pub(crate) struct Environment {
    /// Environment ID.
    pub(crate) id: String,
    /// Environment name.
    pub(crate) name: String,
    /// Role of the caller in this environment: `none`, `read`, `write` or `admin`.
    pub(crate) role: String,
}

/// Secret key with its state in each environment.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    /// Secret key.
    pub(crate) key: String,
    /// States of the key, in the order of the environments. `None` if the environment neither has
    /// nor inherits the key, or if the caller has no access to it.
    pub(crate) cells: Vec<Option<Cell>>,
}

/// Details about a key in one environment.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Cell {
    /// State of the key in this environment.
    pub(crate) state: State,
    /// Name of the ancestor environment from which the secret is inherited, or whose secret this
    /// environment overrides or hides, if any.
    pub(crate) from: Option<String>,
    /// Version of the secret, in the environment that holds it.
    pub(crate) version: u32,
    /// Name of the rotation that writes the key, if any.
    pub(crate) rotation: Option<String>,
    /// Number of the group of cells in this row that have equal values. Absent if the service has
    /// not compared the values, if the key is hidden, or if the caller may not read the value.
    pub(crate) group: Option<u64>,
}

/// State of a key in one environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// The environment has a value, and without it there would be no inherited value.
    Own,
    /// The environment has a value, which replaces an inherited value.
    Override,
    /// The environment hides the key: neither it nor its children see an inherited value.
    Hidden,
    /// The value is inherited from an ancestor environment.
    Inherited,
    /// An ancestor environment hides the key.
    InheritedHidden,
}

impl Comparison {
    /// Loads the comparison of the given environments, or of all environments if none are given.
    /// With `with_groups`, the service also compares the values.
    pub(crate) async fn load(
        service: &Service,
        project: &str,
        environments: &[&str],
        with_groups: bool,
    ) -> Result<Self, Failure> {
        let document = Self::document(service, project, environments, with_groups).await?;
        serde_json::from_value(document).map_err(|_| unreadable())
    }

    /// Loads the comparison as the JSON document of the service.
    pub(crate) async fn document(
        service: &Service,
        project: &str,
        environments: &[&str],
        with_groups: bool,
    ) -> Result<Value, Failure> {
        let mut request = Request::new(Method::GET, &["projects", project, "compare"]);
        if !environments.is_empty() {
            request = request.query("environments", environments.join(","));
        }
        if with_groups {
            request = request.query("equal", "true");
        }
        service.send(request).await?.json()
    }

    /// Returns the index of an environment, given by its name or ID, in the comparison. Fails if
    /// the caller has no access to the environment.
    pub(crate) fn position(&self, environment: &str) -> Result<usize, Failure> {
        let matches = |other: &Environment| other.name == environment || other.id == environment;
        let found = self.environments.iter().position(matches);
        let position = found.ok_or_else(|| {
            Failure::new(Exit::NotFound, format!("environment not found: {environment}"))
        })?;
        if self.environments[position].role == "none" {
            let message = format!("{environment}: you have no access to this environment");
            return Err(Failure::new(Exit::Forbidden, message));
        }
        Ok(position)
    }
}

impl Row {
    /// Returns the details about this key in the environment at an index of the comparison; `None`
    /// as in [`cells`](Self::cells).
    pub(crate) fn cell(&self, position: usize) -> Option<&Cell> {
        self.cells.get(position)?.as_ref()
    }
}

impl Cell {
    /// True if the environment has a value for the key.
    pub(crate) fn has_value(&self) -> bool {
        matches!(self.state, State::Own | State::Override | State::Inherited)
    }

    /// Returns the version of the environment's own secret; 0 if there is none.
    pub(crate) fn own_version(&self) -> u32 {
        match self.state {
            State::Own | State::Override | State::Hidden => self.version,
            State::Inherited | State::InheritedHidden => 0,
        }
    }

    /// Returns the state as text for tables.
    pub(crate) fn text(&self) -> String {
        let from = self.from.as_deref().unwrap_or("an ancestor");
        let state = match self.state {
            State::Own => format!("v{}", self.version),
            State::Override => format!("v{}, overrides {from}", self.version),
            State::Hidden => "hidden".to_owned(),
            State::Inherited => format!("from {from}"),
            State::InheritedHidden => format!("hidden by {from}"),
        };
        if self.rotation.is_some() { format!("{state}, rotated") } else { state }
    }
}

/// Returns the failure for a response that cannot be read.
pub(crate) fn unreadable() -> Failure {
    let message = "the response is not what this version expects; check --server and the versions";
    Failure::new(Exit::Protocol, message)
}
