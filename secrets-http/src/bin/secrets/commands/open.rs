//! `open`: opens the project in a browser.

use clap::Args;

use crate::browser;
use crate::failure::{Failure, Outcome};
use crate::invocation::Invocation;

/// Options of the command `secrets open`.
#[derive(Debug, Args)]
pub(crate) struct Open {
    /// Print the address of the page, and open no browser.
    #[arg(long)]
    print: bool,
}

impl Open {
    /// Opens the project's page in a browser. Prints its address if no browser can be opened.
    pub(crate) fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let server = cx.server()?.value;
        let url = match &cx.settings.project {
            Some(project) => server.url(&["projects", &project.value])?,
            None => server.url(&[])?,
        };
        if self.print || !browser::open_page(&url, cx.settings.variables) {
            cx.output.line(url.as_str())?;
        }
        Ok(Outcome::Done)
    }
}
