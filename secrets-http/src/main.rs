//! Entry point of the program `secrets-http`.

use std::process::ExitCode;

use secrets_http::program::{commands, config, logs, runtime};

/// Memory allocator. It is faster than the system's allocator if there are many threads or large
/// responses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn start() -> Result<(), config::Failure> {
    let _flush = logs::FlushAtExit;
    let configured = config::read()?;
    runtime::block_on(commands::run(configured))
}
