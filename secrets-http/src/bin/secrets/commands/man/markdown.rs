//! Reference of all commands in Markdown, generated from the definitions of the command line.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

const INTRODUCTION: &str = "\
# The program `secrets`

Written by `secrets man --markdown`: change the definitions of the commands, and write this file again.
";

/// Markdown section about settings, project files and credentials.
const SETTINGS: &str = include_str!("settings.md");

/// Returns the Markdown reference of a command and all its subcommands.
pub(super) fn reference(mut command: Command) -> String {
    command.build();
    let mut text = INTRODUCTION.to_owned();
    section(&mut text, &command, 2);
    push(&mut text, SETTINGS);
    text
}

fn section(text: &mut String, command: &Command, level: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    push(text, &format!("{} `{name}`", "#".repeat(level)));
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        push(text, &sentence(&about.to_string()));
    }
    let usage = command.clone().render_usage().to_string();
    push(text, &format!("```text\n{}\n```", usage.trim_start_matches("Usage: ")));
    // The global options are listed only in the section of the program itself.
    let is_top = level == 2;
    list(text, command.get_arguments().filter(|arg| is_top || !arg.is_global_set()));
    if let Some(after) = command.get_after_help() {
        push(text, &after.to_string().replace('\n', "  \n"));
    }
    for subcommand in command.get_subcommands().filter(|subcommand| is_listed(subcommand)) {
        section(text, subcommand, (level + 1).min(4));
    }
}

fn is_listed(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

/// Appends a list of arguments and options to `text`.
fn list<'a>(text: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let prints = |arg: &Arg| {
        use ArgAction::{Help, HelpLong, HelpShort, Version};
        matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
    };
    let is_listed = |arg: &&Arg| !arg.is_hide_set() && !prints(arg);
    let items: Vec<_> = arguments.filter(is_listed).map(item).collect();
    if !items.is_empty() {
        push(text, &items.join("\n"));
    }
}

fn item(arg: &Arg) -> String {
    let mut line = format!("- `{}`", signature(arg));
    if let Some(help) = arg.get_long_help().or_else(|| arg.get_help()) {
        let _ = write!(line, ": {}", sentence(&help.to_string().replace('\n', " ")));
    }
    let names: Vec<_> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && arg.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !names.is_empty() {
        let _ = write!(line, " Values: {}.", names.join(", "));
    }
    let defaults = arg.get_default_values();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        let _ = write!(line, " Default: `{}`.", defaults.join(" "));
    }
    line
}

/// Returns a help text with a full stop at its end. The definitions of the command line have none.
fn sentence(text: &str) -> String {
    if text.ends_with(['.', ':']) { text.to_owned() } else { format!("{text}.") }
}

/// Returns the names and the placeholder of an argument, such as `-p, --project <PROJECT>`.
fn signature(arg: &Arg) -> String {
    if arg.is_positional() {
        return arg.to_string();
    }
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(_)) => format!("-{short}, {arg}"),
        _ => arg.to_string(),
    }
}

fn push(text: &mut String, paragraph: &str) {
    text.push('\n');
    text.push_str(paragraph.trim_end());
    text.push('\n');
}
