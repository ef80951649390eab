//! Async runtime of the program.

use std::time::Duration;

use tokio::runtime::Runtime;

use crate::program::config::{Exit, Failure};

/// Maximum time that the program waits, before it ends, for calls that block their thread.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs a command to its end on a new runtime, and then stops the runtime.
///
/// Tasks that still run are cancelled. Calls that block their thread, such as a DNS lookup or an
/// access to a file on a network drive, cannot be cancelled and can take arbitrarily long: after a
/// second, they are abandoned.
pub fn block_on<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Runtime::new().map_err(|error| {
        Failure::new(Exit::Configuration, format!("cannot start the runtime: {error}"))
    })?;
    let result = runtime.block_on(command);
    runtime.shutdown_timeout(STOP_TIMEOUT);
    result
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;
    use tokio::task::spawn_blocking;

    use super::*;

    #[test]
    fn the_end_does_not_wait_for_a_call_that_blocks_its_thread() {
        let (release, released) = mpsc::channel::<()>();

        let result = block_on(async {
            let (start, started) = oneshot::channel();
            drop(spawn_blocking(move || {
                start.send(()).unwrap();
                released.recv()
            }));
            started.await.unwrap();
            Ok(7)
        });

        assert_eq!(result, Ok(7));
        drop(release);
    }
}
