//! Questions to the user on the terminal.

use dialoguer::{Confirm, Input, Password, Select};
use zeroize::Zeroizing;

use super::{Output, printable};
use crate::failure::{Exit, Failure};

#[expect(clippy::unused_self, reason = "all output goes through one value")]
impl Output {
    /// Asks for confirmation before something is deleted or overwritten. If `yes` is true, does not
    /// ask. Fails if the user refuses or cannot be asked.
    pub(crate) fn confirm(&self, question: &str, yes: bool) -> Result<(), Failure> {
        if yes {
            return Ok(());
        }
        if !self.is_interactive {
            return Err(Failure::usage(format!("{question} Pass --yes to confirm")));
        }
        match Confirm::new().with_prompt(printable(question)).default(false).interact() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::new(Exit::Interrupted, "nothing was changed")),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Asks a yes-or-no question. The default answer is yes.
    pub(crate) fn asks_yes(&self, question: &str) -> Result<bool, Failure> {
        Confirm::new()
            .with_prompt(printable(question))
            .default(true)
            .interact()
            .map_err(|error| failed(&error))
    }

    /// Asks for a line of text. An empty answer means `default`, if there is one.
    pub(crate) fn ask(&self, question: &str, default: Option<&str>) -> Result<String, Failure> {
        let mut input = Input::<String>::new().with_prompt(printable(question));
        if let Some(default) = default {
            input = input.default(default.to_owned());
        }
        input.interact_text().map_err(|error| failed(&error))
    }

    /// Asks for a value, which the terminal does not show while it is typed.
    pub(crate) fn ask_hidden(&self, question: &str) -> Result<Zeroizing<String>, Failure> {
        let value = Password::new().with_prompt(printable(question)).interact();
        value.map(Zeroizing::new).map_err(|error| failed(&error))
    }

    /// Lets the user choose from a list, and returns the index of the choice.
    pub(crate) fn choose(&self, question: &str, items: &[String]) -> Result<usize, Failure> {
        let items: Vec<_> = items.iter().map(|item| printable(item)).collect();
        let chosen = Select::new().with_prompt(printable(question)).items(&items);
        let chosen = chosen.default(0).interact();
        chosen.map_err(|error| failed(&error))
    }
}

fn failed(error: &dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    match error.kind() {
        std::io::ErrorKind::Interrupted => Failure::new(Exit::Interrupted, "interrupted"),
        _ => Failure::new(Exit::Defect, format!("terminal: {error}")),
    }
}
