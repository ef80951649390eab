//! Test server with the API of AWS Lambda, as a separate process (`lambda/endpoint.py`). It runs
//! the rotation function of `examples/rotation-proxy`.

use crate::PythonServer;

/// Secret that the service and the rotation function share. It signs and encrypts their messages.
pub const SHARED_SECRET: &str = "kvc_shared_0123456789abcdefghijklmnop";

/// Local stand-in for AWS Lambda, which runs the rotation function of `examples/rotation-proxy`.
/// Stopped when dropped.
pub struct LambdaEndpoint {
    /// URL of the server.
    pub url: String,
    server: PythonServer,
}

impl LambdaEndpoint {
    /// Starts the server. Its functions use [`SHARED_SECRET`].
    #[must_use]
    pub fn start() -> Self {
        let server = PythonServer::start("lambda/endpoint.py", &[("SHARED_SECRET", SHARED_SECRET)]);
        let url = server.greeting.strip_prefix("listening on ").unwrap().to_owned();
        Self { url, server }
    }

    /// Returns the text that the server process has written to its standard error so far, including
    /// the log of the functions.
    #[must_use]
    pub fn output(&self) -> String {
        self.server.output()
    }

    /// Stops the server process, and returns all that it has written to its standard error.
    #[must_use]
    pub fn stop(self) -> String {
        self.server.stop()
    }
}
