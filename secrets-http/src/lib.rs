//! The REST API of secrets: routes of warp over `secrets-core`.
//!
//! A request passes these stages of [`serve`]: `accept` (connections and their timeouts), `host`
//! (path, request ID, headers, log), `gate` (authentication and rate limits), `router` (table of
//! routes), its route in [`routes`] (parsing a `request` into an operation) and `api` (performing
//! the operation, rendering the response). [`adapters`] connect the service to identity providers,
//! mail servers and webhook receivers; they do not depend on [`serve`] or [`routes`]. [`program`]
//! is the command-line program: settings, logs and commands.
//!
//! Without the feature `server`, only [`atomic_file`], [`bundle`] and [`secret_text`] are left, for
//! the program `secrets`. The feature `testing` adds the functions of the fuzz targets.

#[cfg(feature = "server")]
pub mod adapters;
#[cfg(any(feature = "client", feature = "server"))]
pub mod atomic_file;
pub mod bundle;
#[cfg(feature = "server")]
pub mod openapi;
#[cfg(feature = "server")]
pub mod program;
#[cfg(feature = "server")]
pub mod routes;
pub mod secret_text;
#[cfg(feature = "server")]
pub mod serve;
#[cfg(feature = "server")]
mod similar;
#[cfg(all(test, feature = "server"))]
mod test_folder;
#[cfg(feature = "testing")]
pub mod testing;
